"""The routes that change something: a request becomes an action's arguments, its answer a status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from aiohttp import hdrs, web

from canary.web.actions import Answer, Deploy, Done, Hush, Refusal
from canary.web.auth import user_of
from canary.web.bodies import AckBody, BodyError, DeployBody, SilenceBody, match_of, read
from canary.web.site import SITE, problem

STATUS_OF: Mapping[Refusal, int] = MappingProxyType(
    {Refusal.NOT_FOUND: 404, Refusal.CONFLICT: 409, Refusal.INVALID: 422, Refusal.UNAVAILABLE: 503}
)
MAX_BODY_BYTES = 64 * 1024
_BODY_WITHIN_S = 10.0
_SOMEBODY = "api"  # who acts where nobody says a name


async def reload(request: web.Request) -> web.Response:
    return _answer(await request.app[SITE].actions.reload())


async def probe(request: web.Request) -> web.Response:
    where = request.match_info
    return _answer(await request.app[SITE].actions.probe(where["pipeline"], where.get("probe")), done=202)


async def deploy(request: web.Request) -> web.Response:
    body = read(DeployBody, await _body(request))
    return _answer(await request.app[SITE].actions.deploy(Deploy(text=body.text, pipeline=body.pipeline)), done=201)


async def acknowledge(request: web.Request) -> web.Response:
    body = read(AckBody, await _body(request))
    return _answer(await request.app[SITE].actions.acknowledge(request.match_info["page"], _author(request, body.by)))


async def silence(request: web.Request) -> web.Response:
    body = read(SilenceBody, await _body(request))
    hush = Hush(
        match=match_of(body.match),
        duration_s=body.duration_s,
        author=_author(request, body.by),
        comment=body.comment or "",
    )
    return _answer(await request.app[SITE].actions.silence(hush), done=201)


async def unsilence(request: web.Request) -> web.Response:
    return _answer(await request.app[SITE].actions.unsilence(request.match_info["id"]))


def _answer(answer: Answer, *, done: int = 200) -> web.Response:
    if isinstance(answer, Done):
        return web.json_response({"message": answer.message, "ids": list(answer.ids)}, status=done)
    return problem(STATUS_OF[answer.why], answer.why.value, answer.message, details=list(answer.details))


def _author(request: web.Request, given: str | None) -> str:
    """Who says to be it: the body, else the user name of basic auth."""
    user = user_of(request.headers.get(hdrs.AUTHORIZATION, "")) or ""
    return given or (user[:200] if user.isprintable() else "") or _SOMEBODY


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_BODY_WITHIN_S):
            return await request.read()
    except TimeoutError:
        raise BodyError((f"body: did not arrive within {_BODY_WITHIN_S:.0f} s",)) from None
