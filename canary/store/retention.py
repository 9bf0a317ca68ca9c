"""What goes, and when: months of running change neither the size of the database nor the time that anything takes.

1. Transcripts beyond their bytes, oldest first: they are the bulk, and numbers outlive them.
2. Runs that are too old or too many, oldest first, with all that is theirs.
3. Spans that no page looks back at.
4. Incidents, pages, notifications, silences and deploys that are over and too old.

What somebody may still need stays, however old: open incidents, unresolved pages, unsent notifications, the runs and
transcripts that one of these names, and what was sent of an unresolved page (a later message changes the earlier one).
Each step is many small transactions, so that a run that is to be saved waits for one of them at most.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Delete, Select, Table, and_, delete, func, or_, select, text, tuple_

from canary.core.service import Storage
from canary.store import spans
from canary.store.conclusions import NOT_OK
from canary.store.database import Database
from canary.store.rows import Pruned
from canary.store.tables import (
    DEPLOYS,
    INCIDENTS,
    NOTES,
    OUTBOX,
    OVERRIDES,
    PAGES,
    RESULTS,
    RUNS,
    SERIES,
    SILENCES,
    SPANS,
    TRANSCRIPTS,
    TRANSITIONS,
    WITHHELD,
)

_BATCH = 100
_PAGES_A_STEP = 500  # 2 MB, given back to the file system in one go

_UNRESOLVED = select(PAGES.c.id).where(PAGES.c.resolved_at.is_(None))
_NEEDED_RUNS = (
    select(INCIDENTS.c.run_id)
    .where(NOT_OK)
    .union(
        select(OUTBOX.c.run_id).where(
            OUTBOX.c.run_id.is_not(None),
            or_(text("outbox.state = 'queued'"), OUTBOX.c.page_id.in_(_UNRESOLVED)),
        )
    )
)
_UNSENT_PAGES = select(OUTBOX.c.page_id).where(text("outbox.state = 'queued'"))


async def prune(database: Database, storage: Storage, now: datetime) -> Pruned:
    before = now - timedelta(days=storage.keep_days)
    transcripts = await _transcripts(database, storage.keep_bytes)
    cut = await _cut(database, before, storage.keep_runs)
    runs = await _repeat(database, _some(RUNS, _old_runs(cut)))
    counts = dict.fromkeys(("incidents", "pages", "notifications", "spans", "others"), 0)
    for noun, statement in (*_over(before), *_outdated(now)):
        counts[noun] += await _repeat(database, statement)
    if database.is_sqlite:
        await _give_back(database)
    return Pruned(runs=runs, transcripts=transcripts, before=cut, **counts)


async def _transcripts(database: Database, keep_bytes: int) -> int:
    async with database.reading() as connection:
        held = await connection.scalar(select(func.sum(TRANSCRIPTS.c.bytes)))
    excess, gone = int(held or 0) - keep_bytes, 0
    oldest = select(TRANSCRIPTS.c.run_id, TRANSCRIPTS.c.place, TRANSCRIPTS.c.bytes).order_by(TRANSCRIPTS.c.at)
    oldest = oldest.where(TRANSCRIPTS.c.run_id.not_in(_NEEDED_RUNS)).limit(_BATCH)
    while excess > 0:
        async with database.writing() as connection:
            chosen: list[tuple[str, int]] = []
            for row in await connection.execute(oldest):
                if excess <= 0:
                    break
                chosen.append((row.run_id, row.place))
                excess -= row.bytes
            if not chosen:
                break
            keys = tuple_(TRANSCRIPTS.c.run_id, TRANSCRIPTS.c.place)
            await connection.execute(delete(TRANSCRIPTS).where(keys.in_(chosen)))
            gone += len(chosen)
    return gone


async def _cut(database: Database, before: datetime, keep_runs: int) -> datetime:
    """Runs that began before this go: by age, or because there are `keep_runs` newer ones."""
    newest = select(RUNS.c.started_at).order_by(RUNS.c.started_at.desc()).offset(keep_runs).limit(1)
    async with database.reading() as connection:
        beyond: datetime | None = await connection.scalar(newest)
    return before if beyond is None else max(before, beyond + timedelta(microseconds=1))


def _old_runs(cut: datetime) -> Select[Any]:
    old = select(RUNS.c.id).where(RUNS.c.started_at < cut, RUNS.c.id.not_in(_NEEDED_RUNS))
    return old.order_by(RUNS.c.started_at)


def _some(table: Table, chosen: Select[Any]) -> Delete:
    """Deletes the first few of those whose primary key `chosen` selects."""
    keys = list(table.primary_key.columns)
    return delete(table).where((tuple_(*keys) if len(keys) > 1 else keys[0]).in_(chosen.limit(_BATCH)))


def _over(before: datetime) -> list[tuple[str, Delete]]:
    """What is over and too old, by what it counts as. In this order: the later ones look for the earlier ones."""
    of_unresolved = OUTBOX.c.page_id.in_(_UNRESOLVED)
    old = {
        "incidents": [(INCIDENTS, and_(INCIDENTS.c.state == "ok", INCIDENTS.c.since < before))],
        "pages": [(PAGES, and_(PAGES.c.resolved_at < before, PAGES.c.id.not_in(_UNSENT_PAGES)))],
        "notifications": [(OUTBOX, and_(OUTBOX.c.done_at < before, ~of_unresolved))],
        "others": [
            (TRANSITIONS, and_(TRANSITIONS.c.at < before, TRANSITIONS.c.incident_id.not_in(select(INCIDENTS.c.id)))),
            (WITHHELD, and_(WITHHELD.c.at < before, WITHHELD.c.page_id.not_in(_UNRESOLVED))),
            (NOTES, and_(NOTES.c.at < before, NOTES.c.page_id.not_in(select(PAGES.c.id)))),
            (OVERRIDES, OVERRIDES.c.ends_at < before),
            (SILENCES, SILENCES.c.ends_at < before),
            (DEPLOYS, DEPLOYS.c.at < before),
            (SERIES, ~select(RESULTS.c.id).where(RESULTS.c.series_id == SERIES.c.id).exists()),
        ],
    }
    return [
        (noun, _some(table, select(*table.primary_key.columns).where(condition)))
        for noun, rows in old.items()
        for table, condition in rows
    ]


def _outdated(now: datetime) -> list[tuple[str, Delete]]:
    keys = list(SPANS.primary_key.columns)
    return [("spans", _some(SPANS, select(*keys).where(condition))) for condition in spans.outdated(now)]


async def _repeat(database: Database, statement: Delete) -> int:
    total, gone = 0, _BATCH
    while gone >= _BATCH:
        async with database.writing() as connection:
            gone = (await connection.execute(statement)).rowcount
        total += gone
    return total


async def _give_back(database: Database) -> None:
    """Free pages go back to the file system, unless the file was made by somebody who did not provide for it.

    Each is set free by reading one more row, and a row without columns is read by a script only. A script commits what
    was begun, which is nothing yet, and then is a transaction of its own.
    """
    before, free = -1, 0
    while before != free:
        async with database.writing() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            await driver.executescript(f"PRAGMA incremental_vacuum({_PAGES_A_STEP})")
            before, free = free, int(await connection.scalar(text("PRAGMA freelist_count")) or 0)
