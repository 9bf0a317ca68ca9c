"""Who would hear of a page, as things stand: whom its members are routed to, and whoever was told before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from canary.alerting.mute import Mute, mute_of
from canary.alerting.routing import audience
from canary.alerting.rules import Rules
from canary.core.incident import Incident, State
from canary.core.route import Policy

_ONLY_NEWS = Policy()  # of those who are routed to no more, or were only escalated to


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A receiver, and what keeps it from hearing: a mute of all members that are routed to it.

    `policies`: of the routes that lead to it, from members that are not mute; all of them where all are. The most
    urgent of them counts, since a page that is shared with something of less weight is no less urgent. `ending`: some
    member recovers. `edits`: what it was told can be put right without disturbing anybody.
    """

    receiver: str
    policies: tuple[Policy, ...]
    mute: Mute | None = None
    ending: bool = False
    edits: bool = False

    @property
    def remind_s(self) -> float | None:
        return min((each.remind_s for each in self.policies if each.remind_s is not None), default=None)

    @property
    def escalations(self) -> Mapping[str, float]:
        """After how many seconds to whom."""
        found: dict[str, float] = {}
        for each in self.policies:
            if each.escalate_to is not None and each.escalate_after_s is not None:
                soonest_s = found.get(each.escalate_to, each.escalate_after_s)
                found[each.escalate_to] = min(soonest_s, each.escalate_after_s)
        return found


def listeners_of(
    members: Sequence[Incident], rules: Rules, now: datetime, *, also: Sequence[str]
) -> tuple[Listener, ...]:
    """Each receiver once; those whom the members are routed to, then those of `also`."""
    ending = any(incident.state is State.RECOVERING for incident in members)
    reached: dict[str, list[tuple[Policy, Mute | None]]] = {}
    mutes = [mute_of(incident, rules, now) for incident in members]
    for incident, mute in zip(members, mutes, strict=True):
        for each in audience(rules, incident):
            reached.setdefault(each.receiver, []).append((each.policy, mute))
    for receiver in also:
        reached.setdefault(receiver, [(_ONLY_NEWS, mute) for mute in mutes])
    editing = {receiver.name for receiver in rules.receivers if receiver.edits}
    return tuple(
        replace(_listener(receiver, ways), ending=ending, edits=receiver in editing)
        for receiver, ways in reached.items()
    )


def _listener(receiver: str, ways: Sequence[tuple[Policy, Mute | None]]) -> Listener:
    """Where every way is mute, that is what the receiver is: until the first of them ends."""
    heard = tuple(policy for policy, mute in ways if mute is None)
    mutes = [mute for _, mute in ways if mute is not None]
    return Listener(
        receiver=receiver,
        policies=heard or tuple(policy for policy, _ in ways),
        mute=None if heard else min(mutes, key=lambda mute: mute.until),
    )
