"""What every request passes before a handler sees it, and what every answer says to browsers."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from canary.web.audience import stranger, to_all
from canary.web.auth import cross_site
from canary.web.bodies import BodyError
from canary.web.site import SITE, Site, problem

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_READING = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@web.middleware
async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
    if not to_all(request):
        refused = stranger(request) or _unwanted(request)
        if refused is not None:
            return refused
    return await handler(request)


def _unwanted(request: web.Request) -> web.Response | None:
    """The refusal for what would change something and must not, or not so often."""
    if request.method in _READING:
        return None
    site = request.app[SITE]
    if why := _cross_site(request, site):
        return problem(403, "cross_site", why)
    wait_s = site.posts.take(site.clock())
    if wait_s is not None:
        headers = {"Retry-After": str(math.ceil(wait_s))}
        return problem(
            429, "too_many", f"too many requests that change something; wait {wait_s:.0f} s", headers=headers
        )
    return None


def _cross_site(request: web.Request, site: Site) -> str | None:
    return cross_site(
        request.headers.get("Sec-Fetch-Site", ""),
        request.headers.get(hdrs.ORIGIN, ""),
        request.headers.get(hdrs.HOST, ""),
        site.listen.public_url,
    )


@web.middleware
async def as_problem(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What is refused by raising, here or in aiohttp (no such page, another method, too long a body), in one shape."""
    try:
        return await handler(request)
    except BodyError as wrong:
        return problem(400, "bad_body", "the body is not what this takes", details=list(wrong.problems))
    except web.RequestPayloadError:  # broken framing, or not the coding that it says it is
        return problem(400, "bad_body", "the body cannot be read")
    except web.HTTPException as refused:
        allow = refused.headers.get(hdrs.ALLOW)
        headers = {"Allow": allow} if allow else None
        return problem(refused.status, refused.reason.lower().replace(" ", "_"), refused.reason, headers=headers)


async def harden(_: web.Request, response: web.StreamResponse) -> None:
    """A signal and not a middleware, so that the answer to our own bug has the headers too."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.pop(hdrs.SERVER, None)  # aiohttp would tell strangers its version and Python's
    response.headers.setdefault(hdrs.CACHE_CONTROL, "no-store")
