"""A stored run as it was made, as far as its streams were kept: the same decoder reads them again."""

from __future__ import annotations

from canary.core.kept import StoredResult, StoredRun
from canary.core.run import HopResult, Run
from canary.wire.decode import decode
from canary.wire.transcript import loads


def run_of(stored: StoredRun) -> Run:
    """With those of its results whose streams were kept."""
    row = stored.row
    return Run(
        id=row.id,
        pipeline=row.pipeline,
        probe=row.probe,
        started_at=row.started_at,
        results=tuple(result for each in stored.results if (result := result_of(each)) is not None),
        findings=row.findings,
        finished_at=row.finished_at,
        cut_short=row.cut_short,
    )


def result_of(stored: StoredResult) -> HopResult | None:
    """None: its stream was not kept."""
    if stored.transcript is None:
        return None
    return HopResult(
        hop=stored.hop,
        variant=stored.variant,
        observation=decode(loads(stored.transcript, source=stored.hop)),
        measurement=stored.measurement,
        verdicts=stored.verdicts,
        timeouts=stored.timeouts,
        engine_version=stored.engine_version,
        load=stored.load,
    )
