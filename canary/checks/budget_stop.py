"""How far an arm of a budget test goes: until it has told enough, so that nobody pays for the rest.

A treatment has told enough once it reasoned past twice its cap; a control, once it reasoned long enough; either, once
it is well into the answer that follows its reasoning. "Past twice the cap" is worth something only where a hop is known
to tell an answer from reasoning: where the whole answer comes in the reasoning field, an obedient model passes any cap.
So at a hop of which nothing is known yet, a treatment is followed past that, to the end of the little room it has: how
it ends, and its usage, may tell.
"""

from __future__ import annotations

from math import ceil

from canary.checks.reasoning_count import ReasoningMeter
from canary.core.budget import Budget
from canary.core.stream import StreamEvent

# How the reasons to stop begin.
OVER_BUDGET = "over budget"
LONG_ENOUGH = "long enough"
ANSWERED = "answered"
_ANSWER_CHARS = 160  # of visible text after reasoning: enough to see a stray mark or thinking that goes on


def control_tokens_needed(tokens: int) -> int:
    """How long the control must reason for a cap of `tokens` to be proved."""
    return max(4 * tokens, tokens + 200)


def treatment_max_tokens(tokens: int, allowance: int) -> int:
    """The least `max_tokens` with which neither obedience nor its opposite can be mistaken for a cut by length."""
    return max(tokens + allowance + 200, 2 * tokens + allowance + 50)


class _Counter:
    """Counts as the cap does: the longest block where the cap is per block."""

    def __init__(self, budget: Budget, chars_per_token: float | None) -> None:
        self.meter = ReasoningMeter(chars_per_token)
        self._per_block = budget.per_block

    def at_least(self, event: StreamEvent) -> float:
        self.meter.feed(event)
        count = self.meter.longest_block() if self._per_block else self.meter.total()
        return count.low if count else 0.0


class TreatmentRule:
    """Called with each event: the reason to stop once the cap was certainly passed twice over, else None.

    `follow`: nothing is known of this hop yet, see above.
    """

    def __init__(
        self, budget: Budget, tokens: int, *, chars_per_token: float | None = None, follow: bool = False
    ) -> None:
        self._counter = _Counter(budget, chars_per_token)
        self._limit = budget.twice(tokens)
        self._follow = follow

    def __call__(self, event: StreamEvent) -> str | None:
        low, meter = self._counter.at_least(event), self._counter.meter
        if low <= self._limit or (self._follow and meter.chars and not meter.ended):
            return None
        return f"{OVER_BUDGET}: at least {ceil(low)} reasoning tokens"


class ControlRule:
    """Called with each event: the reason to stop once the control has certainly reasoned long enough, else None."""

    def __init__(self, budget: Budget, tokens: int, *, chars_per_token: float | None = None) -> None:
        self._counter = _Counter(budget, chars_per_token)
        self._needed = control_tokens_needed(tokens)

    def __call__(self, event: StreamEvent) -> str | None:
        low = self._counter.at_least(event)
        return f"{LONG_ENOUGH}: at least {int(low)} reasoning tokens" if low >= self._needed else None


class AnsweredRule:
    """Stops an arm that is well into the visible answer after its reasoning: that is over."""

    def __init__(self) -> None:
        self._meter = ReasoningMeter()

    def __call__(self, event: StreamEvent) -> str | None:
        self._meter.feed(event)
        enough = self._meter.blocks and self._meter.answer_chars >= _ANSWER_CHARS
        return f"{ANSWERED}: {self._meter.answer_chars} visible characters" if enough else None
