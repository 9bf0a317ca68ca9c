"""One run over real local servers: who is asked what, in which order, and what is made of it."""

import asyncio
from dataclasses import replace

import pytest

from canary.core.secret import Secret
from canary.core.spec import Assignment, Hop, Pipeline, Probe, QuestionTemplate
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, worst
from canary.demo.answers import answers
from canary.demo.pipeline import INCIDENT_FAULTS, WIDE, demo_pipeline
from canary.engine.run import run_probe, timers_above
from canary.engine.visit import Started
from canary.prompts.compose import compose
from tests.fakes.demo_runs import DEADLINE_S, HEAVY, MODEL, SCALE, SEED, Asked, occasion
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, LlmServer, chunk, delta, whole

pytestmark = pytest.mark.alone

FROM_THE_ENGINE_UP = ["engine", "gateway", "agent", "edge", "ui"]
PLAIN_ANSWER = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="hm"))),
    (0.0, chunk(delta(content="42"))),
    (0.0, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
]
ASK = Assignment(
    probe=Probe(
        name="ask",
        summary="",
        questions=(QuestionTemplate(text="One?"), QuestionTemplate(text="Two?"), QuestionTemplate(text="Three?")),
    ),
    deadline_s=DEADLINE_S,
)


def answering(request):
    return PLAIN_ANSWER if request.method == "POST" else [(0.0, whole(b"{}", 404, content_type="application/json"))]


@pytest.fixture
def demo():
    def start(faults=None, **options):
        options = {"scale": SCALE, "limits": WIDE, "model": MODEL, "answer_for": answers(HEAVY, SEED), **options}
        return demo_pipeline(faults or {}, **options)

    return start


def idle(name, limit_s, hop):
    return Timeout(name=name, phase=TimerPhase.IDLE, clock=Clock.BYTE, limit_s=limit_s, hop=hop)


def prompts(server):
    return [request.json["messages"][-1]["content"] for request in server.requests if request.method == "POST"]


async def test_hops_are_asked_from_the_engine_up_one_after_another(demo):
    steps = []
    async with demo() as running:
        run = await run_probe(running.pipeline(), Asked().assignment, occasion("r1", watch=steps.append))
    assert [step.hop for step in steps if isinstance(step, Started)] == FROM_THE_ENGINE_UP
    assert [isinstance(step, Started) for step in steps] == [True, False] * 5
    assert [result.hop for result in run.results] == FROM_THE_ENGINE_UP
    assert [step for step in steps if not isinstance(step, Started)] == list(run.results)
    assert (run.id, run.pipeline, run.probe) == ("r1", "demo", "reasoning-heavy")


@pytest.mark.parametrize(("budgets", "check"), [(False, "streaming"), (True, "budget")], ids=["plain", "budgets"])
async def test_all_at_once_gives_the_same_verdicts(demo, budgets, check):
    """In the founding incident, so that it depends on what is known of the hop below at most hops."""
    assignment = Asked(budgets=budgets).assignment
    async with demo(INCIDENT_FAULTS) as running:
        pipeline = running.pipeline()
        apart = await run_probe(pipeline, assignment, occasion())
        together = await run_probe(replace(pipeline, parallel=True), assignment, occasion())

    def told(run):
        return {
            (result.hop, result.variant, verdict.check, verdict.subject): (verdict.status, verdict.reason)
            for result in run.results
            for verdict in result.verdicts
        }

    assert told(together) == told(apart)
    assert [(each.check, each.origin, each.edge) for each in together.findings] == [
        (each.check, each.origin, each.edge) for each in apart.findings
    ]
    assert [each.check for each in apart.findings] == [check]


