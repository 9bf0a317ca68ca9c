"""Does a parameter with a tiny budget B shorten reasoning at this hop? Status 200 says nothing: most take any key.

Two arms with the same prompt: the control without the parameter, the treatment with it; optionally a third with the
key misspelt. E is what an obedient engine may show beyond B (`Budget.allowed_excess`).

1. An error in place of the answer: `rejected` (see `budget_arms`).
2. The treatment reasons past 2 B + E: `ignored`, and `TreatmentRule` stops the stream there, so that nobody pays for
   the rest. If it stopped by itself near a well-known least value (128, 1024, ...) and well below the control:
   `clamped`.
3. It ended past B + E: `overshoot`. Within: a candidate, no more.
4. A candidate is `honoured` only if the control reasoned at least max(4 B, B + 200) tokens: models that think briefly
   by themselves are the classic false pass. Else `inconclusive`, and a harder prompt comes next.
5. A cut by length, or by anybody, before the reasoning ended is never obedience.

Counts are ranges (`reasoning_count`); only the end of the range that cannot be wrong decides. Reasoning that a hop
hides is judged by what the engine reports; without a report, by the time to the first visible text, and then only if
the control's is more than three times as long. Switches are judged by presence; soft caps and levels by order alone
(`budget_order`), since a single pair proves nothing of them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from math import ceil

from canary.checks.budget_arms import Arms, Outcome, Reading, Ruling, answers, hides, read, refusal, verdict
from canary.checks.evidence import Evidence
from canary.checks.reasoning_count import ReasoningMeter, TokenRange, exactly
from canary.checks.visible_content import max_tokens
from canary.core.budget import Budget, BudgetKind
from canary.core.observation import StoppedByUs
from canary.core.spec import BudgetTest
from canary.core.stream import ReasoningForm, StreamEvent
from canary.core.units import format_duration
from canary.core.verdict import Verdict

OVER_BUDGET = "over budget"
LONG_ENOUGH = "long enough"

# Least values that vendors and gateways are known to raise to, and LiteLLM's budgets for effort words.
KNOWN_FLOORS = (128, 512, 1024, 2048, 4096, 8192, 16384)
_CLEARLY_BELOW = 0.7  # of the control
_TRACE_TOKENS = 8  # an empty block: two marks and newlines
_SWITCH_CONTROL_TOKENS = 50  # a control with less may be a model that does not think about this prompt
_TIMES_FASTER = 3.0
_OUT_OF_TOKENS = ("length", "max_tokens", "max_output_tokens")
_LEAST_DIFFERENCE_S = 1.0  # three times a tenth of a second is noise


def control_tokens_needed(tokens: int) -> int:
    """How long the control must reason for a cap of `tokens` to be proved."""
    return max(4 * tokens, tokens + 200)


def treatment_max_tokens(tokens: int, allowance: int) -> int:
    """The least `max_tokens` with which neither obedience nor its opposite can be mistaken for a cut by length."""
    return max(tokens + allowance + 200, 2 * tokens + allowance + 50)


class _Counter:
    """Counts as the cap does: the longest block where the cap is per block."""

    def __init__(self, budget: Budget, chars_per_token: float | None) -> None:
        self._meter = ReasoningMeter(chars_per_token)
        self._per_block = budget.per_block

    def at_least(self, event: StreamEvent) -> float:
        self._meter.feed(event)
        count = self._meter.longest_block() if self._per_block else self._meter.total()
        return count.low if count else 0.0


class TreatmentRule:
    """Call it with each event: the reason to stop once the cap was certainly passed twice over, else None."""

    def __init__(self, budget: Budget, tokens: int, *, chars_per_token: float | None = None) -> None:
        self._counter = _Counter(budget, chars_per_token)
        self._limit = 2 * tokens + budget.allowed_excess(tokens)

    def __call__(self, event: StreamEvent) -> str | None:
        low = self._counter.at_least(event)
        return f"{OVER_BUDGET}: at least {ceil(low)} reasoning tokens" if low > self._limit else None


class ControlRule:
    """Call it with each event: the reason to stop once the control has certainly reasoned long enough, else None."""

    def __init__(self, budget: Budget, tokens: int, *, chars_per_token: float | None = None) -> None:
        self._counter = _Counter(budget, chars_per_token)
        self._needed = control_tokens_needed(tokens)

    def __call__(self, event: StreamEvent) -> str | None:
        low = self._counter.at_least(event)
        return f"{LONG_ENOUGH}: at least {int(low)} reasoning tokens" if low >= self._needed else None


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


def judge_budget(test: BudgetTest, budget: Budget, arms: Arms, *, hop: str) -> Verdict:
    """The verdict on one parameter at one hop, from one pair of answers."""
    return verdict(test, hop, refusal(arms, budget) or _judge_answer(test, budget, arms))


def _judge_answer(test: BudgetTest, budget: Budget, arms: Arms) -> Ruling:
    control = read(arms.control, budget, arms.chars_per_token) if arms.control and answers(arms.control) else None
    arms = replace(arms, chars_per_token=arms.chars_per_token or _ratio_of(control))
    treatment = read(arms.treatment, budget, arms.chars_per_token)
    if elsewhere := _other_model(treatment, control):
        return _unclear(elsewhere)
    if budget.switches_off(test.asked):
        return _off(treatment, control)
    if budget.kind is BudgetKind.SWITCH:
        return _on(treatment, control)
    if budget.kind is BudgetKind.HARD_CAP and test.tokens is not None:
        return _Cap(budget, test.tokens, treatment, control).ruling(arms)
    return _unclear("it sets no absolute limit, so only the order of several values over repeats can be judged")


def _ratio_of(control: Reading | None) -> float | None:
    """Characters per token where the control tells both: the same question to the same model."""
    if control is None or control.count is None or not control.count.low or control.blocks != 1:
        return None
    return control.chars / control.count.low if control.count.exact else None


def _other_model(treatment: Reading, control: Reading | None) -> str | None:
    """A gateway may hide a refusal behind another model's answer."""
    head = treatment.evidence.observation.exchange.head
    fallbacks = head.headers.get("x-litellm-attempted-fallbacks", "0") if head else "0"
    if fallbacks not in ("", "0", "None"):
        return f"the gateway fell back to another model ({fallbacks} fallbacks)"
    answered = treatment.evidence.measurement.fingerprint.model
    expected = control.evidence.measurement.fingerprint.model if control else None
    if answered and expected and answered != expected:
        return f"{answered} answered with it, and {expected} without it"
    return None


