"""Who would hear of a page, as things stand: whom its members are routed to, and whoever was told before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from canary.alerting.mute import Mute, mute_of
from canary.alerting.routing import audience
from canary.alerting.rules import Rules
from canary.core.incident import Incident, State
from canary.core.route import Policy

_ONLY_NEWS = Policy()  # of those who are routed to no more, or were only escalated to


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A receiver, how it is reached, and what keeps it from hearing: a mute of all members that are routed to it.

    `ending`: some member recovers.
    """

    receiver: str
    policy: Policy
    mute: Mute | None = None
    ending: bool = False


def listeners_of(
    members: Sequence[Incident], rules: Rules, now: datetime, *, also: Sequence[str]
) -> tuple[Listener, ...]:
    """Each receiver once, under the policy of the first member that is routed to it; then those of `also`, without."""
    ending = any(incident.state is State.RECOVERING for incident in members)
    reached: dict[str, list[tuple[Policy, Mute | None]]] = {}
    mutes = [mute_of(incident, rules, now) for incident in members]
    for incident, mute in zip(members, mutes, strict=True):
        for each in audience(rules, incident):
            reached.setdefault(each.receiver, []).append((each.policy, mute))
    for receiver in also:
        reached.setdefault(receiver, [(_ONLY_NEWS, mute) for mute in mutes])
    return tuple(
        Listener(receiver=receiver, policy=ways[0][0], mute=_shared([mute for _, mute in ways]), ending=ending)
        for receiver, ways in reached.items()
    )


def _shared(mutes: Sequence[Mute | None]) -> Mute | None:
    """The mute of something that is muted in every part: the one that ends first."""
    muted = [mute for mute in mutes if mute is not None]
    return min(muted, key=lambda mute: mute.until) if len(muted) == len(mutes) else None
