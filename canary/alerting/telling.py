"""Whether a receiver is told something about a page now, and why, or why not.

The decision rests on what is: the page, what this receiver heard of it, and the time. It does not rest on what just
changed. So nothing is lost that was withheld: when a silence ends and the page still fires, the receiver has not heard
of it yet, and hears then. And nothing is told twice after a restart.

- A resolution is told to whoever was told of the beginning, mute or not, and to nobody else.
- While a page flaps only a rise in severity is told.
- Worse is told at once; better, which may be noise, once an hour at most.
- Reminders and escalation wait for an acknowledgement, and end with it. Escalation counts from the first message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from canary.alerting.mute import Mute, mute_of
from canary.alerting.pages import rank, settles_at
from canary.alerting.routing import Chosen, audience
from canary.alerting.rules import Rules
from canary.core.incident import Incident, Page, Told
from canary.core.notification import Reason
from canary.core.route import Policy

BETTER_AT_MOST = timedelta(hours=1)
WITHHELD = frozenset(
    {
        Reason.NOTHING_NEW,
        Reason.NOT_ENOUGH_FAILURES,
        Reason.NO_ROUTE,
        Reason.SILENCED,
        Reason.MAINTENANCE,
        Reason.SETTLING,
        Reason.NEVER_ANNOUNCED,
    }
)
_ONLY_NEWS = Policy()  # of those who were told and are routed to no more, or were only escalated to


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`receiver` None: there is nobody. `until`: when time alone changes it. `because`: for people, where it helps."""

    receiver: str | None
    reason: Reason
    until: datetime | None = None
    because: str = ""

    @property
    def told(self) -> bool:
        return self.reason not in WITHHELD


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A receiver, how it is reached, and what keeps it from hearing: a mute of all members that are routed to it."""

    receiver: str
    policy: Policy
    mute: Mute | None = None


def decisions(page: Page, members: Sequence[Incident], rules: Rules, now: datetime) -> tuple[Decision, ...]:
    """One for each receiver that a message could go to. `members`: the page's incidents."""
    if not page.members:
        over = tuple(_over(page, receiver) for receiver in _heard_of(page))
        return _possible(over, rules) or (Decision(receiver=None, reason=Reason.NEVER_ANNOUNCED),)
    listeners = listeners_of(members, rules, now)
    routed = {listener.receiver for listener in listeners}
    shared = _shared(mute_of(incident, rules, now) for incident in members)
    others = [
        Listener(receiver=receiver, policy=_ONLY_NEWS, mute=shared)
        for receiver in announced_to(page)
        if receiver not in routed
    ]
    told = [_firing(page, listener, now) for listener in (*listeners, *others)]
    escalated = [each for listener in listeners if (each := _escalation(page, listener, now))]
    return _possible(_once([*told, *escalated]), rules) or (Decision(receiver=None, reason=Reason.NO_ROUTE),)


def listeners_of(members: Sequence[Incident], rules: Rules, now: datetime) -> tuple[Listener, ...]:
    """Each receiver once, under the policy of the first member that is routed to it."""
    reached: dict[str, list[tuple[Chosen, Mute | None]]] = {}
    for incident in members:
        mute = mute_of(incident, rules, now)
        for each in audience(rules, incident):
            reached.setdefault(each.receiver, []).append((each, mute))
    return tuple(
        Listener(receiver=receiver, policy=ways[0][0].policy, mute=_shared(mute for _, mute in ways))
        for receiver, ways in reached.items()
    )


def heard(page: Page, decision: Decision, now: datetime) -> Page:
    """The page after the receiver was told; what it heard before a resolution is of no use any more."""
    if decision.receiver is None:
        return page
    told = Told(
        receiver=decision.receiver,
        at=now,
        reason=decision.reason,
        severity=page.severity,
        affected=page.affected,
    )
    over = decision.reason is Reason.RESOLVED
    others = (
        each
        for each in page.told
        if each.receiver != told.receiver or not (over or each.reason in (told.reason, Reason.RESOLVED))
    )
    return replace(page, told=(*others, told))


def announced_to(page: Page) -> tuple[str, ...]:
    """The receivers that believe that it goes on."""
    return tuple(receiver for receiver in _heard_of(page) if _last(page, receiver).reason != Reason.RESOLVED)


def _heard_of(page: Page) -> tuple[str, ...]:
    return tuple(dict.fromkeys(told.receiver for told in page.told))


def _over(page: Page, receiver: str) -> Decision:
    if receiver not in announced_to(page):
        return Decision(receiver=receiver, reason=Reason.NOTHING_NEW)
    if page.flapping:
        return Decision(receiver=receiver, reason=Reason.SETTLING, until=settles_at(page))
    return Decision(receiver=receiver, reason=Reason.RESOLVED)


