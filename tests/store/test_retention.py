"""What goes and what stays, however old."""

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.incident import State
from canary.core.notification import Reason, Sent, Withheld
from canary.core.route import Match, Silence
from canary.core.verdict import Status
from canary.store import Pruned, open_store
from tests.fakes.stored import (
    NOON,
    NOTHING,
    after,
    conclusion_of,
    fill,
    incident_of,
    notification_of,
    page_of,
    run_of,
    transition_of,
)

FAIL = Status.FAIL


async def save(store, *runs):
    for run in runs:
        await store.save_run(run, NOTHING, quiet=True)


async def ids(store):
    return sorted([row.id for row in await store.runs()])


@pytest.mark.parametrize(
    ("options", "now", "expected"),
    [
        pytest.param({}, after(days=89), ["a", "b", "c"], id="nothing is too old"),
        pytest.param({"keep_days": 1.0}, after(days=1, minutes=1), ["b", "c"], id="too old: the limit itself is not"),
        pytest.param({"keep_days": 1.0}, after(days=9), [], id="all too old"),
        pytest.param({"keep_runs": 2}, after(minutes=3), ["b", "c"], id="too many"),
        pytest.param({"keep_runs": 3}, after(minutes=3), ["a", "b", "c"], id="just as many"),
        pytest.param({"keep_runs": 2, "keep_days": 1.0}, after(days=1, minutes=2), ["c"], id="both"),
    ],
)
async def test_runs_that_are_too_old_or_too_many(opened, options, now, expected):
    store = await opened(**options)
    await save(store, run_of("c", after(minutes=2)), run_of("a"), run_of("b", after(minutes=1)))
    pruned = await store.prune(now)
    assert await ids(store) == expected
    assert pruned.runs == 3 - len(expected)
    assert await store.prune(now) == Pruned()


async def test_with_a_run_goes_all_that_is_its_own(opened):
    store = await opened(keep_days=1.0)
    await save(store, run_of("a", status=FAIL))
    await store.prune(after(days=2))
    async with store.database.reading() as connection:
        left = {}
        for table in ("runs", "results", "transcripts", "series"):
            left[table] = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
        assert {table: rows.scalar() for table, rows in left.items()} == dict.fromkeys(left, 0)


async def test_transcripts_go_first_and_the_oldest_of_them(opened):
    store = await opened(keep_bytes=1)
    await save(store, *(run_of(name, after(minutes=n), status=FAIL, hops=("vllm",)) for n, name in enumerate("abc")))
    one = await _bytes(store) // 3
    store = replace(store, storage=replace(store.storage, keep_bytes=2 * one))

    pruned = await store.prune(after(minutes=9))

    assert (pruned.transcripts, pruned.runs) == (1, 0)
    kept = {name: (await store.run(name)).results[0].transcript is not None for name in "abc"}
    assert kept == {"a": False, "b": True, "c": True}


async def _bytes(store):
    async with store.database.reading() as connection:
        return (await connection.exec_driver_sql("SELECT sum(bytes) FROM transcripts")).scalar()


@pytest.mark.parametrize(
    ("conclusion", "stays"),
    [
        pytest.param(conclusion_of("r"), True, id="open incident, unresolved page, unsent notification"),
        pytest.param(Conclusion(incidents=(incident_of(run_id="r"),)), True, id="an open incident names it"),
        pytest.param(Conclusion(notifications=(notification_of(run_id="r"),)), True, id="an unsent notification"),
        pytest.param(Conclusion(incidents=(incident_of(run_id="r", state=State.OK),)), False, id="an incident is over"),
        pytest.param(Conclusion(incidents=(incident_of(run_id="other"),)), False, id="an open one names another"),
        pytest.param(Conclusion(), False, id="nobody names it"),
    ],
)
async def test_a_run_that_somebody_may_still_need_stays(opened, conclusion, stays):
    store = await opened(keep_days=1.0, keep_bytes=0)
    await store.save_run(run_of("r", status=FAIL), conclusion, quiet=True)
    await store.prune(after(days=99))
    found = await store.run("r")
    assert (found is not None) is stays
    assert not stays or found.results[0].transcript


