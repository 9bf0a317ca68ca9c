"""History in spans of time: added to with each run, in its transaction, and read by pages.

A run adds to one span of each grain, so that no reader has to add up what is finer than what it shows. Spans outlive
the runs that they were made of, up to the range that needs them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, select
from sqlalchemy import Row as Found
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.analysis.remember import values_of
from canary.core.measurement import Fingerprint
from canary.core.observation import ConnectFailed
from canary.core.run import WHOLE, HopResult, Run
from canary.core.span import DAYS, RANGES, WHOLE_RUN, Counts, Day, Span, Spread, floor
from canary.core.timeout import Clock
from canary.core.verdict import Status, worst
from canary.store.aside import Aside
from canary.store.codec import CodecError, decode, encode
from canary.store.tables import SPANS
from canary.store.upsert import Row, insert

_COLUMN_OF = {Status.PASS: "passed", Status.WARN: "warned", Status.FAIL: "failed", Status.UNKNOWN: "unknown"}
_COUNTS = (*_COLUMN_OF.values(), "never")
_NUMBERS = {
    "first_reasoning": "time_to_first_reasoning_token_s",
    "first_visible": "time_to_first_visible_content_s",
    "reasoning_share": "reasoning_to_output_ratio",
}
_SILENCES = {clock: f"silence_{clock.value}" for clock in Clock}
_CLOCKS = tuple(clock.value for clock in Clock)
_READ = [  # in the order of `_span_of`
    *(SPANS.c[name] for name in ("hop", "at", *_COUNTS, "fingerprint")),
    *(SPANS.c[f"{name}_{part}"] for name in _NUMBERS for part in ("count", "sum", "least", "most")),
    *(SPANS.c[column] for column in _SILENCES.values()),
]


def rows_of(run: Run, status: Status, answered: Sequence[HopResult]) -> Iterator[Row]:
    """What a run adds to, in spans of every grain. Nothing is measured by a run that was cut short."""
    of_hops = {hop: [result for result in answered if result.hop == hop] for hop in {each.hop for each in answered}}
    added = {WHOLE_RUN: _row(status, [])}
    for hop, results in of_hops.items():
        if run.cut_short:
            added[hop] = _row(Status.UNKNOWN, [])
        else:
            added[hop] = _row(worst(verdict for each in results for verdict in each.verdicts), results)
    for each in RANGES.values():
        place = {"grain_s": round(each.grain.total_seconds()), "at": floor(run.started_at, each.grain)}
        for hop, row in added.items():
            yield row | place | {"pipeline": run.pipeline, "probe": run.probe, "hop": hop}


def _row(status: Status, results: Sequence[HopResult]) -> Row:
    whole = [result.measurement for result in results if result.variant in WHOLE]
    values = [values_of(measurement) for measurement in whole]
    row: Row = dict.fromkeys(_COUNTS, 0) | {_COLUMN_OF[status]: 1}
    row["never"] = sum(each.get("zero_visible") == 1.0 for each in values)
    for name, key in _NUMBERS.items():
        found = [each[key] for each in values if key in each]
        row |= {f"{name}_count": len(found), f"{name}_sum": sum(found)}
        row |= {f"{name}_least": min(found, default=None), f"{name}_most": max(found, default=None)}
    silences = [each.silence for each in whole if not isinstance(each.end, ConnectFailed)]
    for clock, column in _SILENCES.items():
        row[column] = max((getattr(each, clock.value).longest_s for each in silences), default=None)
    row["fingerprint"] = encode(whole[-1].fingerprint) if whole else None
    return row


async def add(connection: AsyncConnection, rows: Sequence[Row]) -> None:
    new, old = insert(connection, SPANS), SPANS.c
    merged: dict[str, ColumnElement[Any]] = {name: old[name] + new.excluded[name] for name in _COUNTS}
    for name in _NUMBERS:
        for column in (f"{name}_count", f"{name}_sum"):
            merged[column] = old[column] + new.excluded[column]
        merged[f"{name}_least"] = _least(old[f"{name}_least"], new.excluded[f"{name}_least"])
        merged[f"{name}_most"] = _most(old[f"{name}_most"], new.excluded[f"{name}_most"])
    for column in _SILENCES.values():
        merged[column] = _most(old[column], new.excluded[column])
    merged["fingerprint"] = func.coalesce(new.excluded.fingerprint, old.fingerprint)
    keys = list(SPANS.primary_key.columns)
    await connection.execute(new.on_conflict_do_update(index_elements=keys, set_=merged), rows)


def _most(old: ColumnElement[Any], new: ColumnElement[Any]) -> ColumnElement[Any]:
    """The databases' own functions differ in what NULL does; it must lose."""
    return func.coalesce(case((new > old, new), else_=old), new)


