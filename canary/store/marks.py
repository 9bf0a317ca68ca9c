"""What people put beside the measurements: silences and deploys."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.deploy import Deploy
from canary.core.route import Silence
from canary.store.aside import Aside
from canary.store.codec import decode, encode
from canary.store.tables import DEPLOYS, SILENCES
from canary.store.upsert import replace_all


async def silences(connection: AsyncConnection, now: datetime, aside: Aside) -> tuple[Silence, ...]:
    """Those that are not over, soonest over first; some may only begin later."""
    query = select(SILENCES.c.id, SILENCES.c.body).where(SILENCES.c.ends_at > now).order_by(SILENCES.c.ends_at)
    return aside.readable(SILENCES, await connection.execute(query), lambda row: decode(Silence, row.body))


async def add_silence(connection: AsyncConnection, silence: Silence) -> None:
    row = {"id": silence.id, "ends_at": silence.ends_at, "body": encode(silence)}
    await replace_all(connection, SILENCES, [row])


async def end_silence(connection: AsyncConnection, silence_id: str, at: datetime) -> Silence | None:
    """The silence as it is now; None: there is none with that id. One that is over already stays as it was."""
    body = await connection.scalar(select(SILENCES.c.body).where(SILENCES.c.id == silence_id))
    if body is None:
        return None
    silence = decode(Silence, body)
    ended = replace(silence, ends_at=min(silence.ends_at, at))
    await add_silence(connection, ended)
    return ended


async def add_deploy(connection: AsyncConnection, deploy: Deploy) -> None:
    await connection.execute(DEPLOYS.insert().values(at=deploy.at, body=encode(deploy)))


async def deploys(connection: AsyncConnection, since: datetime, aside: Aside) -> tuple[Deploy, ...]:
    query = select(DEPLOYS.c.id, DEPLOYS.c.body).where(DEPLOYS.c.at >= since).order_by(DEPLOYS.c.at, DEPLOYS.c.id)
    return aside.readable(DEPLOYS, await connection.execute(query), lambda row: decode(Deploy, row.body))
