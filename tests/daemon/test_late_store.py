"""A daemon whose store is away at the start: it measures and pages all the same, and finds its way when it comes."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from canary.core import metrics
from canary.core.route import Match, Silence
from canary.core.snapshot import Series
from canary.store import open_store
from tests.daemon.conftest import ANSWER, EMPTY, answering
from tests.fakes.away import Away
from tests.fakes.llm_server import LlmServer, whole

TAKEN = [(0.0, whole(b"", 204, connection="close"))]


class Engine:
    """What it answers may be changed."""

    def __init__(self):
        self.steps = EMPTY

    def __call__(self, request):
        return answering(self.steps)(request)


@pytest.fixture
async def engine():
    script = Engine()
    async with LlmServer(script) as server:
        server.script = script
        yield server


@pytest.fixture
async def hook():
    async with LlmServer(lambda _: TAKEN) as server:
        yield server


@pytest.fixture
def plan(planned, engine, hook, webhook):
    return planned(hops=(("engine", engine.url),), receivers=(webhook(hook.url),)).plan()


def away(store):
    late = Away(store)
    late.away = "unreachable"
    return late


async def run(daemon, run_id):
    await daemon.perform(run_id=run_id)
    await daemon.running.dispatcher.flush()


async def comes(daemon):
    daemon.running.archive.store.away = None
    assert await daemon.running.archive.catch_up()
    await daemon.running.dispatcher.flush()


def told(hook):
    return [(request.json["type"].removeprefix("page."), request.json["data"]["page_id"]) for request in hook.requests]


async def test_it_pages_from_memory_and_says_so(plan, parts, hook, logged):
    async with parts(plan, wrap=away) as daemon:
        await run(daemon, "r1")
        ((what, _),) = told(hook)
        assert what == "opened"
        assert "History could not be written" in str(hook.requests[0].json)
        shown = daemon.running.publish()
        assert (shown.store_up, len(shown.readiness.problems)) == (False, 1)
        await comes(daemon)
        assert daemon.running.publish().store_up
        assert [row.id for row in await daemon.store.runs()] == ["r1"]
        assert [each.why for each in await daemon.store.deliveries((await daemon.store.pages())[0].id)] == [""]
    assert len(hook.requests) == 1, "told once"
    assert [line["event"] for line in logged if "history" in line["event"]] == [
        "history cannot be written; runs and pages go on from memory",
        "history is written again",
    ]


async def test_an_open_page_of_an_earlier_life_is_neither_told_again_nor_stranded(plan, parts, engine, hook):
    async with parts(plan) as daemon:
        await run(daemon, "r1")
        (page,) = await daemon.store.pages()
    async with parts(plan, wrap=away) as daemon:
        await comes(daemon)
        assert [each.id for each in daemon.running.known.pages.values()] == [page.id]
        engine.script.steps = ANSWER
        await run(daemon, "r2")
        assert await daemon.store.incidents() == ()
    assert told(hook) == [("opened", page.id), ("resolved", page.id)]


async def test_a_fault_that_both_lives_paged_for_goes_on_as_the_first_page(plan, parts, engine, hook):
    async with parts(plan) as daemon:
        await run(daemon, "r1")
        (page,) = await daemon.store.pages()
    async with parts(plan, wrap=away) as daemon:
        await run(daemon, "r2")
        (_, (_, second)) = told(hook)
        await comes(daemon)
        (incident,) = await daemon.store.incidents()
        assert incident.run_id == "r2"
        assert [each.id for each in await daemon.store.pages() if each.resolved_at is None] == [page.id]
    async with parts(plan) as daemon:
        engine.script.steps = ANSWER
        await run(daemon, "r3")
        assert await daemon.store.incidents() == ()
    assert told(hook) == [("opened", page.id), ("opened", second), ("resolved", second), ("resolved", page.id)]


async def test_what_an_earlier_life_had_no_time_to_tell_is_told(plan, parts, hook):
    async with parts(plan) as daemon:
        await daemon.perform(run_id="r1")
    async with parts(plan, wrap=away) as daemon:
        await daemon.running.dispatcher.flush()
        assert told(hook) == []
        await comes(daemon)
    assert [what for what, _ in told(hook)] == ["opened"]


async def test_what_people_said_holds_again_and_what_was_spent_counts(planned, parts, engine, hook, webhook):
    day = {"tokens_per_day": 100_000}
    plan = planned(hops=(("engine", engine.url),), receivers=(webhook(hook.url),), pipeline=day).plan()
    async with parts(plan) as daemon:
        engine.script.steps = ANSWER
        await daemon.perform(run_id="r1")
        now = daemon.running.clocks.wall()
        ends_at = now + timedelta(hours=1)
        silence = Silence(id="s", match=Match(), starts_at=now, ends_at=ends_at, author="kim", comment="")
        await daemon.store.add_silence(silence)
        before = await daemon.store.tokens_spent("chat", now - timedelta(hours=1))
    async with parts(plan, wrap=away) as daemon:
        await daemon.perform(run_id="r2")
        mine = daemon.running.spending.of("chat", now)
        await comes(daemon)
        assert daemon.running.spending.of("chat", now) == mine + before
        assert [each.id for each in daemon.running.alerts.silences] == ["s"]
        engine.script.steps = EMPTY
        await run(daemon, "r3")
    assert told(hook) == []


async def test_people_hear_that_nothing_can_be_noted_down_now(plan, daemon, storage):
    """The whole daemon, and a file that a backup has locked: it starts, and refuses what it could not keep."""
    async with open_store(storage):
        pass
    path = storage.url.reveal().removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as backup:
        backup.execute("BEGIN EXCLUSIVE")
        async with daemon(lambda: plan) as running:
            status, text = await running.get("/-/ready")
            assert (status, "is locked by somebody else" in text) == (503, True)
            assert "canary_store_up 0.0" in (await running.get("/metrics"))[1]
            for path, body in (
                ("/-/deploy", {"text": "vLLM 0.23.0"}),
                ("/-/silence", {"match": {"pipeline": "chat"}, "for": "1h"}),
            ):
                status, answer = await running.post(path, json=body)
                assert (status, "is locked by somebody else" in str(answer)) == (503, True), answer
            backup.execute("ROLLBACK")


async def test_a_message_that_cannot_be_read_is_a_dead_letter_and_holds_up_nobody(plan, parts, hook, logged):
    async with parts(plan) as daemon:
        await daemon.perform(run_id="r1")
        async with daemon.store.database.writing() as connection:
            await connection.exec_driver_sql(
                "INSERT INTO outbox SELECT 0, 'n0', page_id, receiver, run_id, at, state, "
                'due_at, done_at, attempts, why, handle, \'{"of": "later"}\' FROM outbox'
            )
    async with parts(plan) as daemon:
        running = daemon.running
        await running.dispatcher.flush()
        assert told(hook) == [], "it waits behind the one that cannot be read"
        await running._beat()
        await running._beat()
        await running.dispatcher.flush()
        assert [what for what, _ in told(hook)] == ["opened"]
        assert await daemon.store.queue_depth() == 0
        counters = running.publish().counters
        assert counters[Series(metric=metrics.NOTIFICATIONS, labels=("none", "dead"))] == 1
        assert counters[Series(metric=metrics.OWN_ERRORS, labels=("stored row",))] == 1
        readiness = running.publish().readiness
    assert readiness.problems == ("1 notification of the last day could not be delivered",)
    assert readiness.notes == ("1 stored row cannot be read and left out; the log names each",)
    (line,) = [line for line in logged if line["event"] == "a stored row cannot be read"]
    assert (line["table"], line["key"]) == ("outbox", "n0")


@pytest.mark.parametrize("table", ["incidents", "pages", "silences", "deploys", "transitions", "runs"])
async def test_a_row_that_cannot_be_read_keeps_nobody_from_starting(table, plan, parts, engine, hook, logged):
    async with parts(plan) as daemon:
        await run(daemon, "r1")
        now = daemon.running.clocks.wall()
        ends_at = now + timedelta(hours=1)
        match = Match(pipeline="another")
        silence = Silence(
            id="s", match=match, starts_at=ends_at, ends_at=ends_at + timedelta(hours=1), author="", comment=""
        )
        await daemon.store.add_silence(silence)
        async with daemon.store.database.writing() as connection:
            await connection.exec_driver_sql(f"UPDATE {table} SET body = '{{}}'")
    async with parts(plan) as daemon:
        await daemon.running._beat()
        await run(daemon, "r2")
        named = [line["table"] for line in logged if line["event"] == "a stored row cannot be read"]
        assert named == ([table] if table not in ("deploys", "transitions") else [])
        engine.script.steps = ANSWER
        await run(daemon, "r3")
        assert await daemon.store.incidents() == ()
    again = ["opened", "opened", "resolved"] if table == "pages" else ["opened", "resolved"]
    assert [what for what, _ in told(hook)] == again
