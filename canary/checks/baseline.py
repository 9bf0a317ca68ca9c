"""Is this hop worse than it usually is? Judged against its own history only, by `analysis.baseline`.

Two subjects: `speed` (what a user waits for, and tokens per second) and `reasoning` (how much of it, more or less).
Each is one verdict over several numbers, because they move together: one slowdown is one failure, under one name from
run to run. It fails where a number is beyond its limit in three of the last five runs, this one and four before it (or
more of them, where single ones often are): one slow answer is no regression, and one quick answer is not its end.

A hop that passes is `usual`, or `unsettled`: one of the five was beyond a limit, or their middle is more than halfway
there. That is no failure, and does not exonerate the hop where one above it fails either (`checks.faults`).

No history, or fewer than 20 examples, gives no verdict at all: a fresh install learns, and is not blind. Numbers of the
whole answer are judged only where the answer is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from canary.analysis.baseline import METRICS, Metric, Norm, Worse, norm_of
from canary.analysis.examples import RECENT, Examples, answers, examples_of
from canary.analysis.remember import values_of
from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, prober_fault, ruler_error_s, unusable
from canary.core.history import Past
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

NAME = "baseline"
SLOWER = "slower"
MORE_REASONING = "more_reasoning"
LESS_REASONING = "less_reasoning"
UNSETTLED = "unsettled"
_OF_A_PART = frozenset({"time_to_first_visible_content_s", "time_to_first_token_s", "time_to_first_reasoning_token_s"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """The numbers of the last runs, this one first, beside what is usual. `since`: what changed in between."""

    metric: Metric
    values: tuple[float, ...]
    norm: Norm
    since: tuple[str, ...]

    def passed(self, *, error_s: float = 0.0) -> float | None:
        """The limit that too many are beyond, even if our own stamps of this run are so much late."""
        late_s = error_s if self.metric.unit == "s" else 0.0
        return self.norm.passed((self.values[0] - late_s, *self.values[1:]))

    @property
    def unsettled(self) -> bool:
        return any(map(self.norm.beyond, self.values)) or self.norm.halfway(median(self.values))

    @property
    def words(self) -> str:
        """With the number in the middle of the last runs where too many of these are unusual."""
        said, was = _said(self.metric, self.observed), _said(self.metric, self.norm.usual)
        over = "" if self.passed() is None else f" in the last {len(self.values)} runs"
        return f"{self.metric.words} {said}{over}, usually {was}"

    @property
    def observed(self) -> float:
        return self.values[0] if self.passed() is None else median(self.values)


def check(evidence: Evidence) -> list[Verdict]:
    """No verdict on a subject of which too little is known yet."""
    if not evidence.history:
        return []
    fingerprint, now = evidence.measurement.fingerprint, evidence.observation.exchange.started_at
    known = examples_of(evidence.history, fingerprint, now)
    verdicts = (_judge(subject, metrics, evidence, known) for subject, metrics in METRICS.items())
    return [verdict for verdict in verdicts if verdict is not None]


def _judge(subject: str, metrics: Sequence[Metric], evidence: Evidence, known: Examples) -> Verdict | None:
    norms = [(metric, *norm_of(metric, known)) for metric in metrics]
    judged = [(metric, norm, since) for metric, norm, since in norms if norm is not None]
    if judged and (reason := unusable(evidence)):
        return cannot_judge(NAME, reason, subject=subject)
    values = _values(evidence)
    recent = answers(evidence.history)[: -RECENT - 1 : -1]
    compared = [
        _Compared(metric=metric, values=_numbers(metric.name, values, recent), norm=norm, since=since)
        for metric, norm, since in judged
        if metric.name in values
    ]
    if not compared:
        return None
    unusual = [each for each in compared if each.passed() is not None]
    if not unusual:
        return _usual(subject, compared)
    return _unusual(subject, unusual, ruler_error_s(evidence.measurement))


def _values(evidence: Evidence) -> Mapping[str, float]:
    """The numbers that this answer has; those of the whole only if it is whole."""
    values = values_of(evidence.measurement)
    whole = answer_over(evidence.observation)
    return values if whole else {name: value for name, value in values.items() if name in _OF_A_PART}


def _numbers(name: str, values: Mapping[str, float], recent: Sequence[Past]) -> tuple[float, ...]:
    return (values[name], *(past.values[name] for past in recent if name in past.values))


def _usual(subject: str, compared: Sequence[_Compared]) -> Verdict:
    first = next((each for each in compared if each.unsettled), None)
    if first is None:
        return _verdict(Status.PASS, "usual", compared[0].words, subject, compared[0])
    return _verdict(Status.PASS, UNSETTLED, f"{first.words}: too early to tell", subject, first)


def _unusual(subject: str, unusual: Sequence[_Compared], error_s: float) -> Verdict:
    certain = [each for each in unusual if each.passed(error_s=error_s) is not None]
    if not certain:
        return prober_fault(NAME, error_s, subject=subject)
    worst = certain[0]
    since = f", since {' and '.join(worst.since)}" if worst.since else ""
    told = dict.fromkeys((worst.words, certain[-1].words))
    message = f"{'; '.join(told)}{since}"
    return _verdict(Status.FAIL, _reason(worst), message, subject, worst)


def _reason(worst: _Compared) -> str:
    if worst.metric.worse is not Worse.EITHER:
        return SLOWER
    return MORE_REASONING if worst.passed() == worst.norm.high else LESS_REASONING


def _verdict(status: Status, reason: str, message: str, subject: str, about: _Compared) -> Verdict:
    nearest = about.norm.high if about.norm.high is not None else about.norm.low
    passed = about.passed()
    return Verdict(
        check=NAME,
        status=status,
        reason=reason,
        message=message,
        subject=subject,
        observed=about.observed,
        limit=nearest if passed is None else passed,
        unit=about.metric.unit,
    )


def _said(metric: Metric, value: float) -> str:
    if metric.unit == "s":
        return format_duration(value)
    if metric.unit == "share":
        return f"{value:.0%}"
    return f"{value:.0f} tokens" if metric.unit == "tokens" else f"{value:.1f} tokens/s"
