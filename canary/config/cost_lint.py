"""Runs that may take longer than there is time until the next one, or use more tokens than they may."""

from __future__ import annotations

import math
from collections.abc import Iterator

from canary.config.estimate import Estimate, ProbeEstimate
from canary.config.lint_kind import Lint, LintKind
from canary.config.timetable import describe_schedule, shortest_gap_s
from canary.core.schedule import Every
from canary.core.spec import Assignment
from canary.core.units import format_duration


def cost_lints(estimate: Estimate) -> Iterator[Lint]:
    yield from _runs_overlap(estimate)
    yield from _never_run(estimate)
    yield from _over_limit(estimate)


def _runs_overlap(estimate: Estimate) -> Iterator[Lint]:
    for assignment, probe in zip(estimate.pipeline.assignments, estimate.probes, strict=True):
        gap_s = shortest_gap_s(assignment.schedule) if assignment.schedule else math.inf
        if gap_s < probe.longest_s:
            yield Lint(
                kind=LintKind.RUNS_OVERLAP,
                pipeline=estimate.pipeline.name,
                where=probe.probe,
                message=_overlap(assignment, probe, gap_s),
            )


def _overlap(assignment: Assignment, probe: ProbeEstimate, gap_s: float) -> str:
    schedule = describe_schedule(assignment.schedule)
    gap = "" if isinstance(assignment.schedule, Every) else f", which is {format_duration(gap_s)} apart at times"
    return (
        f"{schedule}{gap}: a run takes {format_duration(probe.longest_s)} when no hop answers within its deadline "
        f"({format_duration(assignment.deadline_s)} each), and the next one then drops out"
    )


def _never_run(estimate: Estimate) -> Iterator[Lint]:
    limit = estimate.pipeline.tokens_per_run
    for probe in estimate.probes:
        if limit is not None and probe.schedule is not None and probe.usual.total > limit:
            message = f"it never runs on schedule: a run may take {math.ceil(probe.usual.total)} tokens as a rule, "
            yield Lint(
                kind=LintKind.NEVER_RUN,
                pipeline=estimate.pipeline.name,
                where=probe.probe,
                message=f"{message}and tokens_per_run is {limit}",
            )


def _over_limit(estimate: Estimate) -> Iterator[Lint]:
    pipeline = estimate.pipeline
    run = max((probe.upper.total for probe in estimate.probes), default=0)
    limits = ((pipeline.tokens_per_run, run, "run"), (pipeline.tokens_per_day, estimate.upper_per_day.total, "day"))
    for limit, upper, span in limits:
        if limit is not None and upper > limit:
            yield Lint(
                kind=LintKind.OVER_TOKEN_LIMIT,
                pipeline=pipeline.name,
                where=pipeline.name,
                message=f"up to {math.ceil(upper)} tokens a {span} may be needed, and tokens_per_{span} is {limit}",
            )
