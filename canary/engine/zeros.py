"""Counters that are known before anything was counted: shown as zero, so that the first event is an increase.

Prometheus cannot see the step of a series that is born as a one: `increase()` of it is nothing, and an alert on the
first failure never fires (https://prometheus.io/docs/practices/instrumentation/#avoid-missing-metrics). So what the
plan lets come is there from the beginning. Left out are the verdicts, of which there are too many that never come, and
the arms of budget tests, most of which we stop before they could be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from canary.checks.visible_content import CAUSES
from canary.core import metrics
from canary.core.metrics import Sending, Skip, TokenKind
from canary.core.run import CONTROL, PLAIN, CutShort
from canary.core.snapshot import Series
from canary.core.spec import Assignment, Pipeline, Plan
from canary.core.verdict import Status

OUTCOMES = (*(status.lower() for status in Status), *CutShort)  # of a run

# By metric, the values of its last label; one empty text where it has no further label.
_OF_AN_ANSWER: Mapping[str, Iterable[str]] = MappingProxyType(
    {
        metrics.FIRST_REASONING: ("",),
        metrics.FIRST_VISIBLE: ("",),
        metrics.FIRST_TOKEN: ("",),
        metrics.DURATION: ("",),
        metrics.FIRST_VISIBLE_MISSING: ("",),
        metrics.ZERO_VISIBLE: CAUSES,
        metrics.TOKENS: TokenKind,
    }
)
_OF_A_RUN: Mapping[str, Iterable[str]] = MappingProxyType({metrics.RUNS: OUTCOMES, metrics.RUNS_SKIPPED: Skip})


def zeros(plan: Plan) -> Iterator[Series]:
    for pipeline in plan.pipelines:
        for assignment in pipeline.assignments:
            yield from _of((pipeline.name, assignment.probe.name), _OF_A_RUN)
            for place in _places(pipeline, assignment):
                yield from _of(place, _OF_AN_ANSWER)
    for kind in sorted({receiver.kind for receiver in plan.receivers}):
        yield from _of((kind,), {metrics.NOTIFICATIONS: Sending})


def _places(pipeline: Pipeline, assignment: Assignment) -> Iterator[tuple[str, ...]]:
    """Of the whole answers. The values of `core.metrics.ANSWER`."""
    variant = CONTROL if assignment.budgets else PLAIN
    for hop in pipeline.hops:
        if hop.url is not None:
            yield pipeline.name, hop.name, assignment.probe.name, variant


def _of(labels: tuple[str, ...], metric_values: Mapping[str, Iterable[str]]) -> Iterator[Series]:
    for metric, values in metric_values.items():
        for value in values:
            yield Series(metric=metric, labels=(*labels, str(value)) if value else labels)
