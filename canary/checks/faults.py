"""Runs of failing hops, per check and subject: where each begins, how far up it reaches, what lies below it.

From the engine up: a run begins at a failing hop and ends below the next hop that passes or warns. A hop that could not
be judged interrupts nothing and proves nothing; below a run's origin it leaves open how far down the fault goes. So it
is with a hop that `baseline` passes without being able to tell yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from canary.checks.baseline import UNSETTLED
from canary.core.finding import HopVerdict
from canary.core.verdict import Status, Verdict

_ATTRIBUTED = frozenset({"complete"})  # its subject is whom we suspect, not what was looked at
_WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One run of failing hops. Hops are positions from the user down; `failing` from the origin up.

    `below`: the first judged hop below the origin. `blind`: hops below the origin that could not be judged.
    """

    check: str
    subject: str | None
    variant: str
    failing: tuple[int, ...]
    below: int | None
    blind: tuple[int, ...]
    verdicts: Mapping[int, Verdict]

    @property
    def origin(self) -> int:
        return self.failing[0]

    @property
    def verdict(self) -> Verdict:
        return self.verdicts[self.origin]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A fault that follows from no other, with those that follow from it and the variants that it was seen in."""

    fault: Fault
    consequences: tuple[Fault, ...] = ()
    variants: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Fault, ...]:
        return (self.fault, *self.consequences)


def faults_of(variant: str, verdicts: Iterable[HopVerdict], position: Mapping[str, int]) -> list[Fault]:
    """All faults of one variant. Of several verdicts on the same thing, the worst counts."""
    chains: dict[tuple[str, str | None], dict[int, Verdict]] = {}
    for found in verdicts:
        if found.variant != variant:
            continue
        check, hop = found.verdict.check, position[found.hop]
        subject = None if check in _ATTRIBUTED else found.verdict.subject
        chain = chains.setdefault((check, subject), {})
        chain[hop] = min(chain.get(hop, found.verdict), found.verdict, key=lambda each: _WORST_FIRST.index(each.status))
    return [
        Fault(
            check=check,
            subject=subject,
            variant=variant,
            failing=tuple(stretch.failing),
            below=stretch.below,
            blind=tuple(stretch.blind),
            verdicts=chain,
        )
        for (check, subject), chain in chains.items()
        for stretch in _stretches(chain)
        if stretch.failing
    ]


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """The hops from above one that does not fail, `below`, up to the next such hop."""

    below: int | None
    failing: list[int] = field(default_factory=list)
    blind: list[int] = field(default_factory=list)


def _stretches(chain: Mapping[int, Verdict]) -> list[_Stretch]:
    stretches = [_Stretch(below=None)]
    for hop in sorted(chain, reverse=True):
        match chain[hop].status:
            case Status.FAIL:
                stretches[-1].failing.append(hop)
            case Status.PASS | Status.WARN if chain[hop].reason != UNSETTLED:
                stretches.append(_Stretch(below=hop))
            case _ if not stretches[-1].failing:
                stretches[-1].blind.append(hop)
    return stretches
