"""What a run takes along beside the answers: the engine's own numbers, and the hop's history."""

import asyncio
from dataclasses import replace

import pytest

from canary.core.engine_load import EngineLoad
from canary.core.spec import Assignment, Hop, Pipeline, Probe, QuestionTemplate
from canary.core.verdict import Status
from canary.demo.pipeline import WIDE, demo_pipeline
from canary.engine.run import run_probe
from tests.fakes.demo_runs import MODEL, SCALE, occasion
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, LlmServer, chunk, delta, whole
from tests.fakes.pasts import pasts

ASK = Assignment(probe=Probe(name="ask", summary="", questions=(QuestionTemplate(text="One?"),)), deadline_s=10.0)
ANSWER = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="hm"))),
    (0.0, chunk(delta(content="42"))),
    (0.0, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
]


def page(waiting, count, total):
    text = f"""\
vllm:num_requests_waiting {waiting}
vllm:time_to_first_token_seconds_count {count}
vllm:time_to_first_token_seconds_sum {total}
"""
    return [(0.0, whole(text.encode(), connection="close"))]


async def run_of(script, *, assignment=ASK, **more):
    async with LlmServer(script) as server:
        hop = Hop(
            name="engine", url=server.url, model="m", metrics_url=server.url.replace("/v1/chat/completions", "/metrics")
        )
        run = await run_probe(Pipeline(name="p", hops=(hop,)), assignment, replace(occasion(), **more))
        return run, [(request.method, request.target) for request in server.requests]


async def test_the_engine_is_read_just_before_and_just_after():
    pages = iter([page(14, 10, 3.0), page(0, 12, 3.6)])
    run, requests = await run_of(lambda request: next(pages) if request.method == "GET" else ANSWER)
    assert requests == [("GET", "/metrics"), ("POST", "/v1/chat/completions"), ("GET", "/metrics")]
    (result,) = run.results
    assert result.load == EngineLoad(waiting=14, first_token_s=pytest.approx(0.3), requests=2)
    assert [(v.status, v.reason) for v in result.verdicts if v.check == "saturation"] == [(Status.WARN, "saturated")]


async def test_a_hop_without_a_metrics_page_is_not_asked_for_one():
    async with LlmServer(ANSWER) as server:
        hops = (Hop(name="engine", url=server.url, model="m"),)
        run = await run_probe(Pipeline(name="p", hops=hops), ASK, occasion())
        assert len(server.requests) == 1
    assert run.results[0].load is None


async def test_a_metrics_page_that_hangs_delays_and_fails_nothing():
    never = asyncio.Event()
    run, requests = await run_of(lambda request: [(never, b"")] if request.method == "GET" else ANSWER)
    (result,) = run.results
    assert len(requests) == 3
    assert result.load is None
    assert result.measurement.time_to_first_token_s < 1.0  # each page was given 2 s
    assert {v.status for v in result.verdicts} <= {Status.PASS, Status.WARN}


async def test_saturation_is_told_where_the_probe_does_not_ask_for_it():
    assignment = replace(ASK, probe=replace(ASK.probe, checks=("reachable",)))
    pages = iter([page(14, 10, 3.0), page(0, 12, 3.6)])
    run, _ = await run_of(lambda request: next(pages) if request.method == "GET" else ANSWER, assignment=assignment)
    assert [v.check for v in run.results[0].verdicts] == ["reachable", "saturation"]


async def test_a_run_is_compared_with_the_hops_own_history():
    slow = pasts(*[60.0] * 30, metric="tokens_per_s")
    history = {("engine", "plain"): slow, ("engine", "control"): (), ("other", "plain"): slow}
    run, _ = await run_of(ANSWER, history=history)
    assert [v.subject for v in run.results[0].verdicts if v.check == "baseline"] == ["speed"]
    run, _ = await run_of(ANSWER, history={("other", "plain"): slow})
    assert [v for v in run.results[0].verdicts if v.check == "baseline"] == []


async def test_a_demo_engine_with_one_seat_says_who_waits():
    over = asyncio.Event()

    async def take(load):
        async with load.seat():
            await over.wait()

    def watch(_step):
        asyncio.get_running_loop().call_later(1.0, over.set)

    async with demo_pipeline({}, scale=SCALE, limits=WIDE, model=replace(MODEL, seats=1)) as demo:
        taken = [asyncio.create_task(take(demo.load)) for _ in range(4)]
        await demo.load.busy.wait()
        assignment = replace(ASK, first_visible_s=0.9)
        run = await run_probe(demo.pipeline(), assignment, replace(occasion(), watch=watch))
        await asyncio.gather(*taken)
        assert (demo.load.running, demo.load.waiting) == (0, 0)
    (engine,) = (result for result in run.results if result.hop == "engine")
    assert engine.load.waiting >= 3
    assert engine.load.queue_s > 0.5
    assert [(v.status, v.reason) for v in engine.verdicts if v.check == "saturation"] == [(Status.WARN, "saturated")]
    (late,) = (finding for finding in run.findings if finding.check == "first_visible" and finding.origin == "engine")
    assert "It is slow because engine is saturated: " in late.message