def _least(old: ColumnElement[Any], new: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(case((new < old, new), else_=old), new)


async def days(connection: AsyncConnection, pipelines: Collection[str], since: datetime) -> list[Found[Any]]:
    return list(await connection.execute(days_query(pipelines, since)))


def days_query(pipelines: Collection[str], since: datetime) -> Select[Any]:
    place = (SPANS.c.pipeline, SPANS.c.hop, SPANS.c.at)
    sums = [func.sum(SPANS.c[name]).label(name) for name in _COLUMN_OF.values()]
    query = select(*place, *sums).where(SPANS.c.pipeline.in_(pipelines), SPANS.c.grain_s == _seconds(DAYS.grain))
    return query.where(SPANS.c.at >= since).group_by(*place)


def days_of(rows: Sequence[Found[Any]]) -> tuple[Day, ...]:
    return tuple(map(_day_of, rows))


def _day_of(row: Sequence[Any]) -> Day:
    pipeline, hop, at, *sums = row
    passed, warned, failed, unknown = map(int, sums)  # a database may give Decimals
    return Day(
        pipeline=pipeline, hop=hop, at=at, counts=Counts(passed=passed, warned=warned, failed=failed, unknown=unknown)
    )


async def spans(
    connection: AsyncConnection, pipeline: str, probe: str, grain: timedelta, since: datetime
) -> list[Found[Any]]:
    query = select(*_READ).where(SPANS.c.pipeline == pipeline, SPANS.c.grain_s == _seconds(grain), SPANS.c.at >= since)
    query = query.where(SPANS.c.probe == probe, SPANS.c.hop != WHOLE_RUN).order_by(SPANS.c.at)
    return list(await connection.execute(query))


def spans_of(rows: Sequence[Found[Any]], aside: Aside) -> tuple[Span, ...]:
    """Oldest first. The work of reading them, for a thread. What is counted holds without a readable fingerprint."""
    known: dict[str | None, Fingerprint | None] = {None: None}  # the same one answers thousands of times
    for row in rows:
        if row.fingerprint not in known:
            try:
                known[row.fingerprint] = decode(Fingerprint, row.fingerprint)
            except CodecError as error:
                known[row.fingerprint] = None
                aside.note(SPANS, f"{row.hop} {row.at.isoformat()}", error)
    return tuple(_span_of(row, known) for row in rows)


def _span_of(row: Sequence[Any], known: dict[str | None, Fingerprint | None]) -> Span:
    hop, at, passed, warned, failed, unknown, never, text, *numbers = row
    return Span(
        hop=hop,
        at=at,
        counts=Counts(passed=passed, warned=warned, failed=failed, unknown=unknown),
        never=never,
        first_reasoning=_spread_of(*numbers[0:4]),
        first_visible=_spread_of(*numbers[4:8]),
        reasoning_share=_spread_of(*numbers[8:12]),
        silences={clock: found for clock, found in zip(_CLOCKS, numbers[12:], strict=True) if found is not None},
        fingerprint=known[text],
    )


def _spread_of(count: int, total: float, least: float, most: float) -> Spread | None:
    return Spread(count=count, mean=total / count, least=least, most=most) if count else None


def _seconds(grain: timedelta) -> int:
    return round(grain.total_seconds())


def outdated(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Spans that no page looks back at any more, a condition for each grain."""
    return tuple(
        (SPANS.c.grain_s == _seconds(each.grain)) & (SPANS.c.at < now - each.length - each.grain)
        for each in RANGES.values()
    )
