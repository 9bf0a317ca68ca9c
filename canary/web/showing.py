"""The routes that only show. None of them asks a target or the store for anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TypeVar

from aiohttp import hdrs, web

from canary.web.audience import Audience, audience
from canary.web.metrics import render
from canary.web.site import SITE, Site
from canary.web.state import state_of

T = TypeVar("T")


async def metrics(request: web.Request) -> web.Response:
    site = request.app[SITE]
    accept = request.headers.get(hdrs.ACCEPT, "")
    body, content_type = await _aside(site, lambda: render(site.registry, accept))
    return web.Response(body=body, headers={hdrs.CONTENT_TYPE: content_type})


async def state(request: web.Request) -> web.Response:
    site = request.app[SITE]
    snapshot = site.snapshot()
    text = await _aside(site, lambda: json.dumps(state_of(snapshot), ensure_ascii=False))
    return web.json_response(text=text)


async def healthy(_: web.Request) -> web.Response:
    """We run and answer; nothing about what we watch, nor about whether we can watch it."""
    return web.json_response({"healthy": True})


async def ready(request: web.Request) -> web.Response:
    """Public, so that an orchestrator needs no token; the reasons against are for those who may see everything."""
    found = request.app[SITE].snapshot().readiness
    shown = {"problems": list(found.problems), "notes": list(found.notes)}
    told = shown if audience(request) is Audience.PRIVATE else {}
    return web.json_response({"ready": not found.problems} | told, status=503 if found.problems else 200)


async def _aside(site: Site, work: Callable[[], T]) -> T:
    """Off the event loop, which stamps what probes receive; one at a time."""
    async with site.rendering:
        return await asyncio.to_thread(work)
