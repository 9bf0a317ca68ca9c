"""How many time series a pipeline makes at most, so that no config buries the Prometheus that scrapes it.

Every answer (hop, probe, variant) has a line for each bucket of each histogram; some gauges and counters have further
labels, whose values multiply. Names come from the config only, never from what a target says, so all of it can be
counted before the first request. Series by reason are counted as if each check met a few: more come only with time.
"""

from __future__ import annotations

from math import prod

from canary.checks import CHECKS
from canary.checks.visible_content import CAUSES
from canary.core.metrics import ANSWER, BUCKETS_S, METRICS, RUN, Kind, Skip, TokenKind
from canary.core.run import CutShort
from canary.core.spec import Assignment, Pipeline
from canary.core.timeout import Clock
from canary.core.verdict import Status

# One scrape of 100,000 series took 1.7 s and 14 MB on a small machine, and a scrape has 10 s unless told otherwise.
MAX_SERIES = 250_000

_LINES_OF_A_HISTOGRAM = len(BUCKETS_S) + 3  # buckets, +Inf, sum, count
_FEW = {
    "cause": len(CAUSES),
    "status": 1,  # a reason has hardly more than one
    "reason": len(Skip),
    "outcome": len(Status) + len(CutShort),
    "kind": len(TokenKind),
    "clock": len(Clock),
}
_OTHERS = 5  # of a label that nobody thought of here
KNOWN_LABELS = frozenset({*_FEW, "check", "timeout"})


def series_of(pipeline: Pipeline) -> int:
    return sum(_of_assignment(pipeline, assignment) for assignment in pipeline.assignments)


def _of_assignment(pipeline: Pipeline, assignment: Assignment) -> int:
    """Only the timers that watch a hop, which are those above it, differ between hops."""
    variants, timers, watched, probed = 1 + len(assignment.budgets), 0, 0, 0
    for hop in pipeline.hops:
        if hop.url is not None:
            watched, probed = watched + timers, probed + 1
        timers += len(hop.timeouts)
    without, with_one = (_lines(ANSWER, assignment, timers=number) for number in (0, 1))
    return _lines(RUN, assignment, timers=0) + variants * (probed * without + watched * (with_one - without))


def _lines(of: tuple[str, ...], assignment: Assignment, *, timers: int) -> int:
    """Of all metrics whose labels begin with `of`, for one value of each of these."""
    checks = assignment.probe.checks
    sizes = _FEW | {"timeout": timers, "check": len(CHECKS) if checks is None else len(checks)}
    return sum(
        (_LINES_OF_A_HISTOGRAM if metric.kind is Kind.HISTOGRAM else 1)
        * prod(sizes.get(label, _OTHERS) for label in metric.labels[len(of) :])
        for metric in METRICS.values()
        if metric.labels[: len(of)] == of
    )
