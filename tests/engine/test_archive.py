"""What becomes of runs, conclusions and marks while the store is away. Over a real SQLite."""

import asyncio
from functools import partial

import pytest

from canary.core.conclusion import Conclusion
from canary.core.notification import Sent
from canary.engine.archive import Archive, Entry, Mark
from canary.store import PASSING, CodecError, StoreError, StoreTrouble
from tests.fakes.stored import NOON, NOTHING, after, conclusion_of, notification_of, run_of


@pytest.fixture
def said():
    return []


@pytest.fixture
def archive(store, said):
    return Archive(store=store, changed=said.append, failed=lambda error: said.append(type(error)))


def entry(number, conclusion=NOTHING):
    return Entry(run=run_of(f"run{number}", after(minutes=number)), conclusion=conclusion, quiet=True)


async def ids(store):
    return sorted(row.id for row in await store.runs())


async def test_what_is_saved_is_there(archive, store, said):
    assert await archive.save(entry(1, conclusion_of("run1")))
    assert await ids(store) == ["run1"]
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n1"]
    assert (said, archive.unsaved()) == ([], frozenset())


@pytest.mark.parametrize("trouble", ["full", "locked", "read_only", "unreachable", "corrupt"])
async def test_whatever_the_trouble_nothing_is_lost_and_the_order_stays(archive, store, said, trouble):
    store.away = trouble
    assert not await archive.save(entry(1, conclusion_of("run1")))
    assert not await archive.save(entry(2))
    assert archive.unsaved() == {"n1"}
    assert said == [f"the database is {trouble}"], "said once"
    store.away = None
    assert await archive.catch_up()
    assert await ids(store) == ["run1", "run2"]
    assert len(await store.incidents()) == 1
    assert (said[1:], archive.trouble, list(archive.backlog)) == ([None], None, [])


async def test_nobody_waits_for_a_store_that_is_known_to_be_away(archive, store):
    """Else each run and each page would wait for a server that hangs."""
    store.away = "unreachable"
    await archive.save(entry(1))
    asked = len(store.calls)
    assert not await archive.save(entry(2))
    assert await archive.history(("chat", "heavy")) == {}
    assert await archive.due(NOON, 10) is None
    await archive.mark("n1", Mark(at=NOON, sent=Sent()))
    await archive.postpone("n2", NOON, "down")
    assert len(store.calls) == asked
    store.away = None
    assert await archive.catch_up()
    assert await ids(store) == ["run1", "run2"]
    assert await archive.save(entry(3))


async def test_a_store_that_comes_back_empty_is_told_what_is_open(store, said, tmp_path):
    """Deleted, or replaced by what was never this one's: the tables are made, and what we know is in them."""
    archive = Archive(store=store, remembered=lambda: conclusion_of("run1"), changed=said.append)
    await archive.save(entry(1, conclusion_of("run1")))
    for file in tmp_path.glob("canary.db*"):
        file.unlink()
    assert not await archive.save(entry(2)), "what no file with a name holds is not stored"
    assert await archive.catch_up()
    assert await ids(store) == ["run2"]
    assert len(await store.incidents()) == 1
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n1"]
    (away, back) = said
    assert (away.endswith("was deleted or replaced while it was in use"), back) == (True, None)


async def test_an_unknown_error_is_the_stores_where_nothing_else_works_either(archive, store, said):
    """Tables that somebody dropped: no run is to blame for that, and none is given up."""
    async with store.real.database.writing() as connection:
        await connection.exec_driver_sql("DROP TABLE outbox")
    assert not await archive.save(entry(1, conclusion_of("run1")))
    assert [each.run.id for each in archive.backlog] == ["run1"]
    assert len(said) == 1


async def test_a_mark_of_what_was_told_meanwhile_is_written_with_it(archive, store):
    """So that nobody is told again once the store is back."""
    store.away = "full"
    await archive.save(entry(1, conclusion_of("run1")))
    await archive.mark("n1", Mark(at=NOON, sent=Sent(handle="h")))
    assert set(archive.marks) == {"n1"}
    store.away = None
    await archive.catch_up()
    assert await store.due(NOON, 10) == ()
    (told,) = await store.deliveries("p1")
    assert told.sent_at == NOON
    assert archive.marks == {}


