"""Earlier answers, by series: what later ones are compared with, what reports count, what a restart shows.

A long incident must not make us forget what healthy was: where clean answers are rare among the newest, older clean
ones are read in addition, as many as are missing. Both are walks along an index, as long as what they give back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy import Select, Subquery, and_, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.history import Answer, Past
from canary.core.measurement import Fingerprint
from canary.core.snapshot import Latest
from canary.core.verdict import Status
from canary.store.codec import CodecError, decode, unpack
from canary.store.record import Body, Place
from canary.store.tables import RESULTS, RUNS, SERIES

_ONLY_CLEAN = text("clean")  # to the letter as in the index
_BATCH = 500

Rows = list[Found[Any]]


async def series_of(connection: AsyncConnection, pipeline: str | None, probe: str | None) -> Rows:
    """In the order in which they were first asked: hops from the engine up."""
    query = select(SERIES).order_by(SERIES.c.pipeline, SERIES.c.probe, SERIES.c.id)
    if pipeline is not None:
        query = query.where(SERIES.c.pipeline == pipeline)
    if probe is not None:
        query = query.where(SERIES.c.probe == probe)
    return list(await connection.execute(query))


async def newest(connection: AsyncConnection, series_id: int, most: int) -> Rows:
    """Newest first: the newest `most`, and older clean ones until there are `most` of these."""
    rows = list(await connection.execute(newest_query(series_id).limit(most)))
    missing = most - sum(row.clean for row in rows)
    if len(rows) < most or not missing:
        return rows
    older = newest_query(series_id).where(_ONLY_CLEAN, RESULTS.c.at < rows[-1].at).limit(missing)
    return rows + list(await connection.execute(older))


def newest_query(series_id: int) -> Select[Any]:
    return select(RESULTS).where(RESULTS.c.series_id == series_id).order_by(RESULTS.c.at.desc(), RESULTS.c.id.desc())


def past_of(row: Found[Any]) -> Past:
    return Past(
        run_id=row.run_id,
        at=row.at,
        values=json.loads(row.numbers),
        fingerprint=_fingerprint(row.fingerprint),
        clean=row.clean,
    )


@lru_cache(maxsize=256)
def _fingerprint(text: str) -> Fingerprint:
    """The same one answers thousands of times."""
    return decode(Fingerprint, text)


def pasts_of(found: Sequence[tuple[Place, Rows]]) -> dict[Place, tuple[Past, ...]]:
    """Newest last. The work of reading them, for a thread."""
    return {place: tuple(past_of(row) for row in reversed(rows)) for place, rows in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """`since` is within, `until` is not."""

    since: datetime
    until: datetime


async def batch(connection: AsyncConnection, series_id: int, span: Span, after: Found[Any] | None) -> Rows:
    """The next answers of a series after row `after`, oldest first; no row left: the end."""
    query = select(RESULTS).where(RESULTS.c.series_id == series_id, RESULTS.c.at < span.until)
    query = query.where(RESULTS.c.at >= (span.since if after is None else after.at))
    if after is not None:
        query = query.where(or_(RESULTS.c.at > after.at, and_(RESULTS.c.at == after.at, RESULTS.c.id > after.id)))
    return list(await connection.execute(query.order_by(RESULTS.c.at, RESULTS.c.id).limit(_BATCH)))


def answers_of(series: Found[Any], rows: Rows) -> list[Answer]:
    """The work of reading them, for a thread."""
    return [
        Answer(
            pipeline=series.pipeline,
            probe=series.probe,
            hop=series.hop,
            variant=series.variant,
            status=Status(row.status),
            past=past_of(row),
        )
        for row in rows
    ]


async def latest(connection: AsyncConnection) -> tuple[Rows, Rows]:
    """The newest result of each series with its place; and the runs that they are in, with their bodies."""
    newer = RESULTS.alias("newer")
    last = (
        select(newer.c.id)
        .where(newer.c.series_id == SERIES.c.id)
        .order_by(newer.c.at.desc(), newer.c.id.desc())
        .limit(1)
        .correlate(SERIES)
        .scalar_subquery()
    )
    places: Subquery = select(SERIES, last.label("result_id")).subquery("places")
    query = select(places, RESULTS.c.run_id, RESULTS.c.place, RESULTS.c.at).join(
        RESULTS, RESULTS.c.id == places.c.result_id
    )
    results = list(await connection.execute(query))
    ids = sorted({row.run_id for row in results})
    runs: Rows = []
    for start in range(0, len(ids), _BATCH):
        chunk = select(RUNS.c.id, RUNS.c.body).where(RUNS.c.id.in_(ids[start : start + _BATCH]))
        runs += list(await connection.execute(chunk))
    return results, runs


def latest_of(results: Rows, runs: Rows) -> tuple[Latest, ...]:
    """The work of reading them, for a thread. What an earlier version wrote and we cannot read is not known."""
    bodies: dict[str, Body] = {}
    for run in runs:
        try:
            bodies[run.id] = unpack(Body, run.body)
        except CodecError:
            continue
    return tuple(_latest_of(row, bodies[row.run_id]) for row in results if row.run_id in bodies)


def _latest_of(row: Found[Any], body: Body) -> Latest:
    result = body[row.place]
    return Latest(
        pipeline=row.pipeline,
        probe=row.probe,
        hop=row.hop,
        variant=row.variant,
        run_id=row.run_id,
        at=row.at,
        measurement=result.measurement,
        verdicts=result.verdicts,
    )
