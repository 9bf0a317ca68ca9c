"""Whether a receiver is told something about a page now, and why, or why not.

The decision rests on what is: the page, what this receiver heard of it, and the time. It does not rest on what just
changed. So nothing is lost that was withheld: when a silence ends and the page still fires, the receiver has not heard
of it yet, and hears then. And nothing is told twice after a restart.

- A resolution is told to whoever was told of the beginning, mute or not, and to nobody else.
- While a page flaps, only a rise in severity is told, and whatever the policy asks for: reminders and escalation.
- A rise in severity is told at once. That more hops are affected is told every five minutes at most: an outage reaches
  one pipeline after the other. Better, which may be noise, once an hour at most, and not while something recovers,
  since then the end is near.
- That the reason is another one (a repair went half-way) puts right what was said, where that can be edited without
  disturbing anybody: every five minutes at most, and never for numbers alone. It is no news beside this, so it moves
  no reminder, and keeps nothing else waiting. Who cannot edit reads it in whatever comes next.
- Reminders and escalation wait for an acknowledgement, and end with it. Escalation counts from the first message; after
  an acknowledgement that counts no more (`pages`), from the first message about what it was not meant for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from canary.alerting.listeners import Listener, listeners_of
from canary.alerting.pages import rank, settles_at
from canary.alerting.rules import Rules
from canary.core.finding import Severity
from canary.core.incident import Incident, Page, Told
from canary.core.notification import Reason

BETTER_AT_MOST = timedelta(hours=1)
WIDER_AT_MOST = timedelta(minutes=5)
CHANGED_AT_MOST = timedelta(minutes=5)
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


def decisions(page: Page, members: Sequence[Incident], rules: Rules, now: datetime) -> tuple[Decision, ...]:
    """One for each receiver that a message could go to. `members`: the page's incidents."""
    if not page.members:
        over = tuple(_over(page, receiver) for receiver in _heard_of(page))
        return _possible(over, rules) or (Decision(receiver=None, reason=Reason.NEVER_ANNOUNCED),)
    listeners = listeners_of(members, rules, now, also=announced_to(page))
    told = [_firing(page, listener, now) for listener in listeners]
    escalated = [each for listener in listeners for each in _escalations(page, listener, now)]
    return _possible(_once([*told, *escalated]), rules) or (Decision(receiver=None, reason=Reason.NO_ROUTE),)


def heard(page: Page, receiver: str, reason: Reason, now: datetime) -> Page:
    """The page after the receiver was told; what it heard before a resolution is of no use any more."""
    told = Told(
        receiver=receiver, at=now, reason=reason, severity=page.severity, affected=page.affected, fault=_fault(page)
    )
    over = reason is Reason.RESOLVED
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
        return Decision(receiver=receiver, reason=Reason.NEVER_ANNOUNCED)
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
    last, by_reason = _last_aloud(page, listener.receiver), _by_reason(page, listener.receiver)
    if _outranks(page.severity, last.severity):
        return Reason.WORSE, None
    if not page.flapping and _settled_unheard(by_reason):
        return Reason.OPENED, None
    reminder = _reminder_due(page, listener, last)
    if reminder is not None and now >= reminder:
        return Reason.REMINDER, None
    if page.flapping:
        return Reason.SETTLING, settles_at(page)
    found = _news(page, last, by_reason, listener, now) or (Reason.NOTHING_NEW, reminder)
    edit = listener.edits and found[0] in WITHHELD and _another_fault(page, _last(page, listener.receiver), now)
    return (Reason.CHANGED, None) if edit else found


def _news(
    page: Page, last: Told, by_reason: Mapping[str, Told], listener: Listener, now: datetime
) -> tuple[Reason, datetime | None] | None:
    """How the page differs from what the receiver heard last; none of it is urgent."""
    here, told = set(page.affected), set(last.affected)
    if page.severity == last.severity and here == told:
        return None
    if page.severity == last.severity and not here <= told:
        return _at_most(Reason.WORSE, last, WIDER_AT_MOST, now)
    if listener.ending:
        return Reason.SETTLING, None
    return _at_most(Reason.BETTER, by_reason.get(Reason.BETTER), BETTER_AT_MOST, now)


def _another_fault(page: Page, last: Told, now: datetime) -> bool:
    """Whether what was told last, be it by an edit, names another fault, and is some time ago."""
    fault = _fault(page)
    return fault is not None and last.fault not in (None, fault) and now - last.at >= CHANGED_AT_MOST


def _fault(page: Page) -> str | None:
    """What is wrong, without numbers: as its leading finding calls it."""
    return None if page.lead is None else f"{page.lead.finding.check} {page.lead.finding.reason}"


def _at_most(reason: Reason, before: Told | None, apart: timedelta, now: datetime) -> tuple[Reason, datetime | None]:
    if before is None or now - before.at >= apart:
        return reason, None
    return Reason.SETTLING, before.at + apart


def _settled_unheard(by_reason: Mapping[str, Told]) -> bool:
    """It was said that the page flaps, and not yet that it came to rest in firing."""
    flapping, opened = by_reason.get(Reason.FLAPPING), by_reason.get(Reason.OPENED)
    return flapping is not None and (opened is None or opened.at < flapping.at)


def _reminder_due(page: Page, listener: Listener, last: Told) -> datetime | None:
    every_s = listener.remind_s
    return None if every_s is None or page.acked_at is not None else last.at + timedelta(seconds=every_s)


def _escalations(page: Page, listener: Listener, now: datetime) -> Iterator[Decision]:
    """Nobody has taken it in hand for so long that somebody else must hear of it, once."""
    began = _began(page, listener.receiver)
    if began is None or page.acked_at is not None:
        return
    for target, after_s in listener.escalations.items():
        if Reason.ESCALATED in _by_reason(page, target):
            continue
        due = began + timedelta(seconds=after_s)
        if now < due:
            yield Decision(receiver=target, reason=Reason.NOTHING_NEW, until=due, because="escalation")
        elif listener.mute is not None:
            mute = listener.mute
            yield Decision(receiver=target, reason=mute.reason, until=mute.until, because=mute.by)
        else:
            yield Decision(receiver=target, reason=Reason.ESCALATED)


def _began(page: Page, receiver: str) -> datetime | None:
    """When the receiver first heard of what nobody has in hand; None: it has not yet."""
    if receiver not in announced_to(page):
        return None
    told = [each for each in page.told if each.receiver == receiver]
    acked = _by_reason(page, receiver).get(Reason.ACKNOWLEDGED)
    beyond = told if acked is None else [each for each in told if _outranks(each.severity, acked.severity)]
    return min((each.at for each in beyond), default=None)


def _outranks(severity: Severity | None, other: Severity | None) -> bool:
    return severity is not None and other is not None and rank(severity) > rank(other)


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


def _last(page: Page, receiver: str) -> Told:
    return [told for told in page.told if told.receiver == receiver][-1]


def _last_aloud(page: Page, receiver: str) -> Told:
    """What it was told last that was more than an edit."""
    return [told for told in page.told if told.receiver == receiver and told.reason != Reason.CHANGED][-1]


def _by_reason(page: Page, receiver: str) -> Mapping[str, Told]:
    return {told.reason: told for told in page.told if told.receiver == receiver}
