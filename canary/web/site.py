"""What every handler needs, under one key of the application, and how an answer is put."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web
from prometheus_client import CollectorRegistry

from canary.alerting.board import Chronicle
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.core.service import Listen
from canary.core.snapshot import Snapshot
from canary.web.actions import Actions
from canary.web.drawing import Drawing
from canary.web.rate import Bucket
from canary.web.recent import Recent
from canary.web.records import Records
from canary.web.run_view import RunView
from canary.web.shelf import Shelf

_MOST_DRAWINGS = 16  # of a third of a megabyte each
_MOST_RUNS = 16  # whose pictures are kept: a run does not change any more, and to read its streams takes long


class Access(StrEnum):
    """Who may ask for a route."""

    OPEN = "open"  # everybody, always
    PUBLIC = "public"  # everybody, where the config has a public status page; its handler shows no more than that
    PRIVATE = "private"  # who has the token, or is on this machine where none is set


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """`access`: who may ask for a route, by its path as the table of routes writes it.

    `chronicle`: what the store adds to a snapshot for everybody. `rendering`: one large page or scrape at a time, so
    that many who ask take no more than one thread.
    """

    snapshot: Callable[[], Snapshot]
    actions: Actions
    listen: Listen
    registry: CollectorRegistry
    clock: Callable[[], float]
    posts: Bucket
    access: Mapping[str, Access]
    chronicle: Callable[[], Awaitable[Chronicle]]
    records: Records
    drawings: Recent[Drawing] = field(default_factory=lambda: Recent(_MOST_DRAWINGS))
    runs: Recent[RunView] = field(default_factory=lambda: Recent(_MOST_RUNS))
    shelf: Shelf = field(default_factory=Shelf)
    rendering: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def token(self) -> Secret | None:
        """As the config says now, which may have been reloaded."""
        return self.snapshot().plan.service.listen.token


SITE = web.AppKey("site", Site)


def problem(
    status: int, error: str, message: str, *, headers: Mapping[str, str] | None = None, **more: Json
) -> web.Response:
    """A refusal: one word for programs, one sentence for people."""
    return web.json_response({"error": error, "message": message} | more, status=status, headers=headers)
