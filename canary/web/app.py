"""The HTTP surface as one table of routes, each with who may ask for it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from canary.core.service import Listen
from canary.core.snapshot import Snapshot
from canary.web import doing, showing
from canary.web.actions import Actions
from canary.web.gate import as_problem, gate, harden
from canary.web.metrics import registry_of
from canary.web.rate import Bucket
from canary.web.site import SITE, Access, Site

ROUTES: tuple[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]], Access], ...] = (
    (hdrs.METH_GET, "/", showing.page, Access.PRIVATE),
    (hdrs.METH_GET, "/style.css", showing.style, Access.OPEN),
    (hdrs.METH_GET, "/metrics", showing.metrics, Access.PRIVATE),
    (hdrs.METH_GET, "/api/v1/state", showing.state, Access.PRIVATE),
    (hdrs.METH_GET, "/-/healthy", showing.healthy, Access.OPEN),
    (hdrs.METH_GET, "/-/ready", showing.ready, Access.OPEN),
    (hdrs.METH_POST, "/-/reload", doing.reload, Access.PRIVATE),
    (hdrs.METH_POST, "/-/probe/{pipeline}", doing.probe, Access.PRIVATE),
    (hdrs.METH_POST, "/-/probe/{pipeline}/{probe}", doing.probe, Access.PRIVATE),
    (hdrs.METH_POST, "/-/deploy", doing.deploy, Access.PRIVATE),
    (hdrs.METH_POST, "/-/ack/{page}", doing.acknowledge, Access.PRIVATE),
    (hdrs.METH_POST, "/-/silence", doing.silence, Access.PRIVATE),
    (hdrs.METH_DELETE, "/-/silence/{id}", doing.unsilence, Access.PRIVATE),
)
# A person or a deploy script never needs more; a loop gone wild would pay for every probe that it starts.
BURST, EVERY_S = 20, 3.0


def app(
    *,
    snapshot: Callable[[], Snapshot],
    actions: Actions,
    listen: Listen,
    clock: Callable[[], float] = time.monotonic,
) -> web.Application:
    """`snapshot` is called once a request or more. `listen` is the address as bound; only its token may be reloaded.

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
        access={path: access for _, path, _, access in ROUTES},
    )
    for method, path, handler, _ in ROUTES:
        application.router.add_route(method, path, handler)
        if method == hdrs.METH_GET:
            application.router.add_route(hdrs.METH_HEAD, path, handler)
    application.on_response_prepare.append(harden)
    return application
