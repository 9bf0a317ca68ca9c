"""Did the first visible word come in time? Judged only where the probe names a limit.

A first visible word that never came is a failure here too, never a missing value that drops out.
"""

from __future__ import annotations

from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, prober_fault, ruler_error_s, unknown, unusable
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

NAME = "first_visible"


def check(evidence: Evidence) -> list[Verdict]:
    limit_s = evidence.first_visible_limit_s
    if limit_s is None:
        return []
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    measurement = evidence.measurement
    first_s = measurement.time_to_first_visible_content_s
    if first_s is None:
        return [_never(evidence, limit_s)]
    error_s = ruler_error_s(measurement)
    if first_s - error_s <= limit_s < first_s:
        return [prober_fault(NAME, error_s)]
    late = first_s > limit_s
    message = f"first visible text after {format_duration(first_s)}, limit {format_duration(limit_s)}"
    return [_verdict(Status.FAIL if late else Status.PASS, "late" if late else "in_time", message, first_s, limit_s)]


def _never(evidence: Evidence, limit_s: float) -> Verdict:
    total_s = evidence.measurement.total_s
    if not answer_over(evidence.observation) and total_s <= limit_s:
        message = (
            f"the stream broke off after {format_duration(total_s)}, before the limit of {format_duration(limit_s)}"
        )
        return unknown(NAME, "cut", message)
    message = f"no visible text in {format_duration(total_s)}, limit {format_duration(limit_s)}"
    return _verdict(Status.FAIL, "never", message, None, limit_s)


def _verdict(status: Status, reason: str, message: str, observed: float | None, limit_s: float) -> Verdict:
    return Verdict(
        check=NAME, status=status, reason=reason, message=message, observed=observed, limit=limit_s, unit="s"
    )
