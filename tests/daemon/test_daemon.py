"""A whole daemon: HTTP, schedule, reload, notifications, shutdown."""

import asyncio
import json
from dataclasses import replace

import pytest

from canary.config.errors import ConfigError, Problem
from canary.core.run import CutShort
from canary.core.secret import Secret
from canary.core.service import Heartbeat, Listen
from canary.store import StoreError, open_store
from canary.web.serve import ListenError
from tests.daemon.conftest import ANSWER, EMPTY, THINKING, answering, with_service
from tests.fakes.llm_server import Cut, LlmServer, whole

TAKEN = [(0.0, whole(b"{}", content_type="application/json", connection="close")), (0.0, Cut.FIN)]


def runs_of(whole_daemon, count):
    return lambda: len(whole_daemon.runs) >= count


async def test_it_probes_by_itself_and_shows_it(planned, daemon):
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("engine", server.url),), every_s=0.2).plan()
        async with daemon(lambda: plan) as running:
            await running.until(runs_of(running, 2))
            status, metrics = await running.get("/metrics")
            assert (status, (await running.get("/-/ready"))[0], (await running.get("/"))[0]) == (200, 200, 200)
    assert 'canary_runs_total{outcome="warn",pipeline="chat",probe="one"}' in metrics
    assert "canary_time_to_first_visible_content_seconds_bucket" in metrics


async def test_on_demand(planned, daemon):
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("engine", server.url),), probes=("one", "two")).plan()
        async with daemon(lambda: plan) as running:
            status, answer = await running.post("/-/probe/chat")
            assert (status, len(answer["ids"])) == (202, 2)
            await running.until(runs_of(running, 2))
            assert {run.id for run in running.runs} == set(answer["ids"])
            assert (await running.post("/-/probe/chat/nothing"))[0] == 404


async def test_from_a_fault_to_a_page_and_from_its_end_to_the_all_clear(planned, daemon, webhook):
    """The confirming run comes at once: two runs of two, with an interval of an hour."""
    steps = [EMPTY]

    def now(request):
        return answering(steps[0])(request)

    async with LlmServer(now) as server, LlmServer(lambda _: TAKEN) as hook:
        plan = planned(hops=(("engine", server.url),), every_s=3600.0, receivers=(webhook(hook.url),)).plan()
        route = replace(plan.routes[0], policy=replace(plan.routes[0].policy, fail=2, of=2))
        plan = replace(plan, routes=(route,))
        async with daemon(lambda: plan) as running:
            await running.until(runs_of(running, 2))
            assert await said_by(hook) == ["page.opened"]
            steps[0] = ANSWER
            assert (await running.post("/-/probe/chat/one"))[0] == 202
            assert await said_by(hook, 2) == ["page.opened", "page.resolved"]
            state = json.loads((await running.get("/api/v1/state"))[1])
    assert state["incidents"] == []


async def said_by(hook, count=1):
    """The kinds of the first messages that were taken."""
    async with asyncio.timeout(20):
        while len(hook.requests) < count:
            hook.arrived.clear()
            if len(hook.requests) < count:
                await hook.arrived.wait()
    return [request.json["type"] for request in hook.requests]


BROKEN = ConfigError([Problem(file="canary.yaml", line=3, found="a typo", expected="none")])


class Files:
    """A config that can be changed under a running daemon."""

    def __init__(self, plan):
        self.plan, self.version = plan, 1

    def load(self):
        if isinstance(self.plan, Exception):
            raise self.plan
        return self.plan

    def change(self, plan):
        self.plan = plan
        self.version += 1


async def test_a_broken_config_changes_nothing_and_says_so(planned, daemon, logged):
    async with LlmServer(answering(ANSWER)) as server:
        files = Files(planned(hops=(("engine", server.url),), every_s=0.2).plan())
        good = files.plan
        async with daemon(files.load) as running:
            await running.until(runs_of(running, 1))
            files.change(BROKEN)
            status, answer = await running.post("/-/reload")
            assert status == 422
            assert "a typo" in json.dumps(answer)
            before = len(running.runs)
            await running.until(runs_of(running, before + 1))
            metrics = (await running.get("/metrics"))[1]
            assert "canary_config_last_reload_successful 0.0" in metrics
            files.change(good)
            assert (await running.post("/-/reload"))[0] == 200
            assert "canary_config_last_reload_successful 1.0" in (await running.get("/metrics"))[1]
    assert any(line["event"].startswith("config refused") for line in logged)


async def test_a_reload_by_a_changed_file_keeps_history_and_drops_what_is_gone(planned, daemon):
    async with LlmServer(answering(ANSWER)) as server:
        hops = (("top", server.url), ("engine", server.url))
        files = Files(planned(hops=hops, every_s=0.2).plan())
        async with daemon(files.load, stamp=lambda: files.version) as running:
            await running.until(runs_of(running, 1))
            assert 'hop="top"' in (await running.get("/metrics"))[1]
            files.change(planned(hops=hops[1:], every_s=0.2).plan())
            await running.until(lambda: {result.hop for result in running.runs[-1].results} == {"engine"})
            assert 'hop="top"' not in (await running.get("/metrics"))[1]


