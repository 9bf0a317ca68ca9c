"""What a daemon's parts do on a bad day, where no real disk, server or clock is needed to tell."""

import asyncio
import time
from dataclasses import replace

from canary.core.metrics import METRICS, OWN_ERRORS
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


async def test_no_exemplar_names_a_run_that_was_pruned(planned, parts, storage):
    """Its link would lead nowhere. A rare bucket sees no newer run that takes the place of the old one."""
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("engine", server.url),), storage=replace(storage, keep_runs=1)).plan()
        async with parts(plan) as daemon:
            await daemon.perform(run_id="run1")
            tally = daemon.running.known.tally
            kept = dict(tally.distributions)
            await daemon.perform(run_id="run2")
            for series, each in kept.items():  # as if no value of the second run fell into the same bucket
                tally.distributions[series] = each
            await daemon.running._prune()
            assert [row.id for row in await daemon.store.runs()] == ["run2"]
            assert {each.run_id for d in kept.values() for each in d.exemplars.values()} == {"run1"}
            assert [d.exemplars for d in tally.distributions.values() if d.exemplars] == []


async def test_many_reloads_while_runs_go_on_leave_nothing_behind(planned, parts):
    """Each takes a probe away or brings it back, in the midst of its runs."""
    async with LlmServer(answering(ANSWER)) as server:
        both, one = (
            planned(hops=(("engine", server.url),), probes=probes, every_s=0.2).plan()
            for probes in (("one", "two"), ("one",))
        )
        async with parts(both) as daemon:
            running, twos = daemon.running, asyncio.Event()
            over = running.cycle.over
            running.cycle.over = lambda run: (over(run), run.probe == "two" and twos.set())
            async with running.going():
                await asyncio.sleep(0)
                tasks = asyncio.all_tasks()
                for number in range(40):
                    await running.follow(one if number % 2 else both, {})
                    if number % 10 == 0:
                        twos.clear()
                        async with asyncio.timeout(20):
                            await twos.wait()
                await running.follow(one, {})
                late = [task for _, task in running.worker.running.values()]
                await asyncio.wait([*late, asyncio.create_task(asyncio.sleep(0))])
                left = {
                    task.get_name() for task in asyncio.all_tasks() - tasks if not task.get_name().startswith("run")
                }
                assert len(left) <= 2, left  # a job of the scheduler that just rings, a lane of the dispatcher
                assert set(running.timetable.next_runs()) == {("chat", "one")}
                assert [job.args for job in running.timetable._scheduler.get_jobs()] == [(("chat", "one"),)]
                snapshot = running.publish()
            probes = {
                dict(zip(METRICS[series.metric].labels, series.labels, strict=True)).get("probe")
                for series in [*snapshot.counters, *snapshot.distributions]
            }
    assert probes - {None} == {"one"}
    assert {run.probe for run in daemon.runs} == {"one", "two"}
    assert count_own_errors(snapshot) == 0


def count_own_errors(snapshot):
    return sum(value for series, value in snapshot.counters.items() if series.metric == OWN_ERRORS)
