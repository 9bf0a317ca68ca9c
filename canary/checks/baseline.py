"""Is this hop worse than it usually is? Judged against its own history only; `analysis.baseline` has the rules.

Two subjects: `speed` (what a user waits for, and tokens per second) and `reasoning` (how much of it, more or less).
Each is one verdict over several numbers, because they move together: one slowdown is one failure, under one name from
run to run. It fails where a number is unusual in this run and was in at least two of the four before it: one slow
answer is no regression, and this run must be bad itself, so that the end of one shows at once.

No history, or fewer than 20 examples, gives no verdict at all: a fresh install learns, and is not blind. Numbers of the
whole answer are judged only where the answer is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canary.analysis.baseline import METRICS, RECENT, Metric, Norm, Usual, Worse, answers, usual
from canary.analysis.remember import values_of
from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, prober_fault, ruler_error_s, unusable
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

NAME = "baseline"
SLOWER = "slower"
MORE_REASONING = "more_reasoning"
LESS_REASONING = "less_reasoning"
_FAILURES = 3  # of this run and the RECENT ones before it
_OF_A_PART = frozenset({"time_to_first_visible_content_s", "time_to_first_token_s", "time_to_first_reasoning_token_s"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One number beside what is usual. `passed`: the limit that it is beyond; `times`: in how many of the last runs."""

    metric: Metric
    value: float
    norm: Norm
    since: tuple[str, ...]
    passed: float | None
    times: int

    @property
    def words(self) -> str:
        metric, said, was = self.metric, _said(self.metric, self.value), _said(self.metric, self.norm.usual)
        return f"{metric.words} {said}, usually {was}"


def check(evidence: Evidence) -> list[Verdict]:
    """No verdict on a subject of which too little is known yet."""
    if not evidence.history:
        return []
    fingerprint, now = evidence.measurement.fingerprint, evidence.observation.exchange.started_at
    known = usual(evidence.history, fingerprint, now)
    verdicts = (_judge(subject, metrics, evidence, known) for subject, metrics in METRICS.items())
    return [verdict for verdict in verdicts if verdict is not None]


def _judge(subject: str, metrics: Sequence[Metric], evidence: Evidence, known: Usual) -> Verdict | None:
    norms = [(metric, *known.norm(metric)) for metric in metrics]
    judged = [(metric, norm, since) for metric, norm, since in norms if norm is not None]
    if not judged:
        return None
    if reason := unusable(evidence):
        return cannot_judge(NAME, reason, subject=subject)
    values = _values(evidence)
    recent = answers(evidence.history)[-RECENT:]
    compared = [
        _compare(metric, values[metric.name], norm, since, [past.values for past in recent])
        for metric, norm, since in judged
        if metric.name in values
    ]
    if not compared:
        return None
    unusual = [each for each in compared if each.passed is not None and each.times >= _FAILURES]
    if not unusual:
        return _usual(subject, compared)
    return _unusual(subject, unusual, ruler_error_s(evidence.measurement))


def _values(evidence: Evidence) -> Mapping[str, float]:
    """The numbers that this answer has; those of the whole only if it is whole."""
    values = values_of(evidence.measurement)
    whole = answer_over(evidence.observation)
    return values if whole else {name: value for name, value in values.items() if name in _OF_A_PART}


def _compare(
    metric: Metric, value: float, norm: Norm, since: tuple[str, ...], recent: Sequence[Mapping[str, float]]
) -> _Compared:
    numbers = [value, *(values[metric.name] for values in recent if metric.name in values)]
    times = sum(norm.passed(number) is not None for number in numbers)
    return _Compared(metric=metric, value=value, norm=norm, since=since, passed=norm.passed(value), times=times)


def _usual(subject: str, compared: Sequence[_Compared]) -> Verdict:
    first = compared[0]
    once = next((each for each in compared if each.passed is not None), None)
    if once is not None:
        message = f"{once.words}: unusual, but not in {_FAILURES} of {RECENT + 1} runs"
        return _verdict(Status.PASS, "once", message, subject, once)
    return _verdict(Status.PASS, "usual", first.words, subject, first)


def _unusual(subject: str, unusual: Sequence[_Compared], error_s: float) -> Verdict:
    certain = [each for each in unusual if not _by_our_lag(each, error_s)]
    if not certain:
        return prober_fault(NAME, error_s, subject=subject)
    worst = certain[0]
    changed = f"; since {' and '.join(worst.since)}" if worst.since else ""
    message = f"{'; '.join(each.words for each in certain)} (of {worst.norm.count} runs){changed}"
    return _verdict(Status.FAIL, _reason(worst), message, subject, worst)


def _by_our_lag(compared: _Compared, error_s: float) -> bool:
    """Whether our own stamps may have put it beyond the limit."""
    return compared.metric.unit == "s" and compared.norm.passed(compared.value - error_s) is None


def _reason(worst: _Compared) -> str:
    if worst.metric.worse is not Worse.EITHER:
        return SLOWER
    return MORE_REASONING if worst.value > worst.norm.usual else LESS_REASONING


def _verdict(status: Status, reason: str, message: str, subject: str, about: _Compared) -> Verdict:
    limit = about.passed if about.passed is not None else _limit(about.norm)
    return Verdict(
        check=NAME,
        status=status,
        reason=reason,
        message=message,
        subject=subject,
        observed=about.value,
        limit=limit,
        unit=about.metric.unit,
    )


def _limit(norm: Norm) -> float | None:
    return norm.high if norm.high is not None else norm.low


def _said(metric: Metric, value: float) -> str:
    if metric.unit == "s":
        return format_duration(value)
    if metric.unit == "share":
        return f"{value:.0%}"
    return f"{value:.0f} tokens" if metric.unit == "tokens" else f"{value:.1f} tokens/s"