async def test_what_only_a_start_can_change_is_said(planned, daemon, logged):
    files = Files(planned().plan())
    async with daemon(files.load) as running:
        files.change(with_service(files.plan, listen=Listen(port=1)))
        status, answer = await running.post("/-/reload")
    assert (status, answer["message"]) == (200, "the config is in force; listen at the next start")
    assert {"changed": ["listen"], "event": "takes effect at the next start only", "log_level": "warning"} in logged


async def test_shutdown_in_mid_stream_keeps_what_was_seen(planned, daemon, storage):
    async with LlmServer(answering(THINKING)) as stuck:
        plan = planned(hops=(("engine", stuck.url),), every_s=3600.0).plan()
        async with daemon(lambda: plan) as running:
            async with asyncio.timeout(20):
                await stuck.arrived.wait()
            running.stop.set()
            async with asyncio.timeout(20):
                await stuck.requests[0].gone.wait()
    async with open_store(storage) as store:
        (row,) = await store.runs()
    assert row.cut_short is CutShort.SHUTDOWN


async def test_who_asks_for_a_run_during_a_shutdown_hears_that_we_are_stopping(planned, daemon, logged):
    answer = asyncio.Event()
    script = answering([(answer, b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n")])
    async with LlmServer(script) as server:
        service = {"shutdown_grace_s": 20.0}
        plan = planned(hops=(("engine", server.url),), probes=("one", "two"), every_s=3600.0, service=service).plan()
        async with daemon(lambda: plan) as running:
            async with asyncio.timeout(20):
                await server.arrived.wait()
            running.stop.set()
            status, refused = await running.post("/-/probe/chat/two")
            answer.set()
    assert (status, "stopping" in json.dumps(refused)) == (503, True)
    skipped = {(each["why"], each["log_level"]) for each in logged if each["event"] == "run skipped"}
    assert skipped == {("shutdown", "info")}, "an orderly stop is no warning"


async def test_a_restart_remembers_the_state_and_does_not_page_again(planned, daemon, webhook):
    async with LlmServer(answering(EMPTY)) as server, LlmServer(lambda _: TAKEN) as hook:
        plan = planned(hops=(("engine", server.url),), every_s=3600.0, receivers=(webhook(hook.url),)).plan()
        async with daemon(lambda: plan) as running:
            async with asyncio.timeout(20):
                await hook.arrived.wait()
            await running.until(runs_of(running, 1))
        async with daemon(lambda: plan) as again:
            state = json.loads((await again.get("/api/v1/state"))[1])
            assert len(state["incidents"]) == 1
            assert 'hop="engine"' in (await again.get("/metrics"))[1]
            await again.until(runs_of(again, 1))
    assert [request.json["type"] for request in hook.requests] == ["page.opened"]


async def test_people_can_silence_acknowledge_and_announce(planned, daemon, webhook):
    async with LlmServer(answering(EMPTY)) as server, LlmServer(lambda _: TAKEN) as hook:
        plan = planned(hops=(("engine", server.url),), every_s=3600.0, receivers=(webhook(hook.url),)).plan()
        async with daemon(lambda: plan) as running:
            await running.until(runs_of(running, 1))
            state = json.loads((await running.get("/api/v1/state"))[1])
            page = state["pages"][0]["id"]
            assert (await running.post(f"/-/ack/{page}", json={"by": "kim"}))[0] == 200
            assert (await running.post(f"/-/ack/{page}", json={"by": "lee"}))[0] == 409
            assert (await running.post("/-/ack/nothing"))[0] == 404
            assert (await running.post("/-/deploy", json={"text": "vLLM 0.23.0"}))[0] == 201
            assert (await running.post("/-/deploy", json={"text": "x", "pipeline": "no"}))[0] == 404


async def test_the_heartbeat_comes_after_a_whole_cycle(planned, daemon):
    async with LlmServer(answering(ANSWER)) as server, LlmServer(lambda _: TAKEN) as beat:
        service = {"heartbeat": Heartbeat(url=Secret(beat.url), every_s=0.1)}
        plan = planned(hops=(("engine", server.url),), every_s=0.5, service=service).plan()
        async with daemon(lambda: plan) as running:
            async with asyncio.timeout(20):
                await beat.arrived.wait()
            assert len(running.runs) >= 1


async def test_no_heartbeat_from_whoever_cannot_finish_a_cycle(planned, daemon):
    async with LlmServer(answering(THINKING)) as stuck, LlmServer(lambda _: TAKEN) as beat:
        service = {"heartbeat": Heartbeat(url=Secret(beat.url), every_s=0.1)}
        plan = planned(hops=(("engine", stuck.url),), every_s=0.5, service=service).plan()
        async with daemon(lambda: plan):
            async with asyncio.timeout(20):
                await stuck.arrived.wait()
    assert beat.requests == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        pytest.param({"listen": Listen(host="0.0.0.0", port=0)}, ListenError, id="open to all without a token"),
        pytest.param({"storage": None}, StoreError, id="no folder to write to"),
    ],
)
async def test_it_does_not_begin_what_it_cannot_do(planned, daemon, storage, tmp_path, wrong, error):
    if wrong.get("storage", storage) is None:
        (tmp_path / "file").write_text("")
        wrong = {"storage": replace(storage, url=Secret(f"sqlite:///{tmp_path}/file/canary.db"))}
    plan = with_service(planned().plan(), **wrong)
    with pytest.raises(error):
        async with daemon(lambda: plan):
            pytest.fail("it began")
