"""From a run, or from time passing, to everything that follows: one value, which is stored in one transaction.

Incidents move, pages gather them, and each receiver of each page is told or not. The last two are worked out from what
is, not from what changed, so that a daemon that was down for a while finds its way back by itself.

Calls must not overlap: each needs the incidents and pages that the one before it left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from canary.alerting.asked import still_asked
from canary.alerting.cause import renamed
from canary.alerting.ids import id_of
from canary.alerting.incidents import BLIND, counting, enter, passed_enough, step
from canary.alerting.message import NOTHING_BESIDE, Beside, kept, message_of
from canary.alerting.pages import regroup
from canary.alerting.rejoin import join
from canary.alerting.routing import policy_for
from canary.alerting.rules import Known, Rules
from canary.alerting.sightings import Sighting, sightings
from canary.alerting.telling import Decision, announced_to, decisions, heard
from canary.core.conclusion import Conclusion
from canary.core.finding import Finding
from canary.core.history import Past
from canary.core.incident import Event, Incident, Page, State, Transition
from canary.core.notification import Notification, Reason, Withheld
from canary.core.run import Run
from canary.core.verdict import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One incident after what the run, or time, said of it."""

    after: Incident
    status: Status
    transition: Transition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What all messages of one conclusion share."""

    rules: Rules
    now: datetime
    beside: Beside = NOTHING_BESIDE
    parting: str = ""  # why what nothing shows any more is over


def conclude(
    run: Run,
    known: Known,
    rules: Rules,
    now: datetime,
    *,
    repeat: Callable[[Finding], str | None] | None = None,
    history: Mapping[tuple[str, str], Sequence[Past]] | None = None,
) -> Conclusion:
    """What follows from a run.

    `repeat`: the finding's request as a command without secrets. `history`: earlier answers by (hop, variant), newest
    last; messages name the versions that changed since.
    """
    scene = _Scene(rules=rules, now=now, beside=Beside(run=run, repeat=repeat, history=history or {}))
    steps = [each for found in sightings(run, known.incidents, rules) if (each := _stepped(found, run.id, scene))]
    return replace(_concluded(known, steps, scene), confirm=any(_wants_another_run(each) for each in steps))


def tick(known: Known, rules: Rules, now: datetime) -> Conclusion:
    """What follows from time alone: holds that end, flapping that settles, mutes that end, reminders, escalation."""
    steps = []
    for incident in known.incidents:
        policy = counting(incident.key.check, policy_for(rules, incident.key, incident.severity))
        if incident.state is State.RECOVERING and passed_enough(incident, policy, now):
            over, transition = enter(incident, Event.PASSED_ENOUGH, now)
            steps.append(_Step(after=over, status=Status.PASS, transition=transition))
    return _concluded(known, steps, _Scene(rules=rules, now=now))


def retire(known: Known, rules: Rules, now: datetime) -> Conclusion:
    """After a reload: what nothing asks for any more is over. `rules`: of the new plan.

    A page that ends so did not come and go: if it is back under a probe's new name, it does not flap. A hop under a new
    name is the same hop. Who was told and is in the plan no more cannot be told the end, which is noted. Nor is there
    anything to wait for where a page flapped.
    """
    steps, keys = [], {incident.key for incident in known.incidents}
    for incident in known.incidents:
        heir = renamed(incident, rules)
        if heir is not incident and heir.key not in keys and still_asked(heir, rules):
            keys.add(heir.key)
            steps.append(_Step(after=heir, status=Status.UNKNOWN))
        elif not still_asked(incident, rules):
            over, transition = enter(incident, Event.GONE, now)
            steps.append(_Step(after=over, status=Status.UNKNOWN, transition=transition))
    gone = frozenset(step.after.id for step in steps if step.transition)
    known = replace(known, pages=tuple(_settled(page, gone, rules) for page in known.pages))
    conclusion = _concluded(known, steps, _Scene(rules=rules, now=now, parting="the config asks for it no more"))
    pages = (replace(each, changes=each.changes[-1:]) if each.resolved_at == now else each for each in conclusion.pages)
    withheld = (*conclusion.withheld, *_left_behind(after(known, conclusion).pages, rules, now))
    return replace(conclusion, pages=tuple(pages), withheld=withheld)


def rejoin(stored: Known, ours: Known, rules: Rules, now: datetime) -> tuple[Known, Conclusion]:
    """What a store knew all along, found when it came back, and what was seen meanwhile: both as one. See rejoin.py."""
    joined = join(stored, ours, now)
    steps = [_Step(after=after, status=Status.UNKNOWN, transition=moved) for after, moved in joined.moves]
    scene = _Scene(rules=rules, now=now, parting="it goes on as an earlier page, which could not be looked up before")
    known = Known(incidents=joined.incidents, pages=joined.pages)
    return known, _concluded(known, steps, scene)


def acknowledge(page: Page, who: str, known: Known, rules: Rules, now: datetime) -> Conclusion:
    """Somebody has it in hand; all who were told hear of that. Empty where it is over, or was acknowledged before."""
    if page.resolved_at is not None or page.acked_at is not None:
        return Conclusion()
    page = replace(page, acked_by=who, acked_at=now)
    here = {receiver.name for receiver in rules.receivers}
    found = [Decision(receiver=name, reason=Reason.ACKNOWLEDGED) for name in announced_to(page) if name in here]
    scene = _Scene(rules=rules, now=now)
    page, notifications = _notified(page, _members(page, known.incidents), found, scene)
    return Conclusion(pages=(page,), notifications=tuple(notifications))


def after(known: Known, conclusion: Conclusion) -> Known:
    """What is known once the conclusion is stored. Pages that are over stay until the caller forgets them."""
    incidents = {each.id: each for each in (*known.incidents, *conclusion.incidents)}
    pages = {each.id: each for each in (*known.pages, *conclusion.pages)}
    return Known(
        incidents=tuple(each for each in incidents.values() if each.state is not State.OK),
        pages=tuple(pages.values()),
    )


def _stepped(found: Sighting, run_id: str, scene: _Scene) -> _Step | None:
    seen = found.seen
    policy = counting(seen.key.check, policy_for(scene.rules, seen.key, seen.severity))
    incident, transition = step(found.incident, seen, policy, scene.now, run_id)
    return _Step(after=incident, status=seen.status, transition=transition) if incident else None


def _wants_another_run(each: _Step) -> bool:
    """A first failure, which is not yet enough, is looked at again at once instead of at the next slot.

    Only a failure: a recovery that waits for its slot harms nobody, and asking faster would cost tokens and help
    flapping. Nor blindness: a hop that limits our rate would be asked even more often.
    """
    pending = each.after.state is State.PENDING and each.status is Status.FAIL
    return pending and each.after.key.check != BLIND


def _concluded(known: Known, steps: Sequence[_Step], scene: _Scene) -> Conclusion:
    """Pages and messages that follow from the incidents as they are after the steps."""
    incidents = {each.id: each for each in (*known.incidents, *(step.after for step in steps))}
    before = {page.id: page for page in known.pages}
    pages: list[Page] = []
    notifications: list[Notification] = []
    withheld: list[Withheld] = []
    for grouped in regroup(known.pages, tuple(incidents.values()), scene.rules, scene.now):
        was = before.get(grouped.id)
        if was is not None and was.resolved_at is not None and grouped == was and not _owed(was, scene.rules):
            continue
        page = kept(grouped, scene.rules, scene.beside)
        members = _members(page, incidents.values())
        found = decisions(page, members, scene.rules, scene.now)
        heard_page, told = _notified(page, members, found, scene)
        notifications += told
        withheld += _withheld(was, page, found, scene.now)
        if heard_page != was:
            pages.append(heard_page)
    return Conclusion(
        incidents=tuple(step.after for step in steps),
        pages=tuple(pages),
        transitions=tuple(step.transition for step in steps if step.transition),
        notifications=tuple(notifications),
        withheld=tuple(withheld),
    )


def _members(page: Page, incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    return tuple(each for each in incidents if each.id in page.members)


def _notified(
    page: Page, members: Sequence[Incident], found: Sequence[Decision], scene: _Scene
) -> tuple[Page, list[Notification]]:
    """The page with what everybody has heard by now, and the messages that tell them."""
    subjects = members or ((page.lead,) if page.lead else ())
    notifications: list[Notification] = []
    for decision in found:
        if not decision.told or decision.receiver is None or not subjects:
            continue
        message = message_of(page, subjects, scene.rules, scene.now, reason=decision.reason, beside=scene.beside)
        if scene.parting and page.resolved_at == scene.now:
            message = replace(message, ended=scene.parting)
        page = heard(page, decision.receiver, decision.reason, scene.now)
        notifications.append(
            Notification(
                id=id_of("notification", page.id, decision.receiver, decision.reason, scene.now.isoformat()),
                page_id=page.id,
                receiver=decision.receiver,
                reason=decision.reason,
                at=scene.now,
                message=message,
            )
        )
    return page, notifications


def _withheld(was: Page | None, page: Page, found: Sequence[Decision], now: datetime) -> Iterator[Withheld]:
    """Said once, when the page changes, and not at every look at it."""
    if was is not None and _shape(was) == _shape(page):
        return
    joined = was is not None and not set(page.members) <= set(was.members)
    for decision in found:
        if not decision.told and (decision.reason is not Reason.NOTHING_NEW or joined):
            yield Withheld(
                page_id=page.id, receiver=decision.receiver, reason=decision.reason, at=now, until=decision.until
            )


def _settled(page: Page, gone: frozenset[str], rules: Rules) -> Page:
    """What nothing asks for any more comes and goes no more either."""
    left = page.lead is None or still_asked(page.lead, rules) or not gone.issuperset(page.members)
    return page if left else replace(page, flapping=False)


def _owed(page: Page, rules: Rules) -> bool:
    """Whether somebody who can be told does not know yet that it is over: a receiver that was gone for a while."""
    return any(receiver.name in announced_to(page) for receiver in rules.receivers)


def _left_behind(pages: Iterable[Page], rules: Rules, now: datetime) -> Iterator[Withheld]:
    """What goes on by the belief of a receiver that the plan has no more: a person has to end it there."""
    here = {receiver.name for receiver in rules.receivers}
    for page in pages:
        for name in announced_to(page) if page.resolved_at is None else ():
            if name not in here:
                yield Withheld(page_id=page.id, receiver=name, reason=Reason.NO_ROUTE, at=now)


def _shape(page: Page) -> tuple[object, ...]:
    return frozenset(page.members), page.severity, page.affected, page.flapping, page.resolved_at
