"""The routes for everybody: Statuspage's documents, feeds and badges. Whoever asks, the bytes are the same.

They show what `alerting.board` has made of pages, and that is all they can show: no handler here looks at anything
else. What was made of one snapshot and one chronicle is kept until there is another, so that many who ask cost little.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from aiohttp import hdrs, web

from canary.alerting.board import Board, board
from canary.alerting.published import spoken
from canary.core.observation import Json
from canary.web import badges, feeds
from canary.web.fresh import etag_of, fresh, unchanged
from canary.web.shelf import Made
from canary.web.site import SITE
from canary.web.statuspage_v2 import DOCUMENTS

JSON = "application/json; charset=utf-8"
SVG = "image/svg+xml; charset=utf-8"
_FEEDS = {
    feeds.ATOM: (feeds.atom, "application/atom+xml; charset=utf-8"),
    feeds.RSS: (feeds.rss, "application/rss+xml; charset=utf-8"),
    feeds.JSON_FEED: (feeds.json_feed, "application/feed+json; charset=utf-8"),
}
_API = "/api/v2/"
BADGE_NAMES = ("", "/{pipeline}", "/{pipeline}/{hop}")
FEED_PATHS, API_PATHS = tuple(_FEEDS), tuple(_API + path for path in DOCUMENTS)


async def made_now(request: web.Request) -> Made:
    site = request.app[SITE]
    snapshot, chronicle, url = site.snapshot(), await site.chronicle(), url_of(request)
    made = site.shelf.newest
    if made is None or made.snapshot is not snapshot or made.chronicle is not chronicle or made.url != url:
        now = await asyncio.to_thread(board, snapshot, chronicle, url)
        made = site.shelf.newest = Made(snapshot=snapshot, chronicle=chronicle, url=url, board=now)
    return made


def url_of(request: web.Request) -> str:
    """How links to us begin: as the config says, else as whoever asks has found us."""
    listen = request.app[SITE].listen
    return listen.public_url or f"{request.scheme}://{request.host}"


async def document(request: web.Request) -> web.Response:
    path = request.path
    made = DOCUMENTS[path.removeprefix(_API)]
    return await _answer(request, lambda now: _json(made(now)), JSON, shared=True)


async def feed(request: web.Request) -> web.Response:
    made, content_type = _FEEDS[request.path]
    return await _answer(request, made, content_type, shared=request.path == feeds.JSON_FEED)


async def badge(request: web.Request) -> web.Response:
    label, look = await _badge(request)
    return await _answer(request, lambda _: badges.svg(label, look), SVG, embedded=True)


async def shield(request: web.Request) -> web.Response:
    label, look = await _badge(request)
    return await _answer(request, lambda _: _json(badges.shield(label, look)), JSON, shared=True)


async def _badge(request: web.Request) -> tuple[str, badges.Look]:
    now = (await made_now(request)).board
    pipeline, hop = request.match_info.get("pipeline"), request.match_info.get("hop")
    if pipeline is None:
        return now.title, badges.look_of(now.level, told=now.told)
    found = now.component(pipeline, hop)
    if found is None:
        raise web.HTTPNotFound
    label = pipeline if hop is None else f"{pipeline} / {hop}"
    return spoken(label), badges.look_of(found.level, told=found.told)


def _json(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


async def _answer(
    request: web.Request,
    make: Callable[[Board], bytes],
    content_type: str,
    *,
    shared: bool = False,
    embedded: bool = False,
) -> web.Response:
    """`shared`: scripts of other sites may read it. `embedded`: other sites may show it as a picture."""
    made, public = await made_now(request), is_public(request)
    body = made.bodies.get(request.path)
    if body is None:
        body = made.bodies[request.path] = await asyncio.to_thread(make, made.board)
    etag = etag_of(body)
    changed_at = request.app[SITE].shelf.changes.note(request.path, etag, made.board.at)
    response = fresh(body, content_type, etag, changed_at, public=public)
    if unchanged(request, etag, changed_at):
        response = web.Response(status=304, headers=_without_body(response))
    if public and shared:
        response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = "*"
    if public and (shared or embedded):
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def is_public(request: web.Request) -> bool:
    return request.app[SITE].snapshot().plan.service.status_page.public


def _without_body(response: web.Response) -> dict[str, str]:
    kept = (hdrs.ETAG, hdrs.LAST_MODIFIED, hdrs.CACHE_CONTROL)
    return {name: response.headers[name] for name in kept}
