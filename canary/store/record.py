"""A run as rows: all the work of making JSON and compressing it, in plain functions that a thread can run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from canary.analysis.remember import never_visible, past_of
from canary.analysis.spent import tokens_spent
from canary.core.finding import Finding
from canary.core.kept import StoredResult
from canary.core.observation import Interrupted
from canary.core.run import HopResult, Run
from canary.core.verdict import Status, worst
from canary.store import spans
from canary.store.codec import encode, pack
from canary.store.transcripts import Keep, compressed, wanted
from canary.store.upsert import Row

Place: TypeAlias = tuple[str, str]  # hop, variant
Body: TypeAlias = tuple[StoredResult, ...]  # all of a run but its observations; the column `body`
Findings: TypeAlias = tuple[Finding, ...]  # the column `findings`


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """`results`: by place, without the id of their series, which only the database knows."""

    run: Row
    results: tuple[tuple[Place, Row], ...]
    transcripts: tuple[Row, ...]
    spans: tuple[Row, ...]


def record(run: Run, *, quiet: bool, keep: Keep) -> Record:
    """An answer that we broke off ourselves is part of the run's body and no row of history."""
    answered = [
        (n, result) for n, result in enumerate(run.results) if not isinstance(result.measurement.end, Interrupted)
    ]
    return Record(
        run=_run(run, [result for _, result in answered]),
        results=tuple(((result.hop, result.variant), _result(run, n, result, quiet=quiet)) for n, result in answered),
        transcripts=tuple(_transcripts(run, keep)) if wanted(run, keep) else (),
        spans=tuple(spans.rows_of(run, _status(run), [result for _, result in answered])),
    )


def _run(run: Run, answered: list[HopResult]) -> Row:
    waits = [result.measurement.time_to_first_visible_content_s for result in answered]
    return {
        "id": run.id,
        "pipeline": run.pipeline,
        "probe": run.probe,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "status": _status(run).value,
        "cut_short": run.cut_short.value if run.cut_short else None,
        "first_visible_s": max((wait for wait in waits if wait is not None), default=None),
        "never_visible": never_visible(answered),
        "tokens": sum(tokens_spent(each.measurement, each.observation.exchange) for each in run.results),
        "findings": encode(run.findings),
        "body": pack(tuple(_details(result) for result in run.results)),
    }


def _status(run: Run) -> Status:
    """Nothing follows from a run that was cut short."""
    if run.cut_short:
        return Status.UNKNOWN
    return worst(verdict for result in run.results for verdict in result.verdicts)


def _result(run: Run, place: int, result: HopResult, *, quiet: bool) -> Row:
    past = past_of(run, result, quiet=quiet)
    return {
        "run_id": run.id,
        "place": place,
        "at": run.started_at,
        "status": worst(result.verdicts).value,
        "clean": past.clean,
        "numbers": encode(past.values),
        "fingerprint": encode(past.fingerprint),
    }


def _details(result: HopResult) -> StoredResult:
    return StoredResult(
        hop=result.hop,
        variant=result.variant,
        measurement=result.measurement,
        verdicts=result.verdicts,
        timeouts=result.timeouts,
        engine_version=result.engine_version,
        load=result.load,
    )


def _transcripts(run: Run, keep: Keep) -> Iterable[Row]:
    for place, result in enumerate(run.results):
        body = compressed(result.observation.exchange, keep.most_bytes)
        yield {"run_id": run.id, "place": place, "at": run.started_at, "bytes": len(body), "body": body}
