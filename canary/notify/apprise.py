"""Everything else, by apprise: mail, Teams, Telegram and some hundred more. https://github.com/caronc/apprise

It is synchronous, so it works in a thread, which cannot be stopped: an attempt that takes too long counts as failed
and may yet arrive. It says only yes or no; its own log of the attempt says why, and is quoted: of this attempt alone,
since the log is one for all receivers, and another's secrets are not known here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import StringIO

import aiohttp

from canary.core.finding import Severity
from canary.core.notification import Delivery, Notification, Reason, Rejected, RetryLater, Sent
from canary.core.secret import Secret
from canary.notify.http import attempted
from canary.notify.kind import Errand
from canary.notify.text import headline, plain

_MOST_QUOTED_CHARS = 200
_ATTEMPT: ContextVar[StringIO | None] = ContextVar("attempt", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppriseOptions:
    """`url` as apprise writes it, like mailtos://user:password@example.com; it holds the credentials."""

    url: Secret
    timeout_s: float = 30.0  # its services are slower than one request: a mail takes several round trips


async def send(errand: Errand, options: AppriseOptions, session: aiohttp.ClientSession) -> Delivery:  # noqa: ARG001
    """Its services open connections of their own; ours is not used."""
    working = asyncio.to_thread(_notify, options.url.reveal(), errand.notification)
    return await attempted(working, timeout_s=options.timeout_s)


def _notify(url: str, notification: Notification) -> Delivery:
    try:
        import apprise  # noqa: PLC0415  # an optional dependency, and half a second of work
    except ModuleNotFoundError:
        return Rejected(why="apprise is not installed: pip install 'reasoning-canary[apprise]'")
    service = apprise.Apprise()
    with _log() as log:
        if not service.add(url):
            return Rejected(why=f"apprise does not take this URL{_said(log.getvalue())}")
        taken = service.notify(
            title=headline(notification),
            body=plain(notification),
            notify_type=_type(notification),
            body_format=apprise.NotifyFormat.TEXT,
        )
        return Sent() if taken else RetryLater(why=f"apprise could not deliver it{_said(log.getvalue())}")


@contextmanager
def _log() -> Iterator[StringIO]:
    """It works in threads of its own, which inherit the context and not the thread's identity."""
    log = StringIO()
    _ATTEMPT.set(log)
    handler, logger = logging.StreamHandler(log), logging.getLogger("apprise")
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda _: _ATTEMPT.get() is log)
    logger.addHandler(handler)
    try:
        yield log
    finally:
        logger.removeHandler(handler)


def _type(notification: Notification) -> str:
    if notification.reason is Reason.TEST:
        return "info"
    if not notification.message.firing:
        return "success"
    return "failure" if notification.message.severity is Severity.CRITICAL else "warning"


def _said(log: str) -> str:
    words = " ".join(log.split())
    return f": {words[:_MOST_QUOTED_CHARS]}" if words else ""
