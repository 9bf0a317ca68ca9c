"""The ping that says that we are alive: who hears it no more calls for help in our place."""

from __future__ import annotations

import aiohttp

from canary.core.notification import Delivery
from canary.core.service import Heartbeat
from canary.notify.http import TIMEOUT_S, HttpRequest, attempted, post
from canary.notify.redact import without_secrets


async def ping(heartbeat: Heartbeat, session: aiohttp.ClientSession) -> Delivery:
    """A GET, as every such service takes it."""
    request = HttpRequest(url=heartbeat.url, method="GET")
    return without_secrets(await attempted(post(request, session), timeout_s=TIMEOUT_S), heartbeat)
