"""Incidents, pages, transitions, and what nobody was told: written with the run that they follow from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy import Select, Table, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from canary.core.conclusion import Conclusion
from canary.core.incident import Incident, Page, Transition
from canary.core.kept import Held
from canary.core.notification import Notification, Reason, Withheld
from canary.store.aside import Aside
from canary.store.codec import decode, encode, word
from canary.store.tables import INCIDENTS, OUTBOX, PAGES, TRANSITIONS, WITHHELD
from canary.store.upsert import Row, insert, insert_new, replace_all

NOT_OK = text("state <> 'ok'")  # to the letter as in the index


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    incidents: Sequence[Row]
    pages: Sequence[Row]
    transitions: Sequence[Row]
    outbox: Sequence[Row]
    withheld: Sequence[Row]


def rows_of(conclusion: Conclusion) -> Rows:
    """The work of making them, for a thread."""
    return Rows(
        incidents=[_incident(each) for each in conclusion.incidents],
        pages=[_page(each) for each in conclusion.pages],
        transitions=[_transition(each) for each in conclusion.transitions],
        outbox=[_queued(each) for each in conclusion.notifications],
        withheld=[_withheld(each) for each in conclusion.withheld],
    )


async def save(connection: AsyncConnection, rows: Rows) -> None:
    """Again with the same conclusion: nothing is there twice, nobody is told twice."""
    await replace_all(connection, INCIDENTS, rows.incidents)
    await replace_all(connection, PAGES, rows.pages)
    await insert_new(connection, TRANSITIONS, rows.transitions)
    await insert_new(connection, OUTBOX, rows.outbox)
    if rows.withheld:
        new = insert(connection, WITHHELD)
        again = {"at": new.excluded.at, "until": new.excluded.until, "times": WITHHELD.c.times + 1}
        keys = list(WITHHELD.primary_key.columns)
        await connection.execute(new.on_conflict_do_update(index_elements=keys, set_=again), rows.withheld)


def _incident(incident: Incident) -> Row:
    return {
        "id": incident.id,
        "pipeline": incident.key.pipeline,
        "state": incident.state.value,
        "since": incident.since,
        "run_id": incident.run_id,
        "body": encode(incident),
    }


def _page(page: Page) -> Row:
    return {
        "id": page.id,
        "cause": page.cause,
        "opened_at": page.opened_at,
        "resolved_at": page.resolved_at,
        "body": encode(page),
    }


def _transition(transition: Transition) -> Row:
    return {
        "incident_id": transition.incident_id,
        "pipeline": transition.key.pipeline,
        "at": transition.at,
        "event": transition.event.value,
        "body": encode(transition),
    }


def _queued(notification: Notification) -> Row:
    return {
        "notification_id": notification.id,
        "page_id": notification.page_id,
        "receiver": notification.receiver,
        "run_id": notification.message.run_id,
        "at": notification.at,
        "state": "queued",
        "due_at": notification.at,
        "done_at": None,
        "attempts": 0,
        "why": "",
        "handle": None,
        "body": encode(notification),
    }


def _withheld(withheld: Withheld) -> Row:
    return {
        "page_id": withheld.page_id,
        "receiver": withheld.receiver or "",
        "reason": withheld.reason.value,
        "at": withheld.at,
        "first_at": withheld.at,
        "until": withheld.until,
        "times": 1,
    }


async def incidents(connection: AsyncConnection, since: datetime | None) -> list[Found[Any]]:
    query = select(INCIDENTS.c.id, INCIDENTS.c.body).order_by(INCIDENTS.c.since)
    query = query.where(NOT_OK if since is None else or_(NOT_OK, INCIDENTS.c.since >= since))
    return list(await connection.execute(query))


async def pages(connection: AsyncConnection, since: datetime) -> list[Found[Any]]:
    still = or_(PAGES.c.resolved_at.is_(None), PAGES.c.resolved_at >= since)
    return list(await connection.execute(select(PAGES.c.id, PAGES.c.body).where(still).order_by(PAGES.c.opened_at)))


async def body_of(connection: AsyncConnection, table: Table, row_id: str) -> str | None:
    found: str | None = await connection.scalar(select(table.c.body).where(table.c.id == row_id))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Which transitions are asked for; None fits all."""

    since: datetime | None = None
    pipeline: str | None = None
    incident_id: str | None = None


async def transitions(connection: AsyncConnection, which: Changes, most: int) -> list[Found[Any]]:
    """The newest `most`, newest last."""
    newest = (TRANSITIONS.c.at.desc(), TRANSITIONS.c.id.desc())
    query: Select[Any] = select(TRANSITIONS.c.id, TRANSITIONS.c.body).order_by(*newest).limit(most)
    if which.since is not None:
        query = query.where(TRANSITIONS.c.at >= which.since)
    if which.pipeline is not None:
        query = query.where(TRANSITIONS.c.pipeline == which.pipeline)
    if which.incident_id is not None:
        query = query.where(TRANSITIONS.c.incident_id == which.incident_id)
    return list(await connection.execute(query))[::-1]


async def held(connection: AsyncConnection, page_id: str, aside: Aside) -> tuple[Held, ...]:
    query = select(WITHHELD, WITHHELD.c.page_id.label("id")).where(WITHHELD.c.page_id == page_id)
    return aside.readable(WITHHELD, await connection.execute(query.order_by(WITHHELD.c.at)), _held)


def _held(row: Found[Any]) -> Held:
    withheld = Withheld(
        page_id=row.page_id,
        receiver=row.receiver or None,
        reason=word(Reason, row.reason),
        at=row.at,
        until=row.until,
    )
    return Held(withheld=withheld, first_at=row.first_at, times=row.times)


def incidents_of(rows: Sequence[Found[Any]], aside: Aside) -> tuple[Incident, ...]:
    return aside.readable(INCIDENTS, rows, lambda row: decode(Incident, row.body))


def pages_of(rows: Sequence[Found[Any]], aside: Aside) -> tuple[Page, ...]:
    return aside.readable(PAGES, rows, lambda row: decode(Page, row.body))


def transitions_of(rows: Sequence[Found[Any]], aside: Aside) -> tuple[Transition, ...]:
    return aside.readable(TRANSITIONS, rows, lambda row: decode(Transition, row.body))