class _Cap:
    """A hard cap of `tokens`: within = B + E, twice = 2 B + E."""

    def __init__(self, budget: Budget, tokens: int, treatment: Reading, control: Reading | None) -> None:
        excess = budget.allowed_excess(tokens)
        self.within = tokens + excess
        self.twice = 2 * tokens + excess
        self.needed = control_tokens_needed(tokens)
        self.tokens = tokens
        self.budget = budget
        self.treatment = treatment
        self.control = control

    def ruling(self, arms: Arms) -> Ruling:
        end = self.treatment.evidence.measurement.end
        if isinstance(end, StoppedByUs) and end.reason.startswith(OVER_BUDGET):
            return self._seen(Outcome.IGNORED, self.treatment.count or exactly(self.twice + 1), "stopped there")
        count = _shown_count(self.treatment, self.control)
        if count is None:
            return self._all_hidden() or _hidden(self.treatment, self.control)
        if count.low > self.twice:
            return self._past(count)
        if not self.treatment.settled:
            return _unclear(f"{_cut(self.treatment)} after {count}, before its reasoning had ended")
        return self._ended(count, arms)

    def _all_hidden(self) -> Ruling | None:
        """Nothing visible before the length ran out, and more was allowed than obedience could have hidden."""
        measurement = self.treatment.evidence.measurement
        allowed = max_tokens(self.treatment.evidence.observation.exchange.request)
        if allowed is None or allowed <= self.twice or measurement.finish_reason not in _OUT_OF_TOKENS:
            return None
        shown = measurement.visible_chars or measurement.tool_call_chars or measurement.refusal_chars
        if shown or self.control is None or not self.control.evidence.measurement.visible_chars:
            return None
        if not (hides(self.treatment) or hides(self.control)):
            return None
        because = f"reasoning is hidden here, and all of max_tokens={allowed} went by before anything visible"
        return Ruling(outcome=Outcome.IGNORED, because=because, observed=allowed, limit=self.within)

    def _past(self, count: TokenRange) -> Ruling:
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
            return _unclear(f"{count} is too rough a count against a limit of {self.within}")
        likely = count.best if count.best is not None else count.high
        if likely > self.within:
            return self._seen(Outcome.OVERSHOOT, count, self._without())
        return self._doubt(count, arms) or self._seen(Outcome.HONOURED, count, self._without())

    def _doubt(self, count: TokenRange, arms: Arms) -> Ruling | None:
        """Why an answer within the cap is no proof of it; None where it is one."""
        if self.control is None:
            return _unclear(f"{count}, and no usable answer without it to compare with")
        length = _length(self.control, self.needed)
        if length is not ControlLength.ENOUGH:
            return self._weak_control(count, length)
        nonsense = arms.nonsense
        if nonsense is None or not answers(nonsense):
            return None
        other = read(nonsense, self.budget, arms.chars_per_token)
        if other.settled and other.count is not None and other.count.high <= self.twice:
            return _unclear(
                f"{count}, but a misspelt key gave no more ({other.count}), so it need not be the parameter"
            )
        return None

    def _weak_control(self, count: TokenRange, length: ControlLength) -> Ruling:
        control = self.control.count if self.control else None
        if not count.high and (control is None or not control.high) and length is ControlLength.TOO_SHORT:
            return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it, and none without it")
        help_ = {
            ControlLength.TOO_SHORT: "a harder prompt is needed",
            ControlLength.CUT: "it was cut short",
            ControlLength.WEAK: "that count is too rough",
        }[length]
        alone = control if control is not None else "no reasoning text"
        return _unclear(f"{count}, but without it only {alone} where {self.needed} prove something; {help_}")

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