@pytest.mark.parametrize("parallel", [False, True], ids=["one by one", "all at once"])
async def test_a_hop_that_fails_does_not_stop_the_others(unused_tcp_port, parallel):
    async with LlmServer(answering) as server:
        hops = (
            Hop(name="top", url=server.url, model="fake"),
            Hop(name="dead", url=f"http://127.0.0.1:{unused_tcp_port}/v1/chat/completions", model="fake"),
            Hop(name="engine", url=server.url, model="fake"),
        )
        run = await run_probe(Pipeline(name="p", hops=hops, parallel=parallel), ASK, occasion())
    reachable = {r.hop: v.status for r in run.results for v in r.verdicts if v.check == "reachable"}
    assert reachable == {"engine": Status.PASS, "dead": Status.FAIL, "top": Status.PASS}
    (finding,) = run.findings
    assert (finding.check, finding.origin, finding.edge) == ("reachable", "dead", ("dead", "engine"))


async def test_where_the_engine_hangs_the_others_are_waited_for_together():
    """Or a run of a long pipeline outlasts its interval, and the page comes after a deadline for each hop."""
    steps = []
    async with LlmServer(lambda _: [(asyncio.Event(), b"")]) as server:
        hops = tuple(Hop(name=name, url=server.url, model="fake") for name in ("ui", "agent", "gateway", "engine"))
        run = await run_probe(Pipeline(name="p", hops=hops), replace(ASK, deadline_s=0.3), occasion(watch=steps.append))
    started = [isinstance(step, Started) for step in steps]
    assert started == [True, False, True, True, True, False, False, False]
    assert [result.hop for result in run.results] == ["engine", "gateway", "agent", "ui"]
    (finding,) = run.findings
    assert (finding.check, finding.reason, finding.origin) == ("reachable", "deadline", "engine")
    assert finding.affected == ("gateway", "agent", "ui")


@pytest.mark.parametrize("seed", [SEED, SEED + 1, SEED + 2])
async def test_all_hops_get_the_same_question_under_nonces_of_their_own(seed):
    async with LlmServer(answering) as server:
        hops = tuple(Hop(name=name, url=server.url, model="fake") for name in ("top", "middle", "engine"))
        await run_probe(Pipeline(name="p", hops=hops), ASK, occasion(seed=seed))
    marks, questions = zip(*(prompt.split("\n", 1) for prompt in prompts(server)), strict=True)
    assert set(questions) == {("One?", "Two?", "Three?")[seed % 3]}
    assert len(set(marks)) == 3


async def test_the_question_that_was_asked_is_the_one_whose_answer_is_expected(demo):
    """Else a right answer would fail; the demo knows the answers of this seed only."""
    async with demo() as running:
        run = await run_probe(running.pipeline(), Asked().assignment, occasion())
    known = compose(HEAVY, seed=SEED, nonce="", index=SEED % len(HEAVY.questions)).answer
    said = [v.message for r in run.results for v in r.verdicts if (v.check, v.reason) == ("answer", "right")]
    assert said == [f"the answer is {known}, expected {known}"] * 5


async def test_a_hop_is_asked_in_its_own_way():
    async with LlmServer(answering) as server:
        hops = (
            Hop(name="top", url=server.url, model="alias", headers={"Authorization": Secret("Bearer k")}),
            Hop(name="engine", url=server.url, model="org/model", body={"cache": {"no-cache": True}}, stream=False),
        )
        await run_probe(Pipeline(name="p", hops=hops), ASK, occasion("r1"))
    engine, top = server.requests
    assert (engine.json["model"], engine.json["stream"], engine.json["cache"]) == (
        "org/model",
        False,
        {"no-cache": True},
    )
    assert (top.json["model"], top.json["stream"], "cache" in top.json) == ("alias", True, False)
    assert ("authorization" in engine.headers, top.headers["authorization"]) == (False, "Bearer k")
    assert {request.headers["x-canary-run"] for request in server.requests} == {"r1"}


