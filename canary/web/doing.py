"""The routes that change something: a request becomes an action's arguments, its answer a status."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aiohttp import hdrs, web

from canary.core.status import Level
from canary.web.actions import Answer, Deploy, Done, Hush, Refusal, Word
from canary.web.auth import user_of
from canary.web.bodies import AckBody, DeployBody, NoteBody, OverrideBody, SilenceBody, match_of, read
from canary.web.site import SITE, problem

STATUS_OF: Mapping[Refusal, int] = MappingProxyType(
    {Refusal.NOT_FOUND: 404, Refusal.CONFLICT: 409, Refusal.INVALID: 422, Refusal.UNAVAILABLE: 503}
)
MAX_BODY_BYTES = 64 * 1024
_LONGEST_NAME = 200
_SOMEBODY = "api"  # who acts where nobody says a name


async def reload(request: web.Request) -> web.Response:
    return _answer(await request.app[SITE].actions.reload())


async def probe(request: web.Request) -> web.Response:
    one = _named(request, "probe") if "probe" in request.match_info else None
    return _answer(await request.app[SITE].actions.probe(_named(request, "pipeline"), one), done=202)


async def deploy(request: web.Request) -> web.Response:
    body = read(DeployBody, await request.read())
    return _answer(await request.app[SITE].actions.deploy(Deploy(text=body.text, pipeline=body.pipeline)), done=201)


async def acknowledge(request: web.Request) -> web.Response:
    body = read(AckBody, await request.read())
    return _answer(await request.app[SITE].actions.acknowledge(_named(request, "page"), _author(request, body.by)))


async def silence(request: web.Request) -> web.Response:
    body = read(SilenceBody, await request.read())
    hush = Hush(
        match=match_of(body.match),
        duration_s=body.duration_s,
        author=_author(request, body.by),
        comment=body.comment or "",
    )
    return _answer(await request.app[SITE].actions.silence(hush), done=201)


async def unsilence(request: web.Request) -> web.Response:
    return _answer(await request.app[SITE].actions.unsilence(_named(request, "id")))


async def note(request: web.Request) -> web.Response:
    body = read(NoteBody, await request.read())
    author = _author(request, body.by)
    return _answer(await request.app[SITE].actions.note(_named(request, "page"), body.text, author), done=201)


async def override(request: web.Request) -> web.Response:
    body = read(OverrideBody, await request.read())
    word = Word(
        level=Level(body.status),
        duration_s=body.duration_s,
        author=_author(request, body.by),
        page_id=body.page,
        pipeline=body.pipeline,
    )
    return _answer(await request.app[SITE].actions.override(word), done=201)


async def unoverride(request: web.Request) -> web.Response:
    return _answer(await request.app[SITE].actions.unoverride(_named(request, "id")))


def _answer(answer: Answer, *, done: int = 200) -> web.Response:
    if isinstance(answer, Done):
        return web.json_response({"message": answer.message, "ids": list(answer.ids)}, status=done)
    return problem(STATUS_OF[answer.why], answer.why.value, answer.message, details=list(answer.details))


def _named(request: web.Request, part: str) -> str:
    """A name or id in the path. None of ours holds control characters, and a database may choke on one."""
    name = request.match_info[part]
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise web.HTTPNotFound
    return name


def _author(request: web.Request, given: str | None) -> str:
    """Who says to be it: the body, else the user name of basic auth."""
    user = user_of(request.headers.get(hdrs.AUTHORIZATION, "")) or ""
    return given or (user[:_LONGEST_NAME] if user.isprintable() else "") or _SOMEBODY
