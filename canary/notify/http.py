"""One request to a receiver, and what its outcome means. Foreign exceptions are translated here and nowhere else.

Whether to try again is decided by who could put it right. Time can: no network, no answer, a full queue (408, 425, 429,
5xx, and all trouble below HTTP, an expired certificate too, since certificates are renewed). Only a person can: a URL
that is none, a redirect (followed, it would hand the payload and its credentials to whoever it names), and every other
4xx. A reply that got lost may have been a yes, so whatever is tried again may arrive twice.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import aiohttp

from canary import __version__
from canary.core.notification import Delivery, Rejected, RetryLater, Sent
from canary.core.secret import Secret
from canary.notify.kind import Errand, Send

TIMEOUT_S = 10.0  # of one request with its reply, unless the config says otherwise
USER_AGENT = f"reasoning-canary/{__version__}"
_MOST_REPLY_BYTES = 16 * 1024
_MOST_QUOTED_CHARS = 200
_TRY_AGAIN = frozenset({408, 425, 429})

T = TypeVar("T")
Headers: TypeAlias = Mapping[str, str | Secret]
NO_HEADERS: Headers = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    url: str | Secret
    body: bytes = b""
    headers: Headers = field(default_factory=lambda: NO_HEADERS)
    method: str = "POST"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """`text`: how the body begins. Header names are lower case."""

    status: int
    text: str = ""
    headers: Headers = field(default_factory=lambda: NO_HEADERS)


Render: TypeAlias = Callable[[Errand, Any], HttpRequest]
Classify: TypeAlias = Callable[[HttpReply], Delivery]


def by_status(reply: HttpReply) -> Delivery:
    """What the status alone says. The reply is quoted: it often names the field that it did not like."""
    if 200 <= reply.status < 300:
        return Sent()
    why = f"HTTP {reply.status}{_quoted(reply.text)}"
    if reply.status in _TRY_AGAIN or reply.status >= 500:
        return RetryLater(why=why, after_s=retry_after_s(reply.headers))
    if 300 <= reply.status < 400:
        why = f"HTTP {reply.status}, a redirect, which is not followed: give the URL that it leads to"
    return Rejected(why=why)


def over_http(render: Render, classify: Classify = by_status) -> Send:
    """A notifier that is one request."""

    async def send(errand: Errand, options: Any, session: aiohttp.ClientSession) -> Delivery:
        request = render(errand, options)
        return await attempted(post(request, session, classify=classify), timeout_s=options.timeout_s)

    return send


async def post(request: HttpRequest, session: aiohttp.ClientSession, *, classify: Classify = by_status) -> Delivery:
    """Raises what `attempted` translates, which also ends it in time."""
    return classify(await exchange(request, session))


async def exchange(request: HttpRequest, session: aiohttp.ClientSession) -> HttpReply:
    """Raises the same."""
    headers = {name: _revealed(value) for name, value in request.headers.items()}
    async with session.request(
        request.method,
        _revealed(request.url),
        data=request.body or None,
        headers={"User-Agent": USER_AGENT, **headers},
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=None),
    ) as response:
        text = await _beginning(response)
        names = {name.lower(): value for name, value in response.headers.items()}
        return HttpReply(status=response.status, text=text, headers=names)


async def attempted(sending: Awaitable[T], *, timeout_s: float) -> T | RetryLater | Rejected:
    """Its outcome, or what became of it on the way. What no row below names is our own bug and is raised."""
    try:
        async with asyncio.timeout(timeout_s):
            return await sending
    except TimeoutError:
        return RetryLater(why=f"no answer within {timeout_s:g} s")
    except (aiohttp.InvalidURL, UnicodeError):
        return Rejected(why="the URL is none")
    except aiohttp.ClientError as error:
        return RetryLater(why=_cause(error))


def retry_after_s(headers: Mapping[str, Any]) -> float | None:
    """Seconds, or an HTTP date less the reply's own `Date`, so that nobody's clock need be right."""
    text = str(headers.get("retry-after", "")).strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    until, sent = _date(text), clock_of(headers)
    return max((until - sent).total_seconds(), 0.0) if until and sent else None


def clock_of(headers: Mapping[str, Any]) -> datetime | None:
    """What the sender's clock said when it answered, in whole seconds, rounded down."""
    return _date(str(headers.get("date", "")))


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # no date; numbers that no date holds
        return None
    return found if found.tzinfo else None


async def _beginning(response: aiohttp.ClientResponse) -> str:
    """A reply that breaks off in its body has said its status, and that is what counts."""
    read = bytearray()
    try:
        while len(read) < _MOST_REPLY_BYTES and (chunk := await response.content.readany()):
            read += chunk
    except aiohttp.ClientPayloadError:
        pass
    return bytes(read[:_MOST_REPLY_BYTES]).decode(errors="replace")


def _quoted(text: str) -> str:
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if not words:
        return ""
    return f": {words[:_MOST_QUOTED_CHARS]}{'…' if len(words) > _MOST_QUOTED_CHARS else ''}"


def _revealed(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _cause(error: aiohttp.ClientError) -> str:
    """Our own words: aiohttp's may hold the whole URL, which may be a credential."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host's name is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        reason = certificate.verify_message if isinstance(certificate, ssl.SSLCertVerificationError) else "not valid"
        return f"the certificate is not trusted: {reason}"
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno).lower()
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection was closed without an answer"
    return f"the exchange failed ({type(error).__name__})"
