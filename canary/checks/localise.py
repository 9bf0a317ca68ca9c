"""From failing verdicts to root causes: at which hop does it go wrong, and what merely follows from it?

1. Per variant, check and subject, from the engine up: a fault begins at a failing hop whose neighbour below does not
   fail, and reaches up through the failing hops above it. A hop that could not be judged interrupts nothing and proves
   nothing: it is passed over, and below the origin it makes the fault "at or below". PASS and WARN end a fault.
2. A fault that follows from another is no finding of its own; its hops are added to the affected ones:
   - a hop that is unreachable or breaks off explains every failure above it, of any check, unless a hop in between is
     seen to be fine, and every failure of the same answer;
   - a timer that would cut the silence born at a hop explains the cut that this timer made further up, and the break
     of the hop that holds the timer;
   - at one origin, the steadier symptom explains the others (`_EXPLAINS`): an answer that is never visible is late for
     every timer too. The steadier one, because findings must keep their name from run to run;
   - a hop that is not as usual explains the same of the hops above, even if one in between passes: each hop answers
     a request of its own, and one of them may be lucky. More reasoning explains that all is slower. Less reasoning
     follows from no lateness: there it is a finding of its own.
3. The same fault in several variants is one finding.
4. What nobody asked for is no finding, unless something that was asked for follows from it.
5. A finding about slowness tells what the engine says of itself, where it does.

Severity is critical where the topmost probed hop is affected, since people feel that. WARN and UNKNOWN open nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from canary.checks.baseline import LESS_REASONING, MORE_REASONING, SLOWER
from canary.checks.faults import Cause, Fault, faults_of
from canary.checks.finding_message import message_of
from canary.checks.idle_timeout import FIRES_LATER
from canary.core.finding import Finding, HopVerdict, Severity

_BREAKS = ("reachable", "complete")
# How a hop ends whose own timer fired over the stream that it reads: whatever it makes of that for its listeners.
_LOOKS_LIKE_A_CUT = ("error_in_stream", "gateway_timeout", "server_error", "no_response", "truncated", "cut")

# At one origin and in one variant: a check, and the checks whose failure follows from its own. Causes first.
_EXPLAINS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "budget": frozenset({"visible_content", "idle_timeout", "first_visible", "answer"}),
        "streaming": frozenset({"idle_timeout", "first_visible", "baseline"}),
        "visible_content": frozenset({"idle_timeout", "first_visible", "answer", "baseline"}),
        "idle_timeout": frozenset({"first_visible", "baseline"}),
        "first_visible": frozenset({"baseline"}),
    }
)
_ABOUT_LATENESS = frozenset({"idle_timeout", "first_visible"})
# Whose findings an engine's queue may explain, by check and, where not all of the check's failures are slow, reason.
_SLOW: Mapping[str, frozenset[str] | None] = MappingProxyType(
    {
        "reachable": frozenset({"deadline", "gateway_timeout", "no_response"}),
        "complete": frozenset({"cut", "deadline", "hung", "stalled"}),
        "streaming": frozenset({"buffered"}),
        "idle_timeout": None,
        "first_visible": None,
        "baseline": frozenset({SLOWER}),
    }
)
_ALSO_EXPLAINS: Mapping[str, str] = MappingProxyType({MORE_REASONING: SLOWER})  # reasons of `baseline`
_RANK = {check: rank for rank, check in enumerate((*_BREAKS, *_EXPLAINS))}


def localise(
    verdicts: Sequence[HopVerdict], hops: Sequence[str], *, probed: Sequence[str], unasked: Collection[str] = ()
) -> tuple[Finding, ...]:
    """The root causes of one run, lowest origin first. `hops` from the user down; `probed`: those that were asked.

    `unasked`: checks that were made only because they may explain others.
    """
    position = {hop: index for index, hop in enumerate(hops)}
    variants = tuple(dict.fromkeys(found.variant for found in verdicts))
    causes: list[Cause] = []
    for variant in variants:
        causes += _causes(faults_of(variant, verdicts, position), hops)
    top = min((position[hop] for hop in probed), default=0)
    asked_for = [cause for cause in _merged(causes) if any(fault.check not in unasked for fault in cause.faults)]
    merged = sorted(asked_for, key=lambda cause: (-cause.fault.origin, _rank(cause.fault)))
    loads = [found for found in verdicts if found.verdict.check == "saturation"]
    return tuple(
        _finding(cause, hops, top=top, of_variants=len(variants), load=_load(cause, loads, position))
        for cause in merged
    )


def _causes(faults: Sequence[Fault], hops: Sequence[str]) -> list[Cause]:
    """Every fault is a cause, or follows from exactly one."""
    ordered = sorted(faults, key=lambda fault: (-fault.origin, _rank(fault)))
    consequences: dict[int, list[Fault]] = {}
    root: dict[int, int] = {}
    for index, fault in enumerate(ordered):
        parent = next((at for at in range(index) if _explains(ordered[at], fault, hops)), None)
        root[index] = index if parent is None else root[parent]
        consequences.setdefault(root[index], [])
        if parent is not None:
            consequences[root[index]].append(fault)
    return [
        Cause(fault=ordered[index], consequences=tuple(follow), variants=(ordered[index].variant,))
        for index, follow in consequences.items()
    ]


def _explains(cause: Fault, fault: Fault, hops: Sequence[str]) -> bool:
    """Whether `fault` follows from `cause`, which is not above it."""
    if cause.check == fault.check == "baseline":
        return fault.verdict.reason in (cause.verdict.reason, _ALSO_EXPLAINS.get(cause.verdict.reason))
    if cause.origin == fault.origin:
        return cause.check in _BREAKS or (fault.check in _EXPLAINS.get(cause.check, ()) and not _apart(cause, fault))
    if cause.check in _BREAKS:
        return fault.below is None or fault.below >= cause.origin
    return cause.check == "idle_timeout" and _cut_by(cause, fault, hops[fault.origin])


def _apart(cause: Fault, fault: Fault) -> bool:
    return cause.check in _ABOUT_LATENESS and fault.verdict.reason == LESS_REASONING


def _cut_by(timer: Fault, fault: Fault, hop: str) -> bool:
    """Whether a break further up is the cut that this timer makes: it is named as such, or its owner broke off."""
    if fault.check == "complete" and timer.subject == fault.verdict.subject:
        return True
    owned = (timer.subject or "").startswith(f"{hop}/")
    return owned and fault.check in _BREAKS and fault.verdict.reason in _LOOKS_LIKE_A_CUT


def _rank(fault: Fault) -> tuple[int, bool, float, str, str]:
    """Causes before what they explain; of several timers the first to cut, over several answers the shortest."""
    rank = _RANK.get(fault.check, len(_RANK))
    limit = fault.verdict.limit if fault.verdict.limit is not None and fault.check != "baseline" else 0.0
    return rank, fault.verdict.reason == FIRES_LATER, limit, fault.check, fault.subject or ""


def _load(cause: Cause, loads: Iterable[HopVerdict], position: Mapping[str, int]) -> HopVerdict | None:
    """What the lowest hop at or below the origin says of its load; None where the finding is not about slowness."""
    fault = cause.fault
    reasons = _SLOW.get(fault.check, frozenset())
    if reasons is not None and fault.verdict.reason not in reasons:
        return None
    said = [load for load in loads if load.variant == fault.variant and position[load.hop] >= fault.origin]
    return max(said, key=lambda load: position[load.hop], default=None)


def _merged(causes: Iterable[Cause]) -> list[Cause]:
    """One cause for each check, subject and origin in all variants; a silence is one, whatever timers hear it."""
    merged: dict[tuple[str, str | None, int], Cause] = {}
    for cause in causes:
        subject = None if cause.fault.check == "idle_timeout" else cause.fault.subject
        key = (cause.fault.check, subject, cause.fault.origin)
        first = merged.get(key)
        merged[key] = cause if first is None else _both(first, cause)
    return list(merged.values())


def _both(first: Cause, second: Cause) -> Cause:
    """The fault that is located better speaks for both; of several timers, the first to fire."""
    spoken, other = sorted((first, second), key=lambda cause: (bool(cause.fault.blind), _rank(cause.fault)))
    return replace(
        spoken,
        consequences=(*spoken.consequences, other.fault, *other.consequences),
        variants=tuple(dict.fromkeys((*first.variants, *second.variants))),
    )


def _finding(cause: Cause, hops: Sequence[str], *, top: int, of_variants: int, load: HopVerdict | None) -> Finding:
    fault = cause.fault
    reached = {hop for each in cause.faults for hop in each.failing} - {fault.origin}
    affected = tuple(hops[hop] for hop in sorted(reached, reverse=True))
    origin = hops[fault.origin]
    edge = (origin, hops[fault.below]) if fault.below is not None and not fault.blind else None
    critical = top in reached or fault.origin == top
    return Finding(
        check=fault.check,
        reason=fault.verdict.reason,
        origin=origin,
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        message=message_of(cause, hops, affected, of_variants=of_variants, load=load),
        variant=fault.variant,
        subject=fault.verdict.subject,
        edge=edge,
        affected=affected,
        at_or_below=bool(fault.blind),
        evidence=(*_evidence(cause, hops), *((load,) if load else ())),
    )


def _evidence(cause: Cause, hops: Sequence[str]) -> Iterable[HopVerdict]:
    """The origin, its neighbours below, what else fails there and above."""
    fault = cause.fault
    below = (fault.below,) if fault.below is not None else ()
    for hop in (fault.origin, *below, *fault.blind, *fault.failing[1:]):
        yield HopVerdict(hop=hops[hop], variant=fault.variant, verdict=fault.verdicts[hop])
    for each in cause.consequences:
        for hop in each.failing:
            yield HopVerdict(hop=hops[hop], variant=each.variant, verdict=each.verdicts[hop])
