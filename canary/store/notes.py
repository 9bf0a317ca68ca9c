"""What people say to everybody: notes on pages, and levels that outrank what was measured."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.status import Note, Override
from canary.store.aside import Aside
from canary.store.codec import decode, encode
from canary.store.tables import NOTES, OVERRIDES
from canary.store.upsert import replace_all

_MOST = 500  # notes that are read at once; the newest


async def add_note(connection: AsyncConnection, note: Note) -> None:
    await connection.execute(NOTES.insert().values(page_id=note.page_id, at=note.at, body=encode(note)))


async def notes(connection: AsyncConnection, page_ids: Collection[str], aside: Aside) -> tuple[Note, ...]:
    """Of these pages, oldest first."""
    query: Select[Any] = select(NOTES.c.id, NOTES.c.body).where(NOTES.c.page_id.in_(page_ids))
    found = list(await connection.execute(query.order_by(NOTES.c.at.desc(), NOTES.c.id.desc()).limit(_MOST)))
    return aside.readable(NOTES, found[::-1], lambda row: decode(Note, row.body))


async def overrides(connection: AsyncConnection, since: datetime, aside: Aside) -> tuple[Override, ...]:
    """Those that were not over by then, in the order in which they were said."""
    query: Select[Any] = select(OVERRIDES.c.id, OVERRIDES.c.body).where(OVERRIDES.c.ends_at > since)
    found = await connection.execute(query.order_by(OVERRIDES.c.at, OVERRIDES.c.id))
    return aside.readable(OVERRIDES, found, lambda row: decode(Override, row.body))


async def add_override(connection: AsyncConnection, override: Override) -> None:
    row = {"id": override.id, "at": override.at, "ends_at": override.ends_at, "body": encode(override)}
    await replace_all(connection, OVERRIDES, [row])


async def end_override(connection: AsyncConnection, override_id: str, at: datetime) -> Override | None:
    """The override as it is now; None: there is none with that id. One that is over already stays as it was."""
    body = await connection.scalar(select(OVERRIDES.c.body).where(OVERRIDES.c.id == override_id))
    if body is None:
        return None
    override = decode(Override, body)
    ended = replace(override, ends_at=min(override.ends_at, at))
    await add_override(connection, ended)
    return ended
