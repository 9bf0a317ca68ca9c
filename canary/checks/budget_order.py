"""Soft caps and levels: does asking for less give less? Never an absolute limit, because none is promised.

Single answers vary by more than one level does, so each value is asked at least three times, and the values are
compared by their medians *and* by their extremes: two sets of three are apart by chance in one of twenty pairs. Flat is
`ignored`, less for more is `inverted`, anything between is `inconclusive`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from canary.checks.budget_arms import (
    Arms,
    Outcome,
    Reading,
    Ruling,
    answers,
    ended_alone,
    hides,
    read,
    unclear,
    verdict,
)
from canary.checks.budget_refusal import refusal
from canary.checks.evidence import Evidence
from canary.core.budget import Budget, BudgetKind
from canary.core.spec import BudgetTest
from canary.core.verdict import Verdict

LEAST_REPEATS = 3
_TIMES_MORE = 1.3
_CLEARLY_MORE = 8
_LEAST_TOKENS = 20


def needs_order(test: BudgetTest, budget: Budget) -> bool:
    """What asks for no reasoning at all is judged by presence, whatever its kind."""
    return budget.kind in (BudgetKind.SOFT_CAP, BudgetKind.LEVEL) and not budget.switches_off(test.asked)


def values_in_order(test: BudgetTest, budget: Budget) -> tuple[str | int, ...]:
    """The tested value and one that asks for clearly more, or less where it is among the highest; less first."""
    if test.tokens is not None:
        return (test.tokens, _CLEARLY_MORE * test.tokens)
    value = str(test.value)
    rank = {level: index for index, level in enumerate(budget.levels)}
    contrasts = (
        ("low", "medium", "minimal") if rank.get(value, 0) >= rank.get("high", len(rank)) else ("high", "medium")
    )
    other = next((level for level in contrasts if level in rank and level != value), value)
    return tuple(sorted({value, other}, key=lambda level: rank.get(level, 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One value and its repeats."""

    value: str
    repeats: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amounts:
    """How much the repeats of one value reasoned, in tokens, or in characters where tokens are not known everywhere."""

    value: str
    each: tuple[float, ...]
    settled: bool

    @property
    def middle(self) -> float:
        return median(self.each)


def judge_order(
    test: BudgetTest, budget: Budget, levels: Sequence[Level], *, hop: str, control: Evidence | None = None
) -> Verdict:
    """`levels` from least reasoning asked for to most. `control`: an answer without the parameter, if there is one."""
    for level in levels:
        for repeat in level.repeats:
            refused = refusal(Arms(treatment=repeat, control=control), budget)
            if refused is not None and refused.outcome in (Outcome.REJECTED, Outcome.MISCONFIGURED):
                return verdict(test, hop, Ruling(outcome=refused.outcome, because=f"{level.value}: {refused.because}"))
    return verdict(test, hop, _by_order(budget, levels))


def _by_order(budget: Budget, levels: Sequence[Level]) -> Ruling:
    readings = {
        level.value: [read(repeat, budget, None) for repeat in level.repeats if answers(repeat)] for level in levels
    }
    few = [value for value, found in readings.items() if len(found) < LEAST_REPEATS]
    if len(levels) < 2 or few:
        return unclear(
            f"order takes two values and {LEAST_REPEATS} usable answers for each; too few for {', '.join(few)}"
        )
    every = [reading for found in readings.values() for reading in found]
    if any(map(ended_alone, every)):
        return unclear("some answers were nothing but reasoning, so what was to be seen may stand among it")
    amounts, unit = _amounts(readings)
    if amounts is None:
        return unclear("reasoning is hidden here and its tokens are not reported")
    if not any(level.middle for level in amounts):
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with any value")
    seen = ", ".join(f"{level.value} {level.middle:.0f}" for level in amounts)
    return _compare(amounts, f"reasoning {unit} by value: {seen}")


def _compare(amounts: Sequence[_Amounts], seen: str) -> Ruling:
    first, last = amounts[0], amounts[-1]
    for less, more in pairwise(amounts):
        if _clearly_more(less, more):
            return Ruling(outcome=Outcome.INVERTED, because=f"{seen}; {less.value} gives more than {more.value}")
    if cut := [level.value for level in amounts[:-1] if not level.settled]:
        return unclear(f"{seen}; answers for {', '.join(cut)} were cut before their reasoning ended")
    if _clearly_more(last, first):
        return Ruling(outcome=Outcome.HONOURED, because=seen)
    if last.settled and not _much_more(max(a.middle for a in amounts), min(a.middle for a in amounts)):
        return Ruling(outcome=Outcome.IGNORED, because=f"{seen}; the value makes no difference")
    return unclear(f"{seen}; the answers vary too much to tell")


def _clearly_more(more: _Amounts, less: _Amounts) -> bool:
    return less.settled and _much_more(more.middle, less.middle) and min(more.each) > max(less.each)


def _much_more(more: float, less: float) -> bool:
    return more >= _TIMES_MORE * less and more - less >= _LEAST_TOKENS


def _amounts(readings: dict[str, list[Reading]]) -> tuple[list[_Amounts] | None, str]:
    """In tokens where every answer tells them, else in characters; None where reasoning is hidden and not reported."""
    every = [reading for found in readings.values() for reading in found]
    shown = any(reading.chars for reading in every)
    exact = all(reading.count is None or reading.count.exact for reading in every)
    if not shown and any(reading.count is None and hides(reading) for reading in every):
        return None, ""
    return [
        _Amounts(
            value=value,
            each=tuple(_tokens(reading) if exact else float(reading.chars) for reading in found),
            settled=all(reading.settled for reading in found),
        )
        for value, found in readings.items()
    ], "tokens" if exact else "characters"


def _tokens(reading: Reading) -> float:
    return reading.count.low if reading.count else 0.0
