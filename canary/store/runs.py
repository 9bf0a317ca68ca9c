"""Runs: written whole, read as lines or one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.kept import RunRow, StoredRun
from canary.core.run import CutShort
from canary.core.verdict import Status
from canary.store import spans
from canary.store.codec import decode, unpack, word
from canary.store.errors import AmbiguousIdError
from canary.store.record import Body, Findings, Place, Record
from canary.store.tables import RESULTS, RUNS, SERIES, TRANSCRIPTS
from canary.store.transcripts import decompressed
from canary.store.upsert import insert_new

_LINE = [column for column in RUNS.columns if column is not RUNS.c.body]
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which runs are asked for; None fits all. `since` is within, `until` is not."""

    pipeline: str | None = None
    probe: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    status: Status | None = None


async def save(connection: AsyncConnection, record: Record) -> bool:
    """False: this run is stored already, and nothing was changed."""
    if not await insert_new(connection, RUNS, [record.run]):
        return False
    if record.results:
        ids = await _series(connection, record)
        rows = [row | {"series_id": ids[place]} for place, row in record.results]
        await connection.execute(RESULTS.insert(), rows)
    if record.transcripts:
        await connection.execute(TRANSCRIPTS.insert(), record.transcripts)
    await spans.add(connection, record.spans)
    return True


async def _series(connection: AsyncConnection, record: Record) -> Mapping[Place, int]:
    """The id of each result's series; new ones are made."""
    pipeline, probe = record.run["pipeline"], record.run["probe"]
    wanted = dict.fromkeys(place for place, _ in record.results)
    known = await _known_series(connection, pipeline, probe)
    new = [place for place in wanted if place not in known]
    if not new:
        return known
    rows = [{"pipeline": pipeline, "probe": probe, "hop": hop, "variant": variant} for hop, variant in new]
    await insert_new(connection, SERIES, rows)
    return await _known_series(connection, pipeline, probe)


async def _known_series(connection: AsyncConnection, pipeline: str, probe: str) -> dict[Place, int]:
    query = select(SERIES).where(SERIES.c.pipeline == pipeline, SERIES.c.probe == probe)
    return {(row.hop, row.variant): row.id for row in await connection.execute(query)}


async def lines(connection: AsyncConnection, which: Which, most: int) -> list[Found[Any]]:
    """Newest first."""
    query = select(*_LINE).order_by(RUNS.c.started_at.desc()).limit(most)
    for column, value in (
        (RUNS.c.pipeline, which.pipeline),
        (RUNS.c.probe, which.probe),
        (RUNS.c.status, which.status and which.status.value),
    ):
        if value is not None:
            query = query.where(column == value)
    if which.since is not None:
        query = query.where(RUNS.c.started_at >= which.since)
    if which.until is not None:
        query = query.where(RUNS.c.started_at < which.until)
    return list(await connection.execute(query))


def line_of(row: Found[Any]) -> RunRow:
    return RunRow(
        id=row.id,
        pipeline=row.pipeline,
        probe=row.probe,
        started_at=row.started_at,
        finished_at=row.finished_at,
        status=word(Status, row.status),
        cut_short=None if row.cut_short is None else word(CutShort, row.cut_short),
        first_visible_s=row.first_visible_s,
        never_visible=row.never_visible,
        tokens=row.tokens,
        findings=decode(Findings, row.findings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One run as it lies there: its row with the body, and its transcripts by place."""

    row: Found[Any]
    transcripts: Mapping[int, bytes]

    def run(self) -> StoredRun:
        """The work of reading it, for a thread."""
        results = unpack(Body, self.row.body)
        texts = {place: decompressed(body) for place, body in self.transcripts.items()}
        told = (replace(result, transcript=texts.get(place)) for place, result in enumerate(results))
        return StoredRun(row=line_of(self.row), results=tuple(told))


async def whole(connection: AsyncConnection, prefix: str) -> Whole | None:
    """The run with that id, or the only one whose id begins so. Raises AmbiguousIdError."""
    within = RUNS.c.id.between(prefix, prefix + _LAST_CHARACTER)
    found = list(await connection.execute(select(RUNS).where(within).order_by(RUNS.c.id).limit(3)))
    exact = [row for row in found if row.id == prefix]
    if not found or not prefix:
        return None
    if len(found) > 1 and not exact:
        raise AmbiguousIdError(prefix, tuple(row.id for row in found))
    row = exact[0] if exact else found[0]
    query = select(TRANSCRIPTS.c.place, TRANSCRIPTS.c.body).where(TRANSCRIPTS.c.run_id == row.id)
    transcripts = {each.place: each.body for each in await connection.execute(query)}
    return Whole(row=row, transcripts=transcripts)


async def tokens_spent(connection: AsyncConnection, pipeline: str, since: datetime) -> int:
    query = select(func.sum(RUNS.c.tokens)).where(RUNS.c.pipeline == pipeline, RUNS.c.started_at >= since)
    return int(await connection.scalar(query) or 0)
