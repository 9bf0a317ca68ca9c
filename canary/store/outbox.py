"""Notifications on their way. A row is queued, then sent or dead, and keeps its place in the order of decisions.

Of one page, one receiver hears in order: a later row is not due before the earlier ones are sent or dead. What was sent
is marked after it was, so a crash in between sends it again, under the same id.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy import Select, Update, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.kept import Delivered
from canary.core.notification import Notification
from canary.store.aside import Aside
from canary.store.codec import decode
from canary.store.rows import Queued
from canary.store.tables import OUTBOX

_QUEUED = text("outbox.state = 'queued'")  # to the letter as in the index
_EARLIER = OUTBOX.alias("earlier")
_SENT = OUTBOX.alias("sent_before")


def due_query(now: datetime, most: int) -> Select[Any]:
    first = select(_EARLIER.c.id).where(
        _EARLIER.c.page_id == OUTBOX.c.page_id,
        _EARLIER.c.receiver == OUTBOX.c.receiver,
        _EARLIER.c.id < OUTBOX.c.id,
        _EARLIER.c.state == "queued",
    )
    handle = (
        select(_SENT.c.handle)
        .where(_SENT.c.page_id == OUTBOX.c.page_id, _SENT.c.receiver == OUTBOX.c.receiver, _SENT.c.handle.is_not(None))
        .order_by(_SENT.c.id.desc())
        .limit(1)
        .correlate(OUTBOX)
        .scalar_subquery()
    )
    query = select(
        OUTBOX.c.notification_id,
        OUTBOX.c.state,
        OUTBOX.c.body,
        OUTBOX.c.attempts,
        OUTBOX.c.due_at,
        handle.label("handle"),
    )
    return query.where(_QUEUED, OUTBOX.c.due_at <= now, ~first.exists()).order_by(OUTBOX.c.id).limit(most)


async def due(connection: AsyncConnection, now: datetime, most: int) -> list[Found[Any]]:
    return list(await connection.execute(due_query(now, most)))


def queued_of(rows: Sequence[Found[Any]], aside: Aside) -> tuple[Queued, ...]:
    """The work of reading them, for a thread."""
    return aside.readable(OUTBOX, rows, _queued)


def _queued(row: Found[Any]) -> Queued:
    told = decode(Notification, row.body)
    return Queued(notification=told, attempts=row.attempts, due_at=row.due_at, handle=row.handle)


async def next_due(connection: AsyncConnection) -> datetime | None:
    found: datetime | None = await connection.scalar(select(func.min(OUTBOX.c.due_at)).where(_QUEUED))
    return found


async def depth(connection: AsyncConnection) -> int:
    return int(await connection.scalar(select(func.count()).select_from(OUTBOX).where(_QUEUED)) or 0)


def marked(notification_id: str) -> Update:
    """One more attempt at this row; whoever is not queued any more is left alone."""
    this = update(OUTBOX).where(OUTBOX.c.notification_id == notification_id, _QUEUED)
    return this.values(attempts=OUTBOX.c.attempts + 1)


async def of_page(connection: AsyncConnection, page_id: str, aside: Aside) -> tuple[Delivered, ...]:
    rows = await connection.execute(select(OUTBOX).where(OUTBOX.c.page_id == page_id).order_by(OUTBOX.c.id))
    return aside.readable(OUTBOX, rows, delivered)


async def dead(connection: AsyncConnection, since: datetime | None, aside: Aside) -> tuple[Delivered, ...]:
    query = select(OUTBOX).where(OUTBOX.c.done_at.is_not(None), OUTBOX.c.state == "dead").order_by(OUTBOX.c.id)
    if since is not None:
        query = query.where(OUTBOX.c.done_at >= since)
    return aside.readable(OUTBOX, await connection.execute(query), delivered)


def delivered(row: Found[Any]) -> Delivered:
    return Delivered(
        notification=decode(Notification, row.body),
        attempts=row.attempts,
        sent_at=row.done_at if row.state == "sent" else None,
        dead_at=row.done_at if row.state == "dead" else None,
        due_at=row.due_at if row.state == "queued" else None,
        why=row.why,
    )
