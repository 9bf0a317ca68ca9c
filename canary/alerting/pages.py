"""What people are told about as one thing: incidents that have one cause gather on one page.

- A page opens with the first member that fires and is over with the last one. Its severity is that of its worst member,
  and it affects all that its members affect.
- A page whose cause fires again within an hour is the same page, opened again.
- More than two changes (opened, closed, opened) within an hour are flapping: one notice, then quiet until nothing has
  changed for half an hour, then always a word on how it ended. A limit of four changes would allow five messages in
  that hour, and three are what people put up with. A closing is never the change too many: good news is not held back
  for what had happened before.
- A page that flaps is not resolved while it settles, even when nothing fires; so a restart finds it and ends it.
- Who acknowledged a page has in hand what people were told of. Once it is more severe than that, nobody has.
- What was told in time to come was told by a clock that was set back since. It counts from now on, or reminders and
  escalation would wait until that time is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from canary.alerting.cause import one_cause
from canary.alerting.ids import id_of
from canary.alerting.incidents import ACTIVE
from canary.alerting.rules import Rules
from canary.core.finding import Severity
from canary.core.incident import Incident, Page, Told

WITHIN = timedelta(hours=1)
MOST_CHANGES = 2
SETTLED = timedelta(minutes=30)
_SEVERITIES = (Severity.WARNING, Severity.CRITICAL)


def regroup(pages: Sequence[Page], incidents: Sequence[Incident], rules: Rules, now: datetime) -> tuple[Page, ...]:
    """All pages as they are now, from whatever state both were left in. `incidents`: all that there are."""
    active = {each.id: each for each in sorted(incidents, key=_since) if each.state in ACTIVE}
    grouped = {page.id: page for page in pages}
    placed = {member for page in pages if page.resolved_at is None for member in page.members}
    for incident in active.values():
        if incident.id not in placed:
            page = _joined(incident, list(grouped.values()), active, rules, now)
            grouped[page.id] = page
    return tuple(_current(page, active, rules, now) for page in grouped.values())


def settles_at(page: Page) -> datetime:
    return page.changes[-1] + SETTLED


def rank(severity: Severity) -> int:
    return _SEVERITIES.index(severity)


def leading(members: Sequence[Incident]) -> Incident:
    """The one that speaks for all: the worst, then the oldest."""
    return min(members, key=lambda each: (-rank(each.severity), _since(each), each.id))


def _since(incident: Incident) -> datetime:
    return incident.opened_at or incident.since


def _joined(
    incident: Incident, pages: Sequence[Page], active: dict[str, Incident], rules: Rules, now: datetime
) -> Page:
    """The page that has its cause, with it: an open one, one that closed within the hour, or a new one."""
    for page in pages:
        if page.resolved_at is not None or not page.members:
            continue
        members = [active[member] for member in page.members if member in active]
        if page.cause == incident.cause or any(one_cause(member, incident, rules) for member in members):
            return replace(page, members=(*page.members, incident.id))
    again = [page for page in pages if page.cause == incident.cause and not page.members and _recent(page, now)]
    if again:
        return _opened(max(again, key=lambda page: page.opened_at), incident, now)
    page = Page(
        id=id_of("page", incident.cause, incident.id),
        cause=incident.cause,
        opened_at=now,
        severity=incident.severity,
        members=(),
        began_at=now,
    )
    return _opened(page, incident, now)


def _recent(page: Page, now: datetime) -> bool:
    return page.resolved_at is None or now - page.resolved_at < WITHIN


def _opened(page: Page, incident: Incident, now: datetime) -> Page:
    """After people were told that it is over, nobody has it in hand any more."""
    changes = _changes(page, now)
    over = page.resolved_at is not None
    return replace(
        page,
        members=(incident.id,),
        severity=incident.severity,
        opened_at=now if over else page.opened_at,
        resolved_at=None,
        changes=changes,
        flapping=page.flapping or len(changes) > MOST_CHANGES,
        pipelines=() if over else page.pipelines,
        probes=() if over else page.probes,
        hops=() if over else page.hops,
        changed=() if over else page.changed,
        acked_by=None if over else page.acked_by,
        acked_at=None if over else page.acked_at,
    )


def _changes(page: Page, now: datetime) -> tuple[datetime, ...]:
    """Those of the last hour; the ones that are still to come are of a clock that was set back since."""
    return (*(at for at in page.changes if timedelta(0) <= now - at < WITHIN), now)


def _current(page: Page, active: dict[str, Incident], rules: Rules, now: datetime) -> Page:
    """Its members as they are; closed if there are none any more; settled if nothing has changed for long."""
    if page.resolved_at is not None:
        return page
    page = replace(page, told=_not_to_come(page.told, now))
    members = [active[member] for member in page.members if member in active]
    if page.members and not members:
        page = replace(page, members=(), changes=_changes(page, now))
    if page.flapping and not page.changes[-1] <= now < settles_at(page):
        page = replace(page, flapping=False)
    if not members:
        return page if page.flapping else replace(page, resolved_at=page.changes[-1])
    severity = max((each.severity for each in members), key=rank)
    if page.acked_at is not None and _more_than_told(severity, page):
        page = replace(page, acked_by=None, acked_at=None)
    return replace(
        page,
        members=tuple(each.id for each in members),
        severity=severity,
        affected=_affected(members, rules),
        lead=leading(members),
        pipelines=_more(page.pipelines, (each.key.pipeline for each in members)),
        probes=_more(page.probes, (each.key.probe for each in members)),
    )


def _not_to_come(told: tuple[Told, ...], now: datetime) -> tuple[Told, ...]:
    """With the last of them at this moment at the latest; how far they are apart stays."""
    by = max((each.at for each in told), default=now) - now
    return tuple(replace(each, at=each.at - by) for each in told) if by > timedelta(0) else told


def _more_than_told(severity: Severity, page: Page) -> bool:
    told = [rank(each.severity) for each in page.told if each.severity is not None]
    return bool(told) and rank(severity) > max(told)


def _more(known: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*known, *names}))


def _affected(members: Sequence[Incident], rules: Rules) -> tuple[str, ...]:
    """Hops of all members, from the user down, pipeline by pipeline.

    Last those that the plan has no more: that a hop got another name is no sign that it is well.
    """
    found: dict[str, None] = {}
    for incident in members:
        pipeline = rules.pipeline(incident.key.pipeline)
        hops = [hop.name for hop in pipeline.hops] if pipeline else []
        affected = incident.finding.affected
        found |= dict.fromkeys(name for name in hops if name in affected)
        found |= dict.fromkeys(name for name in affected if name not in hops)
    return tuple(found)