async def test_a_hop_without_url_is_not_asked_and_its_timers_count():
    """And a timer watches only what comes from below its owner."""
    async with LlmServer(answering) as server:
        hops = (
            Hop(name="browser", timeouts=(idle("ui", 30, "browser"),)),
            Hop(name="edge", url=server.url, model="fake", timeouts=(idle("proxy", 60, "edge"),)),
            Hop(name="engine", url=server.url, model="fake", timeouts=(idle("nobody's", 1, "engine"),)),
        )
        run = await run_probe(Pipeline(name="p", hops=hops), ASK, occasion())
    assert len(server.requests) == 2
    assert {result.hop: [timer.name for timer in result.timeouts] for result in run.results} == {
        "engine": ["ui", "proxy"],
        "edge": ["ui"],
    }
    judged = {result.hop: [v.subject for v in result.verdicts if v.check == "idle_timeout"] for result in run.results}
    assert judged == {"engine": ["browser/ui", "edge/proxy"], "edge": ["browser/ui"]}


def test_no_timer_stands_above_the_topmost_hop():
    assert timers_above((Hop(name="a", timeouts=(idle("x", 1, "a"),)), Hop(name="b")), 0) == ()


@pytest.mark.parametrize("parallel", [False, True], ids=["one by one", "all at once"])
async def test_a_cancelled_run_stops_asking(parallel):
    never = asyncio.Event()
    async with LlmServer([(0.0, SSE_HEAD), (never, b"")]) as server:
        hops = tuple(Hop(name=name, url=server.url, model="fake") for name in ("top", "middle", "engine"))
        task = asyncio.create_task(run_probe(Pipeline(name="p", hops=hops, parallel=parallel), ASK, occasion()))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for request in server.requests:
            await asyncio.wait_for(request.gone.wait(), DEADLINE_S)
    assert parallel or len(server.requests) == 1


async def test_the_engines_version_is_told_where_it_was_asked(demo):
    async with demo() as running:
        run = await run_probe(running.pipeline(), Asked(budgets=True).assignment, occasion())
    versions = {result.hop: result.engine_version for result in run.results if result.variant == "control"}
    assert versions == {"engine": "0.32.0", "gateway": None, "agent": None, "edge": None, "ui": None}


async def test_a_probe_may_leave_checks_out_and_is_told_what_explains_its_failures_all_the_same():
    probe = replace(ASK.probe, checks=("reachable",))
    async with LlmServer(answering) as server:
        hops = (Hop(name="browser", timeouts=(idle("ui", 30, "browser"),)), Hop(name="e", url=server.url, model="fake"))
        run = await run_probe(Pipeline(name="p", hops=hops), replace(ASK, probe=probe), occasion())
    (result,) = run.results
    assert [(v.check, v.status) for v in result.verdicts] == [("reachable", Status.PASS), ("idle_timeout", Status.PASS)]


@pytest.mark.parametrize(
    ("checks", "first_visible_s", "told", "status"),
    [
        pytest.param(("reachable",), None, [], Status.WARN, id="nothing asked fails"),
        pytest.param(("idle_timeout",), None, ["idle_timeout"], Status.FAIL, id="asked for"),
        pytest.param(("first_visible",), 0.01, ["idle_timeout"], Status.FAIL, id="explains what was asked"),
    ],
)
async def test_an_unasked_check_that_fails_is_no_finding_unless_something_asked_fails(
    checks, first_visible_s, told, status
):
    """The answer comes after 0.2 s of silence, and a timer above allows 0.05 s of it."""
    late = [PLAIN_ANSWER[0], (0.2, PLAIN_ANSWER[1][1]), *PLAIN_ANSWER[2:]]
    probe = replace(ASK.probe, checks=checks)
    async with LlmServer(lambda request: late if request.method == "POST" else answering(request)) as server:
        browser = Hop(name="browser", timeouts=(idle("ui", 0.05, "browser"),))
        hops = (browser, Hop(name="e", url=server.url, model="fake"))
        assignment = replace(ASK, probe=probe, first_visible_s=first_visible_s)
        run = await run_probe(Pipeline(name="p", hops=hops), assignment, occasion())
    assert [finding.check for finding in run.findings] == told
    assert worst(verdict for result in run.results for verdict in result.verdicts) is status
