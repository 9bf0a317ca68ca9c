"""How many time series a pipeline makes at most, so that no config buries the Prometheus that scrapes it.

Every answer (hop, probe, variant) has a line for each bucket of each histogram; some gauges and counters have further
labels, whose values multiply. Names come from the config only, never from what a target says, so all of it can be
counted before the first request. Series by reason are counted as if each check met a few: more come only with time.
"""

from __future__ import annotations

from math import prod

from canary.checks import CHECKS
from canary.core.metrics import ANSWER, BUCKETS_S, METRICS, RUN, Kind, Metric, Skip, TokenKind
from canary.core.spec import Assignment, Pipeline
from canary.core.timeout import Clock
from canary.core.verdict import Status

# One scrape of 100,000 series took 1.7 s and 14 MB on a small machine, and a scrape has 10 s unless told otherwise.
MAX_SERIES = 250_000

_LINES_OF_A_HISTOGRAM = len(BUCKETS_S) + 3  # buckets, +Inf, sum, count
_FEW = {"cause": 5, "status": 2, "reason": 2, "outcome": len(Status), "kind": len(TokenKind), "clock": len(Clock)}
_OTHERS = 5


def series_of(pipeline: Pipeline) -> int:
    return sum(_of_assignment(pipeline, assignment) for assignment in pipeline.assignments)


def _of_assignment(pipeline: Pipeline, assignment: Assignment) -> int:
    variants = 1 + len(assignment.budgets)
    per_run = sum(_lines(metric, RUN, assignment, timers=0) for metric in METRICS.values())
    return per_run + variants * sum(
        _lines(metric, ANSWER, assignment, timers=sum(len(above.timeouts) for above in pipeline.hops[:index]))
        for index, hop in enumerate(pipeline.hops)
        if hop.url is not None
        for metric in METRICS.values()
    )


def _lines(metric: Metric, of: tuple[str, ...], assignment: Assignment, *, timers: int) -> int:
    """Of one metric for one value of each label in `of`; 0 for a metric of something else."""
    if metric.labels[: len(of)] != of:
        return 0
    checks = assignment.probe.checks
    sizes = _FEW | {"timeout": timers, "check": len(CHECKS) if checks is None else len(checks)}
    if metric.labels[-1] == "reason" and "check" not in metric.labels:
        sizes["reason"] = len(Skip)
    lines = _LINES_OF_A_HISTOGRAM if metric.kind is Kind.HISTOGRAM else 1
    return lines * prod(sizes.get(label, _OTHERS) for label in metric.labels[len(of) :])
