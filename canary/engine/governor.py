"""Probing costs money: who stops when a pipeline's tokens run short, and in which order. Pure.

`tokens_per_run` stops a probe whose run usually takes more. `tokens_per_day` is a limit from midnight to midnight UTC,
and each probe yields to the cheaper ones of its pipeline: it runs only while the day's rest still holds its own usual
cost and all runs that the cheaper ones have left today. So deep probes stop first, long before the limit, and the cheap
ones that tell whether anything answers at all go on to midnight. What a run really used is counted, not estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from canary.core.units import format_duration

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one probe of a pipeline usually takes."""

    tokens_per_run: float
    runs_per_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """A pipeline's limits, and what is known of its probes by name."""

    tokens_per_run: int | None
    tokens_per_day: int | None
    costs: Mapping[str, Cost]


def objection(allowance: Allowance, probe: str, *, spent: float, now: datetime) -> str | None:
    """Why `probe` must not run now, in a sentence; None: it may. `spent`: tokens of its pipeline since midnight UTC."""
    cost = allowance.costs.get(probe)
    if cost is None:
        return None
    if allowance.tokens_per_run is not None and cost.tokens_per_run > allowance.tokens_per_run:
        return (
            f"a run usually takes {cost.tokens_per_run:,.0f} tokens, and tokens_per_run is {allowance.tokens_per_run:,}"
        )
    if allowance.tokens_per_day is None:
        return None
    left = allowance.tokens_per_day - spent
    kept = _kept_for_cheaper(allowance.costs, cost, rest_s=_rest_of_day_s(now))
    if cost.tokens_per_run + kept <= left:
        return None
    used = f"{spent:,.0f} of {allowance.tokens_per_day:,} tokens a day are used"
    keeping = f", {kept:,.0f} are kept for cheaper probes" if kept else ""
    until = format_duration(_rest_of_day_s(now))
    return f"{used}{keeping} and a run usually takes {cost.tokens_per_run:,.0f}; the day ends in {until}"


def _kept_for_cheaper(costs: Mapping[str, Cost], mine: Cost, *, rest_s: float) -> float:
    cheaper = (each for each in costs.values() if each.tokens_per_run < mine.tokens_per_run)
    return sum(each.tokens_per_run * each.runs_per_day * rest_s / _DAY_S for each in cheaper)


def _rest_of_day_s(now: datetime) -> float:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return _DAY_S - (now - midnight).total_seconds()
