"""What a store knew all along, and what was seen while it could not be read, become one.

A daemon that starts without its store begins with nothing open, and pages for what it sees. When the store comes, it
may hold the same faults from before: open incidents, pages that people were told of and have in hand. Then:

- Two incidents of one key become the stored one, as it was seen last. Were it only pending, nobody heard of it, and
  ours goes on instead.
- A page of ours with the cause of a stored one that is open, or with one of its incidents, gives its incidents to it
  and ends. People were told twice, which could not be helped; they keep the page that they had first, with what they
  said of it, and hear that the other one is over and why.
- What only the store knew goes on from the next run, as after any restart.
- A stored page of whose incidents none can be read goes on with the one that led it: that nothing is known of a fault
  is no sign that it is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from canary.alerting.incidents import ACTIVE, enter
from canary.alerting.rules import Known
from canary.core.incident import Event, Incident, Page, State, Transition


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """`incidents`: all of both, as they were; `moves`: what becomes of some; `pages`: all, some without members."""

    incidents: tuple[Incident, ...]
    moves: tuple[tuple[Incident, Transition | None], ...]
    pages: tuple[Page, ...]


def join(stored: Known, ours: Known, now: datetime) -> Joined:
    before = (*stored.incidents, *_leading(stored))
    mine = {each.key: each for each in ours.incidents}
    moves: list[tuple[Incident, Transition | None]] = []
    heirs: dict[str, str] = {}  # ours: stored
    for old in before:
        new = mine.get(old.key)
        if new is not None and old.state in ACTIVE:
            moves += [_continued(old, new, now), enter(new, Event.GONE, now)]
            heirs[new.id] = old.id
        elif new is not None:
            moves.append(enter(old, Event.GONE, now))
    pages = _pages(stored.pages, ours.pages, heirs, now)
    return Joined(incidents=(*before, *ours.incidents), moves=tuple(moves), pages=pages)


def _leading(stored: Known) -> list[Incident]:
    known, keys = {each.id for each in stored.incidents}, {each.key for each in stored.incidents}
    lost = (page for page in stored.pages if page.resolved_at is None and page.members and not known & {*page.members})
    leads = {page.lead.key: page.lead for page in lost if page.lead is not None and page.lead.id in page.members}
    return [lead for key, lead in leads.items() if key not in keys]


def _continued(old: Incident, new: Incident, now: datetime) -> tuple[Incident, Transition | None]:
    """`old`, with what `new` saw of it. A failure since then ends a recovery, even one that alone tells nobody."""
    seen = replace(new, id=old.id, state=old.state, since=old.since, opened_at=old.opened_at, seen_at=old.seen_at)
    event = Event.PASSED if new.state is State.RECOVERING else Event.FAILED
    return enter(seen, event, now, run_id=new.run_id)


def _pages(stored: Iterable[Page], ours: Iterable[Page], heirs: Mapping[str, str], now: datetime) -> tuple[Page, ...]:
    pages = {page.id: page for page in stored}
    for page in ours:
        members = tuple(heirs.get(member, member) for member in page.members)
        home = _home(page, members, pages.values())
        if home is None:
            pages[page.id] = replace(page, members=members)
            continue
        pages[home.id] = replace(
            home,
            members=tuple(dict.fromkeys((*home.members, *members))),
            acked_by=home.acked_by or page.acked_by,
            acked_at=home.acked_at or page.acked_at,
        )
        pages[page.id] = replace(page, members=(), flapping=False, changes=(now,))
    return tuple(pages.values())


def _home(page: Page, members: tuple[str, ...], stored: Iterable[Page]) -> Page | None:
    """The open page that was there before, and is about the same; None: this one goes on."""
    if page.resolved_at is not None:
        return None
    return next(
        (
            each
            for each in stored
            if each.resolved_at is None and (each.cause == page.cause or {*members} & {*each.members})
        ),
        None,
    )