async def test_what_is_open_stays_however_old_and_goes_when_it_is_over(opened):
    store = await opened(keep_days=1.0)
    held = Withheld(page_id="p1", receiver="mail", reason=Reason.SILENCED, at=NOON)
    await store.save_run(run_of("r1"), replace(conclusion_of("r1"), withheld=(held,)), quiet=True)
    await store.sent("n1", NOON, Sent(handle="h"))
    await store.save_conclusion(Conclusion(notifications=(notification_of("n2", receiver="mail"),)))
    assert replace(await store.prune(after(days=99)), spans=0) == Pruned()

    over = Conclusion(incidents=(incident_of(state=State.OK),), pages=(page_of(resolved_at=NOON),))
    await store.save_conclusion(over)
    pruned = await store.prune(after(days=99))
    assert (pruned.incidents, pruned.pages, pruned.notifications) == (1, 0, 1)
    assert await store.page("p1"), "its last notification is not sent yet"
    assert [queued.notification.id for queued in await store.due(after(days=99), 9)] == ["n2"]

    await store.sent("n2", NOON, Sent())
    await store.prune(after(days=99))
    assert await store.page("p1") is None
    assert await store.deliveries("p1") == ()
    assert await store.withheld("p1") == ()
    assert await store.transitions() == ()
    assert await ids(store) == []


async def test_a_dead_letter_goes_when_it_is_old(opened):
    store = await opened(keep_days=1.0)
    await store.save_conclusion(Conclusion(notifications=(notification_of(),)))
    await store.dead("n1", NOON, "gone")
    await store.prune(after(hours=23))
    assert len(await store.dead_letters()) == 1
    await store.prune(after(days=2))
    assert await store.dead_letters() == ()


async def test_old_marks_go(opened):
    store = await opened(keep_days=1.0)
    await store.add_silence(Silence(id="s", match=Match(), starts_at=NOON, ends_at=NOON, author="kim"))
    await store.add_deploy(Deploy(at=NOON, text="t"))
    await store.save_conclusion(Conclusion(transitions=(transition_of("an incident that nobody has"),)))
    assert (await store.prune(after(days=2))).others == 3
    assert await store.silences(after(days=-9)) == ()
    assert await store.deploys(NOON) == ()


async def test_many_batches(opened):
    store = await opened(keep_runs=10)
    await fill(store, 250, every_s=1.0)
    assert (await store.prune(NOON)).runs == 240
    assert len(await store.runs()) == 10


async def pages_of_file(store):
    async with store.database.writing() as connection:
        return (await connection.exec_driver_sql("PRAGMA page_count")).scalar()


async def test_the_file_becomes_smaller_again(sqlite):
    async with open_store(replace(sqlite, keep_runs=10)) as store:
        empty = await pages_of_file(store)
        await fill(store, 1000)
        full = await pages_of_file(store)
        await store.prune(NOON)
        assert await pages_of_file(store) < empty + (full - empty) / 10


async def test_a_file_that_cannot_become_smaller_is_pruned_all_the_same(sqlite):
    path = Path(sqlite.url.reveal().removeprefix("sqlite:///"))
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    async with open_store(replace(sqlite, keep_runs=10)) as store:
        await fill(store, 300)
        assert (await store.prune(NOON)).runs == 290


async def test_months_change_nothing(sqlite):
    """As many runs come as go; neither the file nor the log beside it grows."""
    path = Path(sqlite.url.reveal().removeprefix("sqlite:///"))
    sizes, logs = [], []
    async with open_store(replace(sqlite, keep_days=30.0)) as store:
        for month in range(6):
            begin = after(days=30 * month)
            await fill(store, 300, begin=begin, every_s=8640.0, prefix=f"m{month}-")
            for n in range(3):
                failed = run_of(f"m{month}-failed{n}", begin + timedelta(days=n), status=FAIL)
                over = Conclusion(transitions=(transition_of(f"i{month}", begin),))
                await store.save_run(failed, over, quiet=True)
            await store.prune(begin + timedelta(days=30))
            sizes.append(await pages_of_file(store))
            logs.append(path.with_name("canary.db-wal").stat().st_size)
    assert max(sizes[1:]) <= min(sizes[1:]) * 1.1
    assert max(logs) <= 64 * 2**20
    assert logs[-1] <= logs[1] * 1.1