async def test_a_dead_letter_is_marked_with_its_reason(archive, store):
    await archive.save(entry(1, conclusion_of("run1")))
    await archive.mark("n1", Mark(at=NOON, dead="token revoked"))
    (letter,) = await store.dead_letters()
    assert letter.why == "token revoked"


async def test_reading_while_it_is_away_says_nothing_and_not_that_all_is_well(archive, store):
    store.away = "unreachable"
    assert await archive.history(("chat", "heavy")) == {}
    assert await archive.due(NOON, 10) is None
    assert archive.trouble == "the database is unreachable"


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(StoreError(StoreTrouble.OTHER, "a NUL in a text"), id="a value that it never takes"),
        pytest.param(ZeroDivisionError(), id="a bug of ours"),
    ],
)
async def test_a_run_that_can_never_be_written_stops_no_other_and_its_pages_stay(archive, store, said, error):
    store.breaks = [error]
    assert await archive.save(entry(1, conclusion_of("run1")))
    assert await archive.save(entry(2))
    assert await ids(store) == ["run2"]
    assert len(await store.incidents()) == 1
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n1"]
    assert said == [type(error)]


async def test_the_wait_is_bounded_and_conclusions_outlive_their_runs(archive, store):
    most = archive.most_runs = 5
    store.away = "full"
    await archive.save(entry(0, conclusion_of("run0")))
    for number in range(1, most + 3):
        await archive.save(entry(number))
    assert sum(each.run is not None for each in archive.backlog) == most
    assert archive.runs_lost == 3
    store.away = None
    await archive.catch_up()
    assert "run0" not in await ids(store)
    assert len(await ids(store)) == most
    assert len(await store.incidents()) == 1


async def test_it_is_bounded_in_bytes_too_but_the_newest_run_stays(archive, store):
    archive.most_bytes = 1
    store.away = "full"
    for number in range(3):
        await archive.save(entry(number))
    assert [each.run.id for each in archive.backlog if each.run] == ["run2"]


async def test_time_alone_has_conclusions_too(archive, store):
    await archive.save(Entry(conclusion=Conclusion(notifications=(notification_of("n7"),))))
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n7"]


async def test_whoever_is_cancelled_waits_for_the_end_of_the_transaction(archive):
    """The connection of one that was broken off may never close: then the process would not end."""
    begun, gate, ended = asyncio.Event(), asyncio.Event(), []

    async def transaction():
        begun.set()
        await gate.wait()
        ended.append("committed")

    asking = asyncio.create_task(archive.asked(transaction()))
    await begun.wait()
    asking.cancel()
    await asyncio.wait([asking], timeout=0.01)
    assert not asking.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended == ["committed"]


class Recall:
    """What the store knew: `follows` from it; each call is one reading."""

    def __init__(self, store, *follows):
        self.store, self.follows, self.times = store, follows, 0

    async def __call__(self):
        await self.store.incidents()
        self.times += 1
        return self.follows


async def test_a_store_that_is_there_is_read_at_once(archive, store):
    recall = Recall(store, conclusion_of("run0"))
    await archive.begin(recall)
    assert (recall.times, archive.trouble) == (1, None)
    assert len(await store.incidents()) == 1, "what follows is stored"
    assert "save_conclusion" in store.calls


@pytest.mark.parametrize("trouble", sorted(PASSING))
async def test_a_store_that_is_away_at_the_start_is_read_when_it_comes_and_once(archive, store, said, trouble):
    recall = Recall(store, Conclusion(notifications=(notification_of("n9", page_id="p9"),)))
    store.away = trouble.value
    await archive.begin(recall)
    assert said == [f"the database is {trouble.value}"]
    await archive.save(entry(1, conclusion_of("run1")))
    assert not await archive.catch_up()
    assert (recall.times, archive.unsaved()) == (0, {"n1"})
    store.away = None
    assert await archive.catch_up()
    assert (recall.times, said[1:]) == (1, [None])
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n1", "n9"]
    store.away = trouble.value
    await archive.save(entry(2))
    store.away = None
    assert await archive.catch_up()
    assert recall.times == 1
    assert await ids(store) == ["run1", "run2"]


