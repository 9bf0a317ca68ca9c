"""Who asks. Everything that is shown is private unless its route says otherwise (`Access` in the table of routes)."""

from __future__ import annotations

from enum import StrEnum

from aiohttp import hdrs, web

from canary.web.auth import foreign_host, missing_token
from canary.web.site import SITE, Access, problem

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="canary", charset="UTF-8"'}


class Audience(StrEnum):
    PUBLIC = "public"  # names, states and incidents in words for everybody
    PRIVATE = "private"  # all there is


def audience(request: web.Request) -> Audience:
    """PRIVATE with the right token, or on loopback where none is set."""
    return Audience.PUBLIC if stranger(request) else Audience.PRIVATE


def stranger(request: web.Request) -> web.Response | None:
    """The refusal for who may not see what is private."""
    site = request.app[SITE]
    if why := foreign_host(request.headers.get(hdrs.HOST, ""), site.listen):
        return problem(421, "misdirected", why)
    if why := missing_token(request.headers.get(hdrs.AUTHORIZATION, ""), site.listen, site.token):
        return problem(401, "unauthorized", why, headers=_CHALLENGE)
    return None


def to_all(request: web.Request) -> bool:
    """Whether this route is for everybody, as the config says now."""
    site, resource = request.app[SITE], request.match_info.route.resource
    access = site.access.get(resource.canonical, Access.PRIVATE) if resource else Access.PRIVATE
    return access is Access.OPEN or (access is Access.PUBLIC and site.snapshot().plan.service.status_page.public)