def _firing(page: Page, listener: Listener, now: datetime) -> Decision:
    reason, until = _wanted(page, listener, now)
    if reason not in WITHHELD and listener.mute is not None:
        mute = listener.mute
        return Decision(receiver=listener.receiver, reason=mute.reason, until=mute.until, because=mute.by)
    return Decision(receiver=listener.receiver, reason=reason, until=until)


def _wanted(page: Page, listener: Listener, now: datetime) -> tuple[Reason, datetime | None]:
    """What there would be to say, were there no mute; for what is withheld, until when."""
    if listener.receiver not in announced_to(page):
        return (Reason.FLAPPING if page.flapping else Reason.OPENED), None
    last, by_reason = _last(page, listener.receiver), _by_reason(page, listener.receiver)
    if _worse(page, last):
        return Reason.WORSE, None
    if not page.flapping and _settled_unheard(by_reason):
        return Reason.OPENED, None
    due = _reminder_due(page, listener, last)
    if due is not None and now >= due:
        return Reason.REMINDER, None
    if page.flapping:
        return Reason.SETTLING, settles_at(page)
    return _better_or_nothing(page, last, by_reason, now) or (Reason.NOTHING_NEW, due)


def _better_or_nothing(
    page: Page, last: Told, by_reason: Mapping[str, Told], now: datetime
) -> tuple[Reason, datetime | None] | None:
    if (page.severity, set(page.affected)) == (last.severity, set(last.affected)):
        return None
    before = by_reason.get(Reason.BETTER)
    if before is None or now - before.at >= BETTER_AT_MOST:
        return Reason.BETTER, None
    return Reason.SETTLING, before.at + BETTER_AT_MOST


def _worse(page: Page, last: Told) -> bool:
    if last.severity is not None and rank(page.severity) != rank(last.severity):
        return rank(page.severity) > rank(last.severity)
    return not page.flapping and not set(page.affected) <= set(last.affected)


def _settled_unheard(by_reason: Mapping[str, Told]) -> bool:
    """It was said that the page flaps, and not yet that it came to rest in firing."""
    flapping, opened = by_reason.get(Reason.FLAPPING), by_reason.get(Reason.OPENED)
    return flapping is not None and (opened is None or opened.at < flapping.at)


def _reminder_due(page: Page, listener: Listener, last: Told) -> datetime | None:
    every_s = listener.policy.remind_s
    return None if every_s is None or page.acked_at is not None else last.at + timedelta(seconds=every_s)


def _escalation(page: Page, listener: Listener, now: datetime) -> Decision | None:
    """Nobody has taken it in hand for so long that somebody else must hear of it, once."""
    policy, target = listener.policy, listener.policy.escalate_to
    if policy.escalate_after_s is None or target is None or page.acked_at is not None:
        return None
    began = min((each.at for each in page.told if each.receiver == listener.receiver), default=None)
    if listener.receiver not in announced_to(page) or began is None:
        return None
    if Reason.ESCALATED in _by_reason(page, target):
        return None
    due = began + timedelta(seconds=policy.escalate_after_s)
    if now < due:
        return Decision(receiver=target, reason=Reason.NOTHING_NEW, until=due, because="escalation")
    if listener.mute is not None:
        mute = listener.mute
        return Decision(receiver=target, reason=mute.reason, until=mute.until, because=mute.by)
    return Decision(receiver=target, reason=Reason.ESCALATED)


def _possible(found: Sequence[Decision], rules: Rules) -> tuple[Decision, ...]:
    """A receiver that is in the config no more cannot be told anything."""
    here = {receiver.name for receiver in rules.receivers}
    return tuple(
        each if each.receiver in here else Decision(receiver=each.receiver, reason=Reason.NO_ROUTE) for each in found
    )


def _once(found: Sequence[Decision]) -> tuple[Decision, ...]:
    """One message a receiver; an escalation says most."""
    best: dict[str | None, Decision] = {}
    for each in sorted(found, key=lambda each: (not each.told, each.reason is not Reason.ESCALATED)):
        best.setdefault(each.receiver, each)
    return tuple(best.values())


def _shared(mutes: Iterable[Mute | None]) -> Mute | None:
    """The mute of something that is muted in every part: the one that ends first."""
    each = list(mutes)
    muted = [mute for mute in each if mute is not None]
    return min(muted, key=lambda mute: mute.until) if muted and len(muted) == len(each) else None


def _last(page: Page, receiver: str) -> Told:
    return [told for told in page.told if told.receiver == receiver][-1]


def _by_reason(page: Page, receiver: str) -> Mapping[str, Told]:
    return {told.reason: told for told in page.told if told.receiver == receiver}
