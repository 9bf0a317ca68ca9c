"""The HTTP surface as one table of routes, each with who may ask for it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from canary.alerting.board import Chronicle
from canary.core.service import Listen
from canary.core.snapshot import Snapshot
from canary.web import doing, pages, public, showing
from canary.web.actions import Actions
from canary.web.gate import as_problem, gate, harden
from canary.web.markup import FILES
from canary.web.metrics import registry_of
from canary.web.rate import Bucket
from canary.web.records import NO_RECORDS, Records
from canary.web.site import SITE, Access, Site

ROUTES: tuple[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]], Access], ...] = (
    (hdrs.METH_GET, "/", pages.front, Access.PUBLIC),
    (hdrs.METH_GET, "/pipelines/{pipeline}", pages.pipeline, Access.PUBLIC),
    (hdrs.METH_GET, "/incidents/{page}", pages.incident, Access.PUBLIC),
    (hdrs.METH_GET, "/runs/{run}", pages.run, Access.PRIVATE),
    (hdrs.METH_GET, "/runs/{run}/transcript/{place}", pages.transcript, Access.PRIVATE),
    *((hdrs.METH_GET, f"/{name}", pages.file, Access.OPEN) for name in FILES),
    (hdrs.METH_GET, "/metrics", showing.metrics, Access.PRIVATE),
    (hdrs.METH_GET, "/api/v1/state", showing.state, Access.PRIVATE),
    (hdrs.METH_GET, "/-/healthy", showing.healthy, Access.OPEN),
    (hdrs.METH_GET, "/-/ready", showing.ready, Access.OPEN),
    *((hdrs.METH_GET, path, public.document, Access.PUBLIC) for path in public.API_PATHS),
    *((hdrs.METH_GET, path, public.feed, Access.PUBLIC) for path in public.FEED_PATHS),
    *((hdrs.METH_GET, f"/badge{name}.svg", public.badge, Access.PUBLIC) for name in public.BADGE_NAMES),
    *((hdrs.METH_GET, f"/badge{name}.json", public.shield, Access.PUBLIC) for name in public.BADGE_NAMES),
    (hdrs.METH_POST, "/-/reload", doing.reload, Access.PRIVATE),
    (hdrs.METH_POST, "/-/probe/{pipeline}", doing.probe, Access.PRIVATE),
    (hdrs.METH_POST, "/-/probe/{pipeline}/{probe}", doing.probe, Access.PRIVATE),
    (hdrs.METH_POST, "/-/deploy", doing.deploy, Access.PRIVATE),
    (hdrs.METH_POST, "/-/ack/{page}", doing.acknowledge, Access.PRIVATE),
    (hdrs.METH_POST, "/-/silence", doing.silence, Access.PRIVATE),
    (hdrs.METH_DELETE, "/-/silence/{id}", doing.unsilence, Access.PRIVATE),
    (hdrs.METH_POST, "/-/note/{page}", doing.note, Access.PRIVATE),
    (hdrs.METH_POST, "/-/override", doing.override, Access.PRIVATE),
    (hdrs.METH_DELETE, "/-/override/{id}", doing.unoverride, Access.PRIVATE),
)
# A person or a deploy script never needs more; a loop gone wild would pay for every probe that it starts.
BURST, EVERY_S = 20, 3.0


_NOTHING_SAID = Chronicle()


async def _no_chronicle() -> Chronicle:
    return _NOTHING_SAID


def app(
    *,
    snapshot: Callable[[], Snapshot],
    actions: Actions,
    listen: Listen,
    chronicle: Callable[[], Awaitable[Chronicle]] = _no_chronicle,
    records: Records = NO_RECORDS,
    clock: Callable[[], float] = time.monotonic,
) -> web.Application:
    """`snapshot` is called once a request or more. `listen` is the address as bound; only its token may be reloaded.

    `chronicle`: what the store adds for everybody; asked at each request. `records`: the store, for pages.
    `clock`: seconds, for the rate limit.
    """
    application = web.Application(middlewares=[as_problem, gate], client_max_size=doing.MAX_BODY_BYTES)
    application[SITE] = Site(
        snapshot=snapshot,
        actions=actions,
        listen=listen,
        registry=registry_of(snapshot),
        clock=clock,
        posts=Bucket(burst=BURST, every_s=EVERY_S),
        chronicle=chronicle,
        records=records,
        access={path: access for _, path, _, access in ROUTES},
    )
    for method, path, handler, _ in ROUTES:
        application.router.add_route(method, path, handler)
        if method == hdrs.METH_GET:
            application.router.add_route(hdrs.METH_HEAD, path, handler)
    application.on_response_prepare.append(harden)
    return application
