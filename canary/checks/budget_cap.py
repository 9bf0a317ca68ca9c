"""A hard cap: enforced at the sampler, so that one pair of answers can prove it, or its absence.

E is what an obedient engine may show beyond the cap B (`Budget.allowed_excess`).

1. The treatment reasons past 2 B + E: `ignored`. It was stopped there. If it ended by itself near a well-known least
   value (128, 1024, ...) and well below the control: `clamped`. One that was stopped before such a value looks the same
   as `ignored`, and is no better for who asked for less.
2. It ended past B + E: `overshoot`. Within: a candidate, no more.
3. A candidate is `honoured` only if the control reasoned at least max(4 B, B + 200) tokens: models that think briefly
   by themselves are the classic false pass. Else `inconclusive`, and a harder prompt comes next.
4. A cut by length, or by anybody, before the reasoning ended is never obedience.
"""

from __future__ import annotations

from enum import StrEnum

from canary.checks.budget_arms import (
    Arms,
    Outcome,
    Reading,
    Ruling,
    alone,
    answers,
    cut_short,
    ended_alone,
    mixed,
    nothing_else,
    read,
    unclear,
)
from canary.checks.budget_hidden import by_time, shown_count, spent
from canary.checks.budget_stop import OVER_BUDGET, control_tokens_needed
from canary.checks.evidence import Evidence
from canary.checks.reasoning_count import TokenRange, exactly
from canary.core.budget import Budget, BudgetKind
from canary.core.observation import StoppedByUs
from canary.core.spec import BudgetTest

# Least values that vendors and gateways are known to raise to, and LiteLLM's budgets for effort words.
KNOWN_FLOORS = (128, 512, 1024, 2048, 4096, 8192, 16384)
_CLEARLY_BELOW = 0.7  # of the control


class ControlLength(StrEnum):
    """Whether a control can prove a cap, and what would help if not."""

    ENOUGH = "enough"
    TOO_SHORT = "too_short"  # a harder prompt
    CUT = "cut"  # a larger max_tokens, or a longer deadline
    WEAK = "weak"  # better counts: usage, or a learned ratio
    UNUSABLE = "unusable"  # another try


def control_length(
    budget: Budget, tokens: int, control: Evidence | None, chars_per_token: float | None
) -> ControlLength:
    if control is None or not answers(control):
        return ControlLength.UNUSABLE
    return _length(read(control, budget, chars_per_token), control_tokens_needed(tokens))


def needs_witness(test: BudgetTest, budget: Budget, treatment: Evidence, chars_per_token: float | None) -> bool:
    """Whether the cap was passed by an answer that leaves open whether this hop tells answers from reasoning."""
    if test.tokens is None or budget.kind is not BudgetKind.HARD_CAP:
        return False
    reading = read(treatment, budget, chars_per_token)
    past = reading.count is not None and reading.count.low > budget.twice(test.tokens)
    return past and alone(reading) and not reading.finished


