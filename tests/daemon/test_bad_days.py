"""What a daemon's parts do on a bad day, where no real disk, server or clock is needed to tell."""

import time

from canary.core.verdict import Status
from canary.daemon import REAL_CLOCKS
from canary.engine.schedule import Clocks
from tests.daemon.conftest import ANSWER, EMPTY, answering
from tests.fakes.away import Away
from tests.fakes.llm_server import LlmServer


async def test_a_store_that_cannot_prune_is_not_away_for_that(planned, parts, logged):
    stores = []

    def wrap(store):
        stores.append(Away(store))
        return stores[0]

    async with parts(planned().plan(), wrap=wrap) as daemon:
        stores[0].away = "locked"
        await daemon.running._prune()
        assert daemon.running.archive.trouble is None
        stores[0].away = None
        await daemon.running._prune()
    assert [line["event"] for line in logged if "prune" in line["event"]] == ["not pruned", "pruned"]


async def test_a_run_during_which_the_machine_slept_says_nothing(planned, parts):
    """The clock that counts sleep goes ahead by two hours while the engine answers; all that it said is wrong."""
    slept_s = [0.0, 7200.0]
    clocks = Clocks(steady=REAL_CLOCKS.steady, wall=REAL_CLOCKS.wall, slept=lambda: slept_s.pop(0))
    async with (
        LlmServer(answering(EMPTY)) as server,
        parts(planned(hops=(("engine", server.url),)).plan(), clocks=clocks) as daemon,
    ):
        assert await daemon.perform() is None, "no run to confirm a failure"
        assert {each.key.check for each in await daemon.store.incidents()} <= {"blind"}
        (run,) = daemon.runs
    assert {verdict.status for result in run.results for verdict in result.verdicts} == {Status.UNKNOWN}
    assert run.findings == ()


def test_a_machine_that_is_awake_has_slept_for_no_time_since():
    before = REAL_CLOCKS.slept()
    time.sleep(0.001)
    assert abs(REAL_CLOCKS.slept() - before) < 0.01


async def test_what_the_store_did_not_take_to_the_last_is_said(planned, parts, logged):
    stores = []

    def wrap(store):
        stores.append(Away(store))
        return stores[0]

    async with (
        LlmServer(answering(ANSWER)) as server,
        parts(planned(hops=(("engine", server.url),)).plan(), wrap=wrap) as daemon,
        daemon.running.going(),
    ):
        stores[0].away = "full"
        await daemon.perform()
    (line,) = [line for line in logged if line["event"] == "left unwritten"]
    assert (line["runs"], line["why"]) == (1, "the database is full")
