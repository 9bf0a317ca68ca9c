"""A budget at a hop that does not show reasoning: no text to count, so reports, lengths and times are left.

Reasoning that a hop hides is judged by what the engine reports; without a report, by a length that ran out before
anything visible came, or by the time to the first visible text, and then only if the control's is more than three times
as long.
"""

from __future__ import annotations

from canary.checks.budget_arms import OUT_OF_TOKENS, Outcome, Reading, Ruling, cut_short, hides, unclear
from canary.checks.reasoning_count import TokenRange, exactly
from canary.checks.visible_content import max_tokens
from canary.core.stream import ReasoningForm
from canary.core.units import format_duration

_TIMES_FASTER = 3.0
_LEAST_DIFFERENCE_S = 1.0  # three times a tenth of a second is noise


def shown_count(treatment: Reading, control: Reading | None) -> TokenRange | None:
    """The treatment's count; zero where a hop that shows reasoning showed none; None where it may be hidden."""
    if treatment.count is not None:
        return treatment.count
    if treatment.present or control is None or not control.chars:
        return None
    unopened = ReasoningForm.UNOPENED_TAG in control.evidence.measurement.reasoning_forms
    if unopened and not treatment.finished:
        return None  # what looks visible may be reasoning that no mark has closed yet
    return exactly(0)


def spent(treatment: Reading, control: Reading | None, *, within: int, twice: int) -> Ruling | None:
    """Nothing visible before the length ran out, and more was allowed than obedience could have hidden."""
    measurement = treatment.evidence.measurement
    allowed = max_tokens(treatment.evidence.observation.exchange.asked)
    if allowed is None or allowed <= twice or measurement.finish_reason not in OUT_OF_TOKENS:
        return None
    shown = measurement.visible_chars or measurement.tool_call_chars or measurement.refusal_chars
    if shown or control is None or not control.evidence.measurement.visible_chars:
        return None
    if not (hides(treatment) or hides(control)):
        return None
    because = f"reasoning is hidden here, and all of max_tokens={allowed} went by before anything visible"
    return Ruling(outcome=Outcome.IGNORED, because=because, observed=allowed, limit=within)


def by_time(treatment: Reading, control: Reading | None) -> Ruling:
    """Neither text nor report. Time is left, if it is known that there is something to hide."""
    if control is None:
        return unclear("no reasoning is shown or reported, and there is no usable answer without it to compare with")
    if control.chars:
        return unclear(f"{cut_short(treatment)} before it was clear what was reasoning")
    if not (hides(treatment) or hides(control)):
        return Ruling(outcome=Outcome.NO_REASONING, because="no reasoning is shown or reported, with it or without it")
    first_s = treatment.evidence.measurement.time_to_first_visible_content_s
    control_s = control.evidence.measurement.time_to_first_visible_content_s
    if first_s is None or control_s is None:
        return unclear("reasoning is hidden here, and an answer without visible text gives no time to compare")
    times = f"first visible text after {format_duration(first_s)}, without it after {format_duration(control_s)}"
    if control_s > _TIMES_FASTER * first_s and control_s - first_s >= _LEAST_DIFFERENCE_S:
        return Ruling(outcome=Outcome.HONOURED, because=f"reasoning is hidden here, but its time is not: {times}")
    return unclear(f"reasoning is hidden here and its time tells too little: {times}")
