"""Switches, and values that ask for no reasoning at all: judged by presence."""

from __future__ import annotations

from canary.checks.budget_arms import (
    Outcome,
    Reading,
    Ruling,
    alone,
    cut_short,
    ended_alone,
    mixed,
    nothing_else,
    unclear,
)
from canary.checks.budget_hidden import by_time, shown_count
from canary.checks.reasoning_count import TokenRange

_TRACE_TOKENS = 8  # an empty block: two marks and newlines
_SWITCH_CONTROL_TOKENS = 50  # a control with less may be a model that does not think about this prompt


def off(treatment: Reading, control: Reading | None, *, separates: bool | None) -> Ruling:
    """Off means no reasoning; a trace is what an empty block leaves."""
    count = shown_count(treatment, control)
    if count is None:
        return by_time(treatment, control)
    without = control.count if control else None
    if count.low > _TRACE_TOKENS:
        if mixed(treatment, control, separates=separates) or ended_alone(treatment):
            return unclear(nothing_else(count))
        inverted = control is not None and (without is None or without.high <= _TRACE_TOKENS) and control.settled
        outcome = Outcome.INVERTED if inverted else Outcome.IGNORED
        because = f"{count}{', and none without it' if inverted else ''}"
        return Ruling(outcome=outcome, because=because, observed=round(count.low), limit=_TRACE_TOKENS)
    if not treatment.settled:
        return unclear(f"{cut_short(treatment)} after {count}")
    if count.high > _TRACE_TOKENS:
        return unclear(f"{count} is too rough a count to call it none")
    return _off_against(count, control)


def _off_against(count: TokenRange, control: Reading | None) -> Ruling:
    """No reasoning: because of the switch, if there was some without it."""
    if control is None:
        return unclear("no reasoning, and no usable answer without it to compare with")
    if control.count is None or control.count.high <= _TRACE_TOKENS:
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it, and none without it")
    if control.count.low < _SWITCH_CONTROL_TOKENS:
        return unclear(f"no reasoning, but without it only {control.count}; a harder prompt is needed")
    return Ruling(outcome=Outcome.HONOURED, because=f"{count}; without it {control.count}", observed=round(count.high))


def on(treatment: Reading, control: Reading | None) -> Ruling:
    """On is proved only where reasoning is off without it."""
    count, without = shown_count(treatment, control), control.count if control else None
    if count is None or count.high <= _TRACE_TOKENS:
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning with it; this prompt may need none")
    if alone(treatment):
        return unclear(nothing_else(count))
    if control is None or not control.settled or (without is not None and without.high > _TRACE_TOKENS):
        return unclear(f"{count}, and no answer without it that had none")
    return Ruling(outcome=Outcome.HONOURED, because=f"{count}; none without it", observed=round(count.low))
