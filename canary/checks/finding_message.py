"""What a finding says: full sentences with the numbers of its evidence, the way one colleague tells another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from canary.checks.faults import Cause, Fault
from canary.core.finding import HopVerdict, never_reached
from canary.core.units import format_duration, plural
from canary.core.verdict import Status

_HEADLINES: Mapping[str, str] = MappingProxyType(
    {
        "reachable": "{hop} gives no usable answer",
        "complete": "the stream of {hop} does not end as it should",
        "visible_content": "nothing visible comes from {hop}",
        "idle_timeout": "{subject} would cut the stream of {hop}",
        "first_visible": "the first visible text of {hop} comes too late",
        "budget": "`{subject}` does not do at {hop} what is expected",
        "streaming": "{hop} holds back what it is to pass on",
        "reasoning_leak": "reasoning leaks into the answer of {hop}",
        "answer": "the answer of {hop} is wrong",
    }
)


_BY_REASON: Mapping[str, str] = MappingProxyType(
    {
        "slower": "{hop} is slower than usual",
        "more_reasoning": "{hop} reasons more than usual",
        "less_reasoning": "{hop} reasons less than usual",
    }
)


def message_of(
    cause: Cause, hops: Sequence[str], affected: Sequence[str], *, of_variants: int, load: HopVerdict | None = None
) -> str:
    """Where, what, and what follows from it. `load`: what the engine says of itself."""
    fault = cause.fault
    sentences = [f"{_capital(_headline(fault, hops))}: {_both_sides(fault, hops)}."]
    if affected:
        sentences.append(f"{_capital(_names(affected))} {'is' if len(affected) == 1 else 'are'} affected.")
    if down := _down_by_themselves(cause, hops):
        sentences.append(f"{_names(down)} cannot be reached either, which this does not explain.")
    if load is not None:
        sentences.append(_of_itself(load, fault))
    if also := _also(cause):
        sentences.append(f"This explains {_names(also)} too.")
    if len(cause.variants) > 1:
        sentences.append(f"Seen in {len(cause.variants)} of {plural(of_variants, 'variant')}.")
    return " ".join(sentences)


def _headline(fault: Fault, hops: Sequence[str]) -> str:
    hop = hops[fault.origin]
    below = fault.verdicts[fault.below] if fault.below is not None else None
    if fault.check == "budget" and below is not None and below.reason == "honoured" and not fault.blind:
        if fault.verdict.reason == "ignored":
            return f"`{fault.subject}` is lost between {hop} and {hops[fault.below or 0]}"
        return f"`{fault.subject}` is {fault.verdict.reason} at {hop} and honoured at {hops[fault.below or 0]}"
    place = f"{hop} or a hop below it" if fault.blind else hop
    headline = _BY_REASON.get(fault.verdict.reason) or _HEADLINES.get(fault.check, f"{fault.check} fails at {{hop}}")
    return headline.format(hop=place, subject=fault.subject or fault.check)


def _both_sides(fault: Fault, hops: Sequence[str]) -> str:
    """The evidence at the origin and below it."""
    sides = [fault.verdict.message]
    if fault.blind:
        blind = [hops[hop] for hop in fault.blind]
        sides.append(f"{_names(blind)} could not be judged ({fault.verdicts[fault.blind[-1]].message})")
    if fault.below is not None:
        sides.append(f"at {hops[fault.below]}: {fault.verdicts[fault.below].message}")
    return "; ".join(side.rstrip(".") for side in sides)


def _of_itself(load: HopVerdict, fault: Fault) -> str:
    """A queue is the reason; otherwise the difference between its clock and the user's is told."""
    if load.verdict.status is Status.WARN:
        return f"It is slow because {load.hop} is saturated: {load.verdict.message}."
    felt = fault.verdicts[fault.failing[-1]]
    waited = (
        f"; people waited {format_duration(felt.observed)}" if felt.observed is not None and felt.unit == "s" else ""
    )
    return f"{load.hop} says of itself: {load.verdict.message}{waited}."


def _down_by_themselves(cause: Cause, hops: Sequence[str]) -> list[str]:
    """Hops above the origin that nobody got as far as to: one page says it, and that there is more to mend."""
    found = {
        hop: never_reached(fault.check, fault.verdicts[hop].reason)
        for fault in cause.faults
        if fault.check == "reachable"
        for hop in fault.failing
        if hop != cause.fault.origin
    }
    return [hops[hop] for hop in sorted(found, reverse=True) if found[hop]]


def _also(cause: Cause) -> list[str]:
    """The other things that fail because of it, each once."""
    own = (cause.fault.check, cause.fault.subject)
    others = [(each.check, each.subject) for each in cause.consequences if (each.check, each.subject) != own]
    return [f"{check} ({subject})" if subject else check for check, subject in dict.fromkeys(others)]


def _names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _capital(text: str) -> str:
    """Hop and timer names keep their case; only our own words begin a sentence with a capital."""
    return text[0].upper() + text[1:] if text.startswith(("the ", "nothing ", "reasoning ")) else text
