"""What is asked while a probe waits walks an index, and costs the same however much was stored before."""

import asyncio
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import event

from canary.core.notification import Sent
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.span import RANGES
from canary.core.verdict import Status
from canary.store import open_store
from tests.fakes.stored import NOON, NOTHING, after, conclusion_of, fill, run_of

SMALL = ("series", "silences", "deploys", "probes")  # as many rows as there are hops and variants
NOW = after(days=9)
HOUR = timedelta(hours=1)
FEW, MANY = 700, 2800


async def consume(answers):
    return [each async for each in answers]


async def save(store):
    await store.save_run(run_of("new", NOW, status=Status.FAIL), conclusion_of("new"), quiet=True)


ASKED = {
    "history": lambda store: store.history("chat", "heavy"),
    "latest": lambda store: store.latest(),
    "save_run": save,
    "due": lambda store: store.due(NOW, 10),
    "next_due": lambda store: store.next_due(),
    "queue_depth": lambda store: store.queue_depth(),
    "incidents": lambda store: store.incidents(),
    "pages": lambda store: store.pages(since=NOW),
    "transitions": lambda store: store.transitions(NOW),
    "tokens_spent": lambda store: store.tokens_spent("chat", NOW - HOUR),
    "runs": lambda store: store.runs(),
    "runs of a probe": lambda store: store.runs(pipeline="chat", probe="heavy"),
    "runs that failed": lambda store: store.runs(status=Status.FAIL),
    "runs since": lambda store: store.runs(since=NOW - HOUR),
    "run": lambda store: store.run("f0000001"),
    "answers of an hour": lambda store: consume(store.answers(NOW - 2 * HOUR, NOW - HOUR)),
    "silences": lambda store: store.silences(NOW),
    "days": lambda store: store.days(["chat", "other"], NOW - HOUR),
    "spans": lambda store: store.spans("chat", "heavy", RANGES["24h"].grain, NOW - HOUR),
    "recent pages": lambda store: store.recent_pages(NOW - HOUR, pipeline="chat"),
    "case": lambda store: store.case("p1"),
    "deploys": lambda store: store.deploys(NOW),
    "sent": lambda store: store.sent("n1", NOW, Sent()),
}


@contextmanager
def listening(store):
    """The statements that were sent, with their values."""
    seen = []

    def note(_connection, _cursor, statement, parameters, _context, many):
        seen.append((statement, parameters[0] if many else parameters))

    engines = [store.database.reader.sync_engine, store.database.writer.sync_engine]
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("name", ASKED)
async def test_no_table_is_read_whole(sqlite, name):
    async with open_store(sqlite) as store:
        await fill(store, 50)
        with listening(store) as seen:
            await ASKED[name](store)
        statements = [each for each in seen if each[0].split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE")]
        assert statements
        async with store.database.reading() as connection:
            for statement, values in statements:
                plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", tuple(values))
                for step in plan:
                    assert not reads_all(step.detail), f"{step.detail}: {statement}"


def reads_all(step):
    """An index may be walked from its end, as far as a LIMIT goes, or where it holds only what is asked for."""
    words = step.split()
    return words[0] == "SCAN" and words[1] not in SMALL and "INDEX" not in words and words[1:3] != ["CONSTANT", "ROW"]


def test_the_test_can_fail():
    assert reads_all("SCAN runs")
    assert not reads_all("SCAN runs USING INDEX runs_started")
    assert not reads_all("SEARCH results USING INDEX results_series (series_id=?)")


@contextmanager
def counting(store):
    """Steps of SQLite's virtual machine: work without a clock."""
    steps = [0]

    def step():
        steps[0] += 1

    def connected(connection, _record):
        connection.run_async(lambda driver: driver.set_progress_handler(step, 1))

    event.listen(store.database.reader.sync_engine, "connect", connected)
    yield steps
    event.remove(store.database.reader.sync_engine, "connect", connected)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Two stores, with runs of each minute until now."""
    folder = tmp_path_factory.mktemp("filled")
    storages = {count: Storage(url=Secret(f"sqlite:///{folder}/{count}.db")) for count in (FEW, MANY)}

    async def make():
        for count, storage in storages.items():
            async with open_store(storage) as store:
                await fill(store, count, every_s=60.0, begin=NOW - timedelta(minutes=count))

    asyncio.run(make())
    return storages


@pytest.mark.parametrize("name", [name for name in ASKED if name not in ("save_run", "sent")])
async def test_the_work_does_not_grow_with_history(filled, name):
    work = {}
    for count, storage in filled.items():
        async with open_store(storage) as store:  # which has not read yet
            with counting(store) as steps:
                await ASKED[name](store)
            work[count] = steps[0]
    assert 0 < work[MANY] <= work[FEW] * 1.05 + 20


async def test_nothing_is_prepared_for_nothing(sqlite):
    """Saving a run that changes nothing else takes few statements."""
    async with open_store(sqlite) as store:
        await store.save_run(run_of("first"), NOTHING, quiet=True)
        with listening(store) as seen:
            await store.save_run(run_of("second", NOON), NOTHING, quiet=True)
    assert len(seen) <= 5