def _off(treatment: Reading, control: Reading | None) -> Ruling:
    """Off means no reasoning; a trace is what an empty block leaves."""
    count = _shown_count(treatment, control)
    if count is None:
        return _hidden(treatment, control)
    without = control.count if control else None
    if count.low > _TRACE_TOKENS:
        alone = control is not None and (without is None or without.high <= _TRACE_TOKENS) and control.settled
        outcome = Outcome.INVERTED if alone else Outcome.IGNORED
        because = f"{count}{', and none without it' if alone else ''}"
        return Ruling(outcome=outcome, because=because, observed=round(count.low), limit=_TRACE_TOKENS)
    if not treatment.settled:
        return _unclear(f"{_cut(treatment)} after {count}")
    if count.high > _TRACE_TOKENS:
        return _unclear(f"{count} is too rough a count to call it none")
    return _off_against(count, control)


def _off_against(count: TokenRange, control: Reading | None) -> Ruling:
    """No reasoning: because of the switch, if there was some without it."""
    if control is None:
        return _unclear("no reasoning, and no usable answer without it to compare with")
    if control.count is None or control.count.high <= _TRACE_TOKENS:
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it, and none without it")
    if control.count.low < _SWITCH_CONTROL_TOKENS:
        return _unclear(f"no reasoning, but without it only {control.count}; a harder prompt is needed")
    return Ruling(outcome=Outcome.HONOURED, because=f"{count}; without it {control.count}", observed=round(count.high))


def _on(treatment: Reading, control: Reading | None) -> Ruling:
    """On is proved only where reasoning is off without it."""
    count, without = _shown_count(treatment, control), control.count if control else None
    if count is None or count.high <= _TRACE_TOKENS:
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it; this prompt may need none")
    if control is None or not control.settled or (without is not None and without.high > _TRACE_TOKENS):
        return _unclear(f"{count}, and no answer without it that had none")
    return Ruling(outcome=Outcome.HONOURED, because=f"{count}; none without it", observed=round(count.low))


def _shown_count(treatment: Reading, control: Reading | None) -> TokenRange | None:
    """The treatment's count; zero where a hop that shows reasoning showed none; None where it may be hidden."""
    if treatment.count is not None:
        return treatment.count
    if treatment.present or control is None or not control.chars:
        return None
    unopened = ReasoningForm.UNOPENED_TAG in control.evidence.measurement.reasoning_forms
    if unopened and not treatment.finished:
        return None  # what looks visible may be reasoning that no mark has closed yet
    return exactly(0)


def _hidden(treatment: Reading, control: Reading | None) -> Ruling:
    """Neither text nor report. Time is left, if it is known that there is something to hide."""
    if control is None:
        return _unclear("no reasoning is shown or reported, and there is no usable answer without it to compare with")
    if control.chars:
        return _unclear(f"{_cut(treatment)} before it was clear what was reasoning")
    if not (hides(treatment) or hides(control)):
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning is shown or reported, with it or without it")
    first_s = treatment.evidence.measurement.time_to_first_visible_content_s
    control_s = control.evidence.measurement.time_to_first_visible_content_s
    if first_s is None or control_s is None:
        return _unclear("reasoning is hidden here, and an answer without visible text gives no time to compare")
    times = f"first visible text after {format_duration(first_s)}, without it after {format_duration(control_s)}"
    if control_s > _TIMES_FASTER * first_s and control_s - first_s >= _LEAST_DIFFERENCE_S:
        return Ruling(outcome=Outcome.HONOURED, because=f"reasoning is hidden here, but its time is not: {times}")
    return _unclear(f"reasoning is hidden here and its time tells too little: {times}")


def _length(control: Reading, needed: int) -> ControlLength:
    count = control.count
    if count is not None and count.low >= needed:
        return ControlLength.ENOUGH
    if not control.settled:
        return ControlLength.CUT
    return ControlLength.TOO_SHORT if count is None or count.high < needed else ControlLength.WEAK


def _cut(reading: Reading) -> str:
    finish = reading.evidence.measurement.finish_reason
    return f"the answer ended with finish_reason={finish}" if finish else "the answer broke off"


def _unclear(because: str) -> Ruling:
    return Ruling(outcome=Outcome.INCONCLUSIVE, because=because)
