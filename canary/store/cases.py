"""A page with all that belongs to it, and the pages of a stretch of time: what is read when somebody looks back.

Which incidents were on a page stands in no column: they share its cause and were there while it was open. Both are
looked for in the stored JSON, among the few rows of that time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy import Row as Found
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.incident import Incident, Page
from canary.core.kept import Case
from canary.store import conclusions, notes, outbox
from canary.store.aside import Aside
from canary.store.codec import decode
from canary.store.tables import INCIDENTS, OUTBOX, PAGES, TRANSITIONS

_MOST_INCIDENTS, _MOST_TRANSITIONS, _MOST_DELIVERIES = 50, 200, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Pages that were open at some time since then; `pipeline` None: whoever saw them."""

    since: datetime
    pipeline: str | None = None


def recent_query(which: Which, most: int) -> Select[Any]:
    query = select(PAGES.c.id, PAGES.c.body).where(
        or_(PAGES.c.resolved_at.is_(None), PAGES.c.resolved_at >= which.since)
    )
    if which.pipeline is not None:
        query = query.where(_says(PAGES.c.body, which.pipeline))
    return query.order_by(PAGES.c.opened_at.desc()).limit(most)


async def recent(connection: AsyncConnection, which: Which, most: int) -> list[Found[Any]]:
    return list(await connection.execute(recent_query(which, most)))


def pages_of(rows: Sequence[Found[Any]], which: Which, aside: Aside) -> tuple[Page, ...]:
    """Newest first. The work of reading them, for a thread."""
    pages = conclusions.pages_of(rows, aside)
    return tuple(page for page in pages if which.pipeline is None or which.pipeline in page.pipelines)


async def case(connection: AsyncConnection, page_id: str, aside: Aside) -> Case | None:
    """Raises CodecError where the page itself cannot be read."""
    body = await conclusions.body_of(connection, PAGES, page_id)
    if body is None:
        return None
    page = decode(Page, body)
    incidents = await _incidents(connection, page, aside)
    ids = [incident.id for incident in incidents]
    transitions: Select[Any] = (
        select(TRANSITIONS.c.id, TRANSITIONS.c.body)
        .where(TRANSITIONS.c.incident_id.in_(ids))
        .order_by(TRANSITIONS.c.at.desc(), TRANSITIONS.c.id.desc())
        .limit(_MOST_TRANSITIONS)
    )
    deliveries = select(OUTBOX).where(OUTBOX.c.page_id == page_id).order_by(OUTBOX.c.id.desc()).limit(_MOST_DELIVERIES)
    changes = list(await connection.execute(transitions))[::-1]
    told: list[Found[Any]] = list(await connection.execute(deliveries))[::-1]
    return Case(
        page=page,
        incidents=incidents,
        transitions=conclusions.transitions_of(changes, aside),
        deliveries=aside.readable(OUTBOX, told, outbox.delivered),
        withheld=await conclusions.held(connection, page_id, aside),
        notes=await notes.notes(connection, [page_id], aside),
    )


async def _incidents(connection: AsyncConnection, page: Page, aside: Aside) -> tuple[Incident, ...]:
    """Newest change first. One that is over was on the page if it was over after the page began."""
    within = and_(INCIDENTS.c.since >= page.opened_at, _says(INCIDENTS.c.body, page.cause))
    if page.resolved_at is not None:
        within = and_(within, INCIDENTS.c.since <= page.resolved_at)
    known = [*page.members, *([page.lead.id] if page.lead else [])]
    query: Select[Any] = select(INCIDENTS.c.id, INCIDENTS.c.body).where(or_(INCIDENTS.c.id.in_(known), within))
    found = list(await connection.execute(query.order_by(INCIDENTS.c.since.desc()).limit(_MOST_INCIDENTS)))
    return tuple(each for each in conclusions.incidents_of(found, aside) if each.cause == page.cause)


def _says(body: ColumnElement[str], text: str) -> ColumnElement[bool]:
    """Whether a JSON text holds that string, as `encode` writes it; perhaps in another place than the one meant."""
    return body.contains(json.dumps(text), autoescape=True)
