"""Which engine answers? vLLM says so at `/version`, beside its API; most others answer 404."""

from __future__ import annotations

from http import HTTPStatus

import aiohttp
from yarl import URL

from canary.client.redact import revealed
from canary.client.target import Target, ssl_context
from canary.wire.loose_json import NotJsonError, excerpt, object_of, parse, text_of

_TIMEOUT_S = 5.0
_MOST_BYTES = 4096
_LONGEST = 80  # characters of a version


async def engine_version(target: Target) -> str | None:
    """What `GET /version` calls itself; None where nothing of the kind is there, or within 5 s."""
    url = URL(target.url).with_path("/version").with_query(None)
    tls = ssl_context(target.tls) if target.tls else True
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(
                url, headers=revealed(target.headers), ssl=tls, proxy=target.proxy, allow_redirects=False
            ) as response,
        ):
            if response.status != HTTPStatus.OK:
                return None
            return _version_in(await response.content.read(_MOST_BYTES))
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None


def _version_in(body: bytes) -> str | None:
    try:
        document = object_of(parse(body.decode(errors="replace")))
    except NotJsonError:
        return None
    said = excerpt(text_of((document or {}).get("version")))[:_LONGEST]
    return said if said.isprintable() and said else None