@pytest.mark.parametrize("trouble", sorted(set(StoreTrouble) - PASSING))
async def test_what_waiting_does_not_mend_is_no_start(archive, store, said, trouble):
    store.away = trouble.value
    with pytest.raises(StoreError, match=f"the database is {trouble.value}"):
        await archive.begin(Recall(store))
    assert said == []


async def test_a_late_store_that_is_another_ones_is_refused_and_any_other_is_waited_for(archive, store):
    refusals = []
    archive.refused = refusals.append
    store.away = "unreachable"
    await archive.begin(Recall(store))
    for trouble, refused in (("refused", []), ("too_new", []), ("taken", [StoreTrouble.TAKEN])):
        store.away = trouble
        assert not await archive.catch_up()
        assert [error.kind for error in refusals] == refused
        assert archive.trouble is not None


async def test_a_store_that_dies_while_it_is_first_read_is_read_again(archive, store):
    recall = Recall(store)
    store.away, store.reads = "unreachable", False
    await archive.begin(recall)
    store.away = None
    store.dies_at = "incidents"
    assert not await archive.catch_up()
    store.dies_at = None
    assert await archive.catch_up()
    assert recall.times == 1


async def test_whoever_asks_hears_why_there_is_no_answer(archive, store):
    assert await archive.answered(store.queue_depth) == 0
    assert await archive.answered(partial(store.end_silence, "none", NOON)) is None, "an answer, too"
    store.away = "unreachable"
    for _ in range(2):
        with pytest.raises(StoreError, match="the database is unreachable"):
            await archive.answered(store.queue_depth)
    assert store.calls.count("queue_depth") == 2, "who is known to be away is not asked"


async def test_a_row_that_cannot_be_read_is_no_store_that_is_away(archive, store, said):
    await archive.save(entry(1, conclusion_of("run1")))
    async with store.real.database.writing() as connection:
        await connection.exec_driver_sql("UPDATE pages SET body = '{}'")
    with pytest.raises(CodecError):
        await archive.answered(partial(store.case, "p1"))
    assert (said, archive.trouble) == ([], None)


class Slow:
    """A store whose writing of runs takes until `gate` is set; `begun` says that it has begun."""

    def __init__(self, real):
        self.real, self.begun, self.gate = real, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        return getattr(self.real, name)

    async def save_run(self, *args, **kwargs):
        self.begun.set()
        await self.gate.wait()
        await self.real.save_run(*args, **kwargs)


async def stopped(task, *, times=1):
    """Cancelled so often, and given one turn each time to notice."""
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


async def test_a_run_whose_saving_is_cancelled_before_its_turn_is_not_lost(store):
    """Its pages may be on their way already."""
    slow = Slow(store)
    archive = Archive(store=slow)
    first = asyncio.create_task(archive.save(entry(1)))
    await slow.begun.wait()
    second = asyncio.create_task(archive.save(entry(2, conclusion_of("run2"))))
    await asyncio.sleep(0)
    await stopped(second)
    assert second.cancelled()
    slow.gate.set()
    assert await first
    assert await ids(store) == ["run1", "run2"]
    assert [row.notification.id for row in await store.due(NOON, 10)] == ["n1"]
    assert list(archive.backlog) == []


async def test_who_waits_for_a_turn_does_not_ask_a_store_that_went_away_meanwhile(archive, store):
    async with archive._turns:
        waiting = asyncio.create_task(archive.save(entry(1)))
        await asyncio.sleep(0)
        store.away = "unreachable"
        await archive._asked(store.queue_depth())
    assert not await waiting
    assert store.calls == ["queue_depth"]


async def test_what_is_still_being_written_when_its_writer_is_gone_is_not_written_twice(store):
    """Two that write the same backlog would each take the other's entry from it."""
    slow = Slow(store)
    archive = Archive(store=slow)
    impatient = asyncio.create_task(archive.save(entry(1)))
    await slow.begun.wait()
    await stopped(impatient, times=2)
    assert impatient.cancelled()
    assert not await archive.save(entry(2)), "it waits"
    slow.gate.set()
    await asyncio.wait([archive._stuck])
    assert await archive.catch_up()
    assert await ids(store) == ["run1", "run2"]
    assert store.calls.count("save_run") == 2
