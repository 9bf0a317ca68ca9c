"""Earlier answers, by series: what later ones are compared with, what reports count, what a restart shows.

A long incident must not make us forget what healthy was: where clean answers are rare among the newest, older clean
ones are read in addition, as many as are missing. Both are walks along an index, as long as what they give back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy import Select, and_, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.history import Answer, Past
from canary.core.measurement import Fingerprint
from canary.core.snapshot import Latest
from canary.core.verdict import Status
from canary.store.aside import Aside
from canary.store.codec import CodecError, decode, unpack, word
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
        values=_values(row.numbers),
        fingerprint=_fingerprint(row.fingerprint),
        clean=row.clean,
    )


def _values(text: str) -> Mapping[str, float]:
    """Looked at no closer than that, since there are thousands. Raises CodecError."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise CodecError(str(error)) from None
    if isinstance(values, dict) and all(isinstance(value, int | float) for value in values.values()):
        return values
    raise CodecError("found no numbers by name")


@lru_cache(maxsize=256)
def _fingerprint(text: str) -> Fingerprint:
    """The same one answers thousands of times."""
    return decode(Fingerprint, text)


def pasts_of(found: Sequence[tuple[Place, Rows]], aside: Aside) -> dict[Place, tuple[Past, ...]]:
    """Newest last. The work of reading them, for a thread."""
    return {place: aside.readable(RESULTS, rows[::-1], past_of) for place, rows in found}


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


def answers_of(series: Found[Any], rows: Rows, aside: Aside) -> tuple[Answer, ...]:
    """The work of reading them, for a thread."""

    def answer_of(row: Found[Any]) -> Answer:
        return Answer(
            pipeline=series.pipeline,
            probe=series.probe,
            hop=series.hop,
            variant=series.variant,
            status=word(Status, row.status),
            past=past_of(row),
        )

    return aside.readable(RESULTS, rows, answer_of)


async def latest(connection: AsyncConnection) -> tuple[Rows, Rows]:
    """The newest whole run of each probe, and its results with their places."""
    probes = select(SERIES.c.pipeline, SERIES.c.probe).distinct().subquery("probes")
    newest_run = (
        select(RUNS.c.id)
        .where(RUNS.c.pipeline == probes.c.pipeline, RUNS.c.probe == probes.c.probe, RUNS.c.cut_short.is_(None))
        .order_by(RUNS.c.started_at.desc())
        .limit(1)
        .correlate(probes)
        .scalar_subquery()
    )
    ids = list(await connection.scalars(select(newest_run).select_from(probes)))
    results: Rows = []
    runs: Rows = []
    for start in range(0, len(ids), _BATCH):
        chunk = [run_id for run_id in ids[start : start + _BATCH] if run_id is not None]
        of_runs = select(RUNS.c.id, RUNS.c.started_at, RUNS.c.finished_at, RUNS.c.body).where(RUNS.c.id.in_(chunk))
        runs += list(await connection.execute(of_runs))
        places = (SERIES.c.pipeline, SERIES.c.probe, SERIES.c.hop, SERIES.c.variant)
        answers = select(RESULTS.c.id, RESULTS.c.run_id, RESULTS.c.place, *places)
        answers = answers.join(SERIES, RESULTS.c.series_id == SERIES.c.id)
        results += list(await connection.execute(answers.where(RESULTS.c.run_id.in_(chunk)).order_by(RESULTS.c.id)))
    return results, runs


def latest_of(results: Rows, runs: Rows, aside: Aside) -> tuple[Latest, ...]:
    """The work of reading them, for a thread."""
    whole = dict(aside.readable(RUNS, runs, _whole))
    of_whole = [row for row in results if row.run_id in whole]
    return aside.readable(RESULTS, of_whole, lambda row: _latest_of(row, *whole[row.run_id]))


def _whole(run: Found[Any]) -> tuple[str, tuple[datetime, Body]]:
    body: Body = unpack(Body, run.body)
    return run.id, (run.finished_at or run.started_at, body)


def _latest_of(row: Found[Any], at: datetime, body: Body) -> Latest:
    if row.place >= len(body):
        raise CodecError("its run has no such result")
    result = body[row.place]
    return Latest(
        pipeline=row.pipeline,
        probe=row.probe,
        hop=row.hop,
        variant=row.variant,
        run_id=row.run_id,
        at=at,
        measurement=result.measurement,
        verdicts=result.verdicts,
    )