class Cap:
    """A hard cap of `tokens`: within = B + E, twice = 2 B + E."""

    def __init__(self, budget: Budget, tokens: int, treatment: Reading, control: Reading | None) -> None:
        self.within = tokens + budget.allowed_excess(tokens)
        self.twice = budget.twice(tokens)
        self.needed = control_tokens_needed(tokens)
        self.tokens = tokens
        self.budget = budget
        self.treatment = treatment
        self.control = control

    def ruling(self, arms: Arms) -> Ruling:
        end = self.treatment.evidence.measurement.end
        stopped = isinstance(end, StoppedByUs) and end.reason.startswith(OVER_BUDGET)
        count = shown_count(self.treatment, self.control)
        if count is None and not stopped:
            hidden = spent(self.treatment, self.control, within=self.within, twice=self.twice)
            return hidden or by_time(self.treatment, self.control)
        count = count or exactly(self.twice + 1)  # the rule knew more than the record
        if stopped or count.low > self.twice:
            return self._past(count, arms, stopped=stopped)
        if not self.treatment.settled:
            return unclear(f"{cut_short(self.treatment)} after {count}, before its reasoning had ended")
        return unclear(nothing_else(count)) if self._mixed(arms) else self._ended(count, arms)

    def _mixed(self, arms: Arms) -> bool:
        return mixed(self.treatment, self.control, self._nonsense(arms), separates=arms.separates)

    def _past(self, count: TokenRange, arms: Arms, *, stopped: bool) -> Ruling:
        """What finished with nothing but reasoning tells of itself that the answer is among it."""
        if self._mixed(arms) or ended_alone(self.treatment):
            return unclear(nothing_else(count))
        if stopped:
            return self._seen(Outcome.IGNORED, count, "stopped there")
        floor = self._floor(count)
        if floor is not None:
            return self._seen(Outcome.CLAMPED, count, f"as with a budget of {floor}, {self._without()}")
        return self._seen(Outcome.IGNORED, count, self._without())

    def _floor(self, count: TokenRange) -> int | None:
        """The well-known least value that the treatment ended near, if the control went on far beyond."""
        ended = count.low if count.best is None else count.best
        control = self.control.count if self.control else None
        if not self.treatment.settled or control is None or count.high > _CLEARLY_BELOW * control.low:
            return None
        slack = self.within - self.tokens
        floors = (floor for floor in KNOWN_FLOORS if floor > self.twice)
        return next((floor for floor in floors if 0.9 * floor <= ended <= 1.1 * floor + slack), None)

    def _ended(self, count: TokenRange, arms: Arms) -> Ruling:
        straddles = count.best is None and count.low <= self.within < count.high
        if straddles or count.high > self.twice:
            return unclear(f"{count} is too rough a count against a limit of {self.within}")
        likely = count.best if count.best is not None else count.high
        if likely > self.within:
            return self._seen(Outcome.OVERSHOOT, count, self._without())
        return self._doubt(count, arms) or self._seen(Outcome.HONOURED, count, self._without())

    def _doubt(self, count: TokenRange, arms: Arms) -> Ruling | None:
        """Why an answer within the cap is no proof of it; None where it is one."""
        if self.control is None:
            return unclear(f"{count}, and no usable answer without it to compare with")
        if self.treatment.chars and not self.treatment.ended and mixed(self.control, separates=bool(arms.separates)):
            return unclear(f"{count}, but without it {nothing_else(self.control.count or count)}")
        length = _length(self.control, self.needed)
        if length is not ControlLength.ENOUGH:
            return self._weak_control(count, length)
        other = self._nonsense(arms)
        if other is not None and other.settled and other.count is not None and other.count.high <= self.twice:
            return unclear(f"{count}, but a misspelt key gave no more ({other.count}), so it need not be the parameter")
        return None

    def _nonsense(self, arms: Arms) -> Reading | None:
        if arms.nonsense is None or not answers(arms.nonsense):
            return None
        return read(arms.nonsense, self.budget, arms.chars_per_token)

    def _weak_control(self, count: TokenRange, length: ControlLength) -> Ruling:
        control = self.control.count if self.control else None
        if not count.high and (control is None or not control.high) and length is ControlLength.TOO_SHORT:
            return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it, and none without it")
        help_ = {
            ControlLength.TOO_SHORT: "a harder prompt is needed",
            ControlLength.CUT: "it was cut short",
            ControlLength.WEAK: "that count is too rough",
        }[length]
        seen = control if control is not None else "no reasoning text"
        return unclear(f"{count}, but without it only {seen} where {self.needed} prove something; {help_}")

    def _without(self) -> str:
        if self.control is None or self.control.count is None:
            return "no control"
        least = "" if self.control.settled else "at least "
        return f"without it {least}{self.control.count}"

    def _seen(self, outcome: Outcome, count: TokenRange, more: str) -> Ruling:
        blocks = f" in the longest of {self.treatment.blocks} blocks" if self._by_block() else ""
        because = f"{count}{blocks}, limit {self.within}; {more}"
        observed = count.best if count.best is not None and outcome is not Outcome.IGNORED else count.low
        return Ruling(outcome=outcome, because=because, observed=round(observed), limit=self.within)

    def _by_block(self) -> bool:
        return self.budget.per_block and self.treatment.blocks > 1


def _length(control: Reading, needed: int) -> ControlLength:
    count = control.count
    if count is not None and count.low >= needed:
        return ControlLength.ENOUGH
    if not control.settled:
        return ControlLength.CUT
    return ControlLength.TOO_SHORT if count is None or count.high < needed else ControlLength.WEAK
