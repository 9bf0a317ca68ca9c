"""The pages that people look at. Who has no token sees what `alerting.board` shows to everybody, and no more.

A page asks the snapshot and the store, never a target. It is made in a thread, one at a time, so that whoever looks
does not stand in the way of who measures. Where the store is away, the page says so and shows what it knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from aiohttp import hdrs, web

from canary.core.snapshot import Snapshot
from canary.core.span import DAYS, RANGES
from canary.core.spec import Pipeline
from canary.web.audience import Audience, audience
from canary.web.drawing import bare, drawing_of, sight_of
from canary.web.fresh import etag_of
from canary.web.incident_view import incident_view
from canary.web.markup import FILES, Asked, render
from canary.web.pipeline_view import strips, title_of
from canary.web.public import made_now
from canary.web.records import AwayError
from canary.web.run_view import run_view, was_open
from canary.web.site import SITE
from canary.web.view import NEVER_S, view_of
from canary.web.words import Words, language_of

T = TypeVar("T")
_LONGEST_NAME = 200
# Our own style, script and pictures, and nothing from anywhere else.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


async def front(request: web.Request) -> web.Response:
    snapshot = request.app[SITE].snapshot()
    asked = _asked(request, root="")
    names = [pipeline.name for pipeline in snapshot.plan.pipelines]
    days, why = await _or_away(request.app[SITE].records.days(names, DAYS.starts(snapshot.at)[0]), ())
    if audience(request) is Audience.PUBLIC:
        shown = (await made_now(request)).board
        return await _page(
            request,
            lambda: render(
                "public.html", asked, at=snapshot.at, board=shown, bars=strips(days, snapshot.at, asked.words), away=""
            ),
        )
    return await _page(
        request,
        lambda: render(
            "front.html",
            asked,
            at=snapshot.at,
            view=view_of(snapshot, asked.words),
            never=NEVER_S,
            bars=strips(days, snapshot.at, asked.words),
            away=why,
        ),
    )


async def pipeline(request: web.Request) -> web.Response:
    snapshot = request.app[SITE].snapshot()
    found = _pipeline(snapshot, _named(request, "pipeline"))
    asked = _asked(request, root="../")
    if audience(request) is Audience.PUBLIC:
        return await _public_pipeline(request, snapshot, found, asked)
    query = request.query
    sight = sight_of(found, query.get("probe"), query.get("range", ""), snapshot.at, asked.words)
    site = request.app[SITE]
    drawn, why = await _or_away(drawing_of(sight, site.records, site.drawings, site.rendering), None)

    def made() -> str:
        drawing = drawn or bare(sight)
        now = view_of(snapshot, asked.words)
        row = next(each for each in now.rows if each.name == found.name)
        return render(
            "pipeline.html",
            asked,
            at=snapshot.at,
            view=drawing.view,
            row=row,
            opens=[each for each in now.opens if found.name in each.pipelines],
            runs=drawing.known.runs,
            ranges=tuple(RANGES),
            span=sight.span.name,
            probes=[each.probe.name for each in found.assignments],
            probe=sight.assignment.probe.name if sight.assignment else None,
            away=why,
        )

    return await _page(request, made)


async def run(request: web.Request) -> web.Response:
    """Private: the stream of an answer is in it."""
    site, asked, name = request.app[SITE], _asked(request, root="../"), _named(request, "run")
    kept_as = f"{asked.words.language} {name}"
    view = site.runs.get(kept_as)
    if view is None:
        stored = await _there(site.records.run(name))
        async with site.rendering:
            view = site.runs.keep(kept_as, await asyncio.to_thread(run_view, stored, asked.words))
    row = view.stored.row
    pages, _ = await _or_away(site.records.pages(row.pipeline, row.started_at), ())
    then = [(page, title_of(page, asked.words)) for page in pages if was_open(page, row)]
    return await _page(request, lambda: render("run.html", asked, at=site.snapshot().at, view=view, then=then))


async def transcript(request: web.Request) -> web.Response:
    """A stream as it was recorded, for `canary replay`; a file to keep and no page, whatever is in it."""
    stored = await _there(request.app[SITE].records.run(_named(request, "run")))
    place = request.match_info["place"]
    known = {str(number): each for number, each in enumerate(stored.results)}
    text = known[place].transcript if place in known else None
    if text is None:
        raise web.HTTPNotFound
    name = f"{stored.row.id}-{place}.jsonl"
    headers = {
        hdrs.CONTENT_TYPE: "application/x-ndjson; charset=utf-8",
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{name}"',
    }
    return web.Response(body=text.encode("utf-8", "replace"), headers=headers)


async def incident(request: web.Request) -> web.Response:
    snapshot, asked = request.app[SITE].snapshot(), _asked(request, root="../")
    page_id = _named(request, "page")
    if audience(request) is Audience.PUBLIC:
        board = (await made_now(request)).board
        told = next((each for each in board.incidents if each.id == page_id), None)
        if told is None:
            raise web.HTTPNotFound
        return await _page(
            request, lambda: render("public_incident.html", asked, at=snapshot.at, board=board, incident=told)
        )
    case = await _there(request.app[SITE].records.case(page_id))
    return await _page(
        request, lambda: render("incident.html", asked, at=snapshot.at, view=incident_view(case, asked.words))
    )


async def file(request: web.Request) -> web.Response:
    kind, text = FILES[request.path.removeprefix("/")]
    return web.Response(text=text, content_type=kind, headers={hdrs.CACHE_CONTROL: "max-age=3600"})


async def _public_pipeline(request: web.Request, snapshot: Snapshot, found: Pipeline, asked: Asked) -> web.Response:
    days, _ = await _or_away(request.app[SITE].records.days([found.name], DAYS.starts(snapshot.at)[0]), ())
    board = (await made_now(request)).board
    return await _page(
        request,
        lambda: render(
            "public_pipeline.html",
            asked,
            at=snapshot.at,
            board=board,
            name=found.name,
            bars=strips(days, snapshot.at, asked.words),
        ),
    )


async def _or_away(asking: Awaitable[T], otherwise: T) -> tuple[T, str]:
    try:
        return await asking, ""
    except AwayError as away:
        return otherwise, str(away)


async def _there(asking: Awaitable[T | None]) -> T:
    """Raises the answer of a page that is not there, or that cannot be looked for."""
    try:
        found = await asking
    except AwayError:
        raise web.HTTPServiceUnavailable from None
    if found is None:
        raise web.HTTPNotFound
    return found


def _pipeline(snapshot: Snapshot, name: str) -> Pipeline:
    found = next((each for each in snapshot.plan.pipelines if each.name == name), None)
    if found is None:
        raise web.HTTPNotFound
    return found


def _named(request: web.Request, part: str) -> str:
    name = request.match_info[part]
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise web.HTTPNotFound
    return name


def _asked(request: web.Request, *, root: str) -> Asked:
    said = request.query.get("lang")
    words = Words(language=language_of(said, request.headers.get(hdrs.ACCEPT_LANGUAGE, "")))
    return Asked(words=words, root=root, query={"lang": words.language} if said == words.language else {})


async def _page(request: web.Request, make: Callable[[], str]) -> web.Response:
    """With an ETag that does not change with the time that the page says it was made at."""
    site = request.app[SITE]
    async with site.rendering:
        text, etag = await asyncio.to_thread(_made, make, site.snapshot().at)
    headers = {
        hdrs.ETAG: f'W/"{etag}"',
        hdrs.VARY: f"{hdrs.ACCEPT_LANGUAGE}, {hdrs.AUTHORIZATION}",
        hdrs.CACHE_CONTROL: "private, no-cache",
        "Content-Security-Policy": POLICY,
    }
    known = request.if_none_match or ()
    if any(each.value in (etag, "*") for each in known):
        return web.Response(status=304, headers=headers)
    return web.Response(text=text, content_type="text/html", headers=headers)


def _made(make: Callable[[], str], now: datetime) -> tuple[str, str]:
    text = make()
    return text, etag_of(text.partition("<main")[2].encode() or str(now).encode())
