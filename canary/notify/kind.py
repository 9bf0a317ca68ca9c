"""What every notifier is: its options, and one coroutine that brings one notification to one receiver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import aiohttp

from canary.core.incident import Incident, Page
from canary.core.notification import Delivery, Notification
from canary.core.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a notifier may want besides the notification, as it is when the attempt is made.

    `run`: the run that showed the finding, for a picture of it; None: no picture. `pages`: all that are open, with
    their `incidents`.
    """

    run: Run | None = None
    pages: tuple[Page, ...] = ()
    incidents: tuple[Incident, ...] = ()


NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One attempt. `handle`: what an earlier `Sent` of the same page at this receiver gave, None for the first.

    `now`: when the attempt is made.
    """

    notification: Notification
    now: datetime
    handle: str | None = None
    beside: Beside = NOTHING_BESIDE


Send: TypeAlias = Callable[[Errand, Any, aiohttp.ClientSession], Awaitable[Delivery]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierKind:
    """`options`: a frozen dataclass, whose fields are the keys of its section in a config; what is a `Secret` there
    is given by reference only.

    `refresh_s`: the receiver forgets an open page unless the last notification comes again at least that often; None:
    it keeps what it was told. `edits`: what it was told can be put right without disturbing anybody. `extra`: the
    optional dependency that it needs.
    """

    summary: str
    options: type
    send: Send
    refresh_s: float | None = None
    edits: bool = False
    extra: str | None = None
