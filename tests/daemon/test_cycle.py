"""One run from due to stored: what is kept of it when something goes wrong."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from canary.core import metrics
from canary.core.metrics import Skip
from canary.core.observation import Interrupted
from canary.core.route import Match, Silence
from canary.core.run import CutShort
from canary.core.service import OwnNetwork
from canary.core.snapshot import Series
from canary.core.verdict import Status
from canary.engine.due import Why
from canary.engine.governor import Allowance, Cost
from tests.daemon.conftest import ANSWER, EMPTY, THINKING, answering
from tests.fakes.away import Away
from tests.fakes.llm_server import LlmServer, chunk, sse


def count(parts, metric, *labels):
    return parts.running.known.tally.counters.get(Series(metric=metric, labels=labels), 0)


async def test_a_run_is_stored_shown_and_remembered(planned, parts):
    async with (
        LlmServer(answering(ANSWER)) as server,
        parts(planned(hops=(("top", server.url), ("engine", server.url))).plan()) as daemon,
    ):
        assert await daemon.perform() is None
        (row,) = await daemon.store.runs()
        history = await daemon.store.history("chat", "one")
        await daemon.perform(run_id="run2")
    assert (row.id, row.pipeline, row.probe, row.cut_short) == ("run1", "chat", "one", None)
    assert row.finished_at is not None
    assert set(history) == {("top", "plain"), ("engine", "plain")}
    snapshot = daemon.running.snapshot()
    assert {(each.hop, each.run_id) for each in snapshot.latest} == {("top", "run2"), ("engine", "run2")}
    assert set(snapshot.last_runs) == {("chat", "one")}
    assert count(daemon, metrics.RUNS, "chat", "one", "warn") == 2
    assert [request.headers["x-canary-run"] for request in server.requests if request.method == "POST"][-1] == "run2"


async def test_cancelled_in_mid_stream_it_is_kept_with_what_it_saw(planned, parts):
    async with (
        LlmServer(answering(ANSWER)) as good,
        LlmServer(answering(THINKING)) as stuck,
        parts(planned(hops=(("top", stuck.url), ("engine", good.url))).plan()) as daemon,
    ):
        task = asyncio.create_task(daemon.perform())
        await stuck.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stored = await daemon.store.run("run1")
        assert await daemon.store.incidents() == ()
    (run,) = daemon.runs
    assert run.cut_short is CutShort.SHUTDOWN
    assert {r.hop: [(v.status, v.reason) for v in r.verdicts] for r in run.results if r.hop == "top"} == {
        "top": [(Status.UNKNOWN, "interrupted")]
    }
    assert isinstance(run.results[-1].observation.end, Interrupted)
    assert [result.hop for result in run.results] == ["engine", "top"]
    assert (run.findings, stored.row.cut_short, len(stored.results)) == ((), CutShort.SHUTDOWN, 2)
    assert daemon.running.known.latest == {}


async def test_a_run_that_takes_longer_than_it_can_is_cut_and_opens_nothing(planned, parts):
    async with (
        LlmServer(answering(THINKING)) as stuck,
        parts(planned(hops=(("engine", stuck.url),)).plan()) as daemon,
    ):
        daemon.running.cycle.longest_s = lambda _pipeline, _assignment: 0.1
        assert await daemon.perform() is None
        (row,) = await daemon.store.runs()
        incidents = await daemon.store.incidents()
    (run,) = daemon.runs
    assert (run.cut_short, row.cut_short) == (CutShort.DEADLINE, CutShort.DEADLINE)
    assert [result.verdicts[0].reason for result in run.results] == ["interrupted"]
    assert {each.key.check for each in incidents} <= {"blind"}


async def test_a_bug_of_ours_is_counted_and_says_nothing_about_the_target(planned, parts):
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("top", "no-scheme"), ("engine", server.url))).plan()
        wrong = replace(plan.pipelines[0].hops[0], protocol="no-such-protocol", url=server.url)
        pipeline = replace(plan.pipelines[0], hops=(wrong, plan.pipelines[0].hops[1]))
        async with parts(replace(plan, pipelines=(pipeline,))) as daemon:
            await daemon.perform()
            (row,) = await daemon.store.runs()
    (run,) = daemon.runs
    assert (run.cut_short, row.cut_short) == (CutShort.BUG, CutShort.BUG)
    assert [result.hop for result in run.results] == ["engine"]
    assert count(daemon, metrics.OWN_ERRORS, "run") == 1
    assert count(daemon, metrics.RUNS, "chat", "one", "bug") == 1


async def test_a_first_failure_asks_for_another_run_at_once(planned, parts):
    async with LlmServer(answering(EMPTY)) as server:
        plan = planned(hops=(("engine", server.url),)).plan()
        async with parts(plan) as daemon:
            again = await daemon.perform()
            assert (again.key, again.why, again.confirms) == (("chat", "one"), Why.CONFIRM, 1)
            assert again.run_id != "run1"
            assert await daemon.running.cycle.perform(again) is None, "two of three fire"
            assert [each.state for each in await daemon.store.incidents()] == ["firing"]


async def test_a_silence_that_another_process_stored_holds_from_then_on(planned, parts, webhook):
    """Whoever silences from a shell, and then breaks something on purpose, is not paged before we look again."""
    async with LlmServer(answering(EMPTY)) as server:
        plan = planned(hops=(("engine", server.url),), receivers=(webhook("http://127.0.0.1:9/"),)).plan()
        async with parts(plan) as daemon:
            now = daemon.running.clocks.wall()
            until = now + timedelta(hours=1)
            match = Match(pipeline="chat")
            await daemon.store.add_silence(Silence(id="s", match=match, starts_at=now, ends_at=until, author="kim"))
            await daemon.perform()
            assert [each.state for each in daemon.running.publish().incidents] == ["firing"]
            assert not daemon.running.dispatcher.waiting


async def test_confirming_ends_even_if_it_is_asked_for_for_ever(planned, parts):
    async with LlmServer(answering(EMPTY)) as server:
        plan = planned(hops=(("engine", server.url),)).plan()
        async with parts(plan) as daemon:
            conclude = daemon.running.cycle.conclude
            daemon.running.cycle.conclude = lambda run, history: replace(conclude(run, history), confirm=True)
            due, runs = daemon.due(), 0
            while due is not None:
                due = await daemon.running.cycle.perform(due)
                runs += 1
    assert runs == 4


async def test_our_own_network_is_asked_before_a_target_is_blamed(planned, parts, unused_tcp_port_factory):
    dead, own = unused_tcp_port_factory(), unused_tcp_port_factory()
    elsewhere = f"http://elsewhere.invalid:{dead}/v1/chat/completions"
    service = {"own_network": OwnNetwork(address=f"127.0.0.1:{own}")}
    async with parts(planned(hops=(("engine", elsewhere),), service=service).plan()) as daemon:
        assert await daemon.perform() is None
        assert {each.key.check for each in await daemon.store.incidents()} <= {"blind"}
    (run,) = daemon.runs
    assert (run.findings, {v.status for r in run.results for v in r.verdicts}) == ((), {Status.UNKNOWN})


async def test_a_probe_over_its_limit_is_skipped_said_once_and_noted(planned, parts):
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("engine", server.url),), pipeline={"tokens_per_day": 1000}).plan()
        async with parts(plan) as daemon:
            cost = {"one": Cost(tokens_per_run=600, runs_per_day=10)}
            allowance = Allowance(tokens_per_run=None, tokens_per_day=1000, costs=cost)
            daemon.running.allowances = {"chat": allowance}
            await daemon.perform()
            daemon.running.spending.add("chat", 500, daemon.running.clocks.wall())
            spent = daemon.running.spending.of("chat", daemon.running.clocks.wall())
            await daemon.perform(run_id="run2")
            await daemon.perform(run_id="run3")
            await daemon.perform(run_id="run4", why=Why.DEMAND)
            ready = daemon.running.publish().readiness
    assert [run.id for run in daemon.runs] == ["run1", "run4"]
    assert count(daemon, metrics.RUNS_SKIPPED, "chat", "one", Skip.BUDGET) == 2
    assert ready.problems == ()
    assert ready.notes[0].startswith(f"chat: one is kept back, since {spent} of 1,000 tokens a day are used")


async def test_every_arm_counts_as_spent_and_is_remembered_after_a_restart(planned, parts):
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    said = [*ANSWER[:3], (0.0, chunk(sse({"choices": [], "usage": usage}))), ANSWER[3]]
    async with LlmServer(answering(said)) as server:
        plan = planned(hops=(("engine", server.url),), pipeline={"tokens_per_day": 100_000}).plan()
        async with parts(plan) as daemon:
            await daemon.perform()
            now = daemon.running.clocks.wall()
            spent = daemon.running.spending.of("chat", now)
        async with parts(plan) as again:
            assert again.running.spending.of("chat", now) == spent
    requests = [request for request in server.requests if request.method == "POST"]
    assert (
        spent
        == 9 * len(requests)
        == sum(
            value for series, value in daemon.running.known.tally.counters.items() if series.metric == metrics.TOKENS
        )
    )


async def test_what_nobody_reports_is_estimated_before_and_after_a_restart(planned, parts):
    """A hop that says nothing of tokens would never reach its limit by what it was asked."""
    async with LlmServer(answering(ANSWER)) as server:
        plan = planned(hops=(("engine", server.url),), pipeline={"tokens_per_day": 100_000}).plan()
        async with parts(plan) as daemon:
            await daemon.perform()
            now = daemon.running.clocks.wall()
            spent = daemon.running.spending.of("chat", now)
            shown = daemon.running.known.tally.counters
        async with parts(plan) as again:
            assert again.running.spending.of("chat", now) == spent
    assert spent > sum(value for series, value in shown.items() if series.metric == metrics.TOKENS)


async def test_with_a_dead_store_the_run_goes_on_and_is_kept(planned, parts):
    async with LlmServer(answering(EMPTY)) as server:
        away = []

        def wrap(store):
            away.append(Away(store))
            return away[0]

        async with parts(planned(hops=(("engine", server.url),)).plan(), wrap=wrap) as daemon:
            away[0].away = "full"
            again = await daemon.perform()
            await daemon.running.cycle.perform(again)
            snapshot = daemon.running.publish()
            assert not snapshot.store_up
            assert any("history cannot be written" in problem for problem in snapshot.readiness.problems)
            assert {each.state for each in snapshot.incidents} == {"firing"}
            away[0].away = None
            await daemon.running.archive.catch_up()
            assert len(await daemon.store.runs()) == 2
            assert [each.state for each in await daemon.store.incidents()] == ["firing"]
            assert daemon.running.publish().store_up


async def test_a_probe_that_a_reload_took_away_meanwhile_is_not_run(planned, parts):
    async with (
        LlmServer(answering(ANSWER)) as server,
        parts(planned(hops=(("engine", server.url),)).plan()) as daemon,
    ):
        assert await daemon.perform(probe="gone") is None
    assert (daemon.runs, server.requests) == ([], [])


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        pytest.param(lambda pipeline: pipeline, ["firing"], id="the same"),
        pytest.param(lambda pipeline: replace(pipeline, assignments=pipeline.assignments[1:]), [], id="no such probe"),
        pytest.param(lambda pipeline: replace(pipeline, hops=pipeline.hops[:1]), [], id="no such hop"),
        pytest.param(lambda pipeline: replace(pipeline, name="other"), [], id="no such pipeline"),
    ],
)
async def test_nothing_follows_from_a_run_of_a_config_that_is_no_more(planned, parts, webhook, changed, state):
    """It would open what nothing asks for: an incident without an end, and a page."""
    asked, answer = asyncio.Event(), asyncio.Event()
    refusal = [(answer, b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n")]

    def script(_):
        asked.set()
        return refusal

    async with LlmServer(script) as server:
        hops = (("agent", f"{server.url}?agent"), ("engine", server.url))
        plan = planned(hops=hops, probes=("one", "two"), receivers=(webhook("http://127.0.0.1:9/"),)).plan()
        async with parts(plan) as daemon:
            run = asyncio.create_task(daemon.perform())
            async with asyncio.timeout(20):
                await asked.wait()
            await daemon.running.follow(replace(plan, pipelines=(changed(plan.pipelines[0]),)), {})
            answer.set()
            assert await run is None
            assert [each.state for each in daemon.running.publish().incidents] == state
            assert len(daemon.running.dispatcher.waiting) == len(state)
            assert await daemon.store.run("run1") is not None


async def cancelled_while(daemon, arrange):
    """One run, cancelled from within by what `arrange` puts into its way."""
    run = asyncio.create_task(daemon.perform())
    arrange(daemon.running.cycle, run.cancel)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(20):
            await run


def while_we_look_at_ourselves(cycle, cancel):
    """The clock that is read just before; the own network is asked next."""
    read = []

    def slept():
        read.append(None)
        if len(read) == 2:
            cancel()
        return 0.0

    cycle.clocks = replace(cycle.clocks, slept=slept)


def while_we_hear_what_others_stored(cycle, cancel):
    listen = cycle.listen

    async def heard():
        cancel()
        await listen()

    cycle.listen = heard


def while_it_is_stored(cycle, cancel):
    concluded = cycle.concluded

    def told(conclusion, run):
        concluded(conclusion, run)
        cancel()

    cycle.concluded = told


@pytest.mark.parametrize(
    ("arrange", "host", "expected"),
    [
        pytest.param(while_we_look_at_ourselves, "elsewhere.invalid", (CutShort.SHUTDOWN, []), id="own network"),
        pytest.param(while_we_hear_what_others_stored, "127.0.0.1", (CutShort.SHUTDOWN, []), id="silences"),
        pytest.param(while_it_is_stored, "127.0.0.1", (None, ["pending"]), id="store"),
    ],
)
async def test_a_finished_run_is_not_lost_wherever_it_is_cancelled(
    planned, parts, unused_tcp_port_factory, arrange, host, expected
):
    """Nothing follows from one that could not be judged to the end any more."""
    service = {"own_network": OwnNetwork(address=f"127.0.0.1:{unused_tcp_port_factory()}")}
    hops = (("engine", f"http://{host}:{unused_tcp_port_factory()}/v1/chat/completions"),)
    plan = planned(hops=hops, service=service).plan()
    async with parts(plan) as daemon:
        await cancelled_while(daemon, arrange)
        stored = await daemon.store.run("run1")
        states = [each.state for each in await daemon.store.incidents()]
    (run,) = daemon.runs
    assert (stored.row.cut_short, states) == expected
    assert run.cut_short == stored.row.cut_short
    assert [result.hop for result in stored.results] == ["engine"]


async def test_a_bug_in_hearing_what_others_stored_silences_nothing(planned, parts, webhook):
    async def broken():
        raise ZeroDivisionError

    async with LlmServer(answering(EMPTY)) as server:
        plan = planned(hops=(("engine", server.url),), receivers=(webhook("http://127.0.0.1:9/"),)).plan()
        async with parts(plan) as daemon:
            daemon.running.cycle.listen = broken
            await daemon.perform()
            assert [each.state for each in await daemon.store.incidents()] == ["firing"]
    assert count(daemon, metrics.OWN_ERRORS, "listen") == 1
