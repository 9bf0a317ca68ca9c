"""Foreign exceptions become an `End` here and nowhere else.

Read the table from the top; the first row that fits holds. Who is to blame decides what is in it: the target, its
network, its proxy. Whatever no row names is our own bug and is not translated.

How a body that did not end is told apart: FIN is `Truncated`, everything else `Disconnected` (a reset, a TLS alert, or
bytes that are not HTTP, after which nothing of the connection can be trusted). Before a response a FIN is a
`Disconnected` too: there is no message that it could truncate. A phase before the request makes it `ConnectFailed`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from canary.client.inflate import CannotInflateError, CorruptBodyError
from canary.core.observation import ConnectFailed, Disconnected, End, Phase, StoppedByUs, Truncated

_UNSENT = frozenset({Phase.DNS, Phase.CONNECT, Phase.TLS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception and what the connection knew when it came."""

    error: BaseException
    at: float
    phase: Phase
    closed_in_order: bool  # the peer sent FIN
    broken: BaseException | None  # what the transport says of the close


_Row: TypeAlias = tuple[tuple[type[BaseException], ...], Callable[[Failure], End | None]]


def _connect_failed(phase: Phase | None, words: str) -> Callable[[Failure], End]:
    """`phase` None = where the attempt stood."""
    return lambda failure: ConnectFailed(
        at=failure.at, phase=phase or failure.phase, detail=f"{words}{_cause(failure.error)}"
    )


def _broken(failure: Failure) -> End:
    tls = next((error for error in _chain(failure) if isinstance(error, ssl.SSLError)), None)
    detail = _closed_how(failure) if tls is None else _text(tls)
    if tls is not None and failure.phase is not Phase.BODY:
        return ConnectFailed(at=failure.at, phase=Phase.TLS, detail=detail)  # TLS 1.3 refuses us after its handshake
    if failure.phase in _UNSENT:
        return ConnectFailed(at=failure.at, phase=failure.phase, detail=detail)
    return Disconnected(at=failure.at, phase=failure.phase, detail=detail)


def _not_http(failure: Failure) -> End:
    error = next((error for error in _chain(failure) if isinstance(error, HttpProcessingError)), failure.error)
    message = getattr(error, "message", "") or _text(error)
    detail = f"malformed HTTP: {' '.join(str(message).split())[:200]}"
    if failure.phase in _UNSENT:
        return ConnectFailed(at=failure.at, phase=failure.phase, detail=detail)
    return Disconnected(at=failure.at, phase=failure.phase, detail=detail)


def _incomplete(failure: Failure) -> End:
    if any(isinstance(error, OSError) for error in _chain(failure)):
        return _broken(failure)
    if failure.closed_in_order:
        return Truncated(at=failure.at, detail="closed before the message was complete")
    return _not_http(failure)


def _refused_by_proxy(failure: Failure) -> End:
    status = failure.error.status if isinstance(failure.error, aiohttp.ClientResponseError) else 0
    return ConnectFailed(at=failure.at, phase=Phase.CONNECT, detail=f"proxy answered CONNECT with {status}")


def _bad_name(failure: Failure) -> End | None:
    """A host label that IDNA cannot encode. Anywhere else it would be our bug."""
    return _connect_failed(Phase.DNS, "")(failure) if failure.phase is Phase.DNS else None


ENDINGS: tuple[_Row, ...] = (
    ((CannotInflateError,), lambda failure: StoppedByUs(at=failure.at, reason=str(failure.error))),
    (
        (CorruptBodyError,),
        lambda failure: Disconnected(at=failure.at, phase=Phase.BODY, detail=f"corrupt body: {failure.error}"),
    ),
    ((UnicodeError,), _bad_name),
    ((aiohttp.ClientConnectorDNSError,), _connect_failed(Phase.DNS, "")),
    ((aiohttp.ClientConnectorCertificateError,), _connect_failed(Phase.TLS, "certificate: ")),
    ((aiohttp.ClientConnectorSSLError,), _connect_failed(Phase.TLS, "handshake: ")),
    ((aiohttp.ClientHttpProxyError,), _refused_by_proxy),
    ((aiohttp.ClientProxyConnectionError,), _connect_failed(None, "proxy: ")),
    ((aiohttp.ClientConnectorError,), _connect_failed(None, "")),
    ((aiohttp.ConnectionTimeoutError,), _connect_failed(None, "no connection in time")),
    ((aiohttp.ClientResponseError,), _not_http),
    ((aiohttp.ClientPayloadError, HttpProcessingError), _incomplete),
    ((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientConnectionResetError), _broken),
)


def ending(failure: Failure) -> End | None:
    """None = not the target's doing: raise it again."""
    for kinds, end in ENDINGS:
        if isinstance(failure.error, kinds):
            return end(failure)
    return None


def _closed_how(failure: Failure) -> str:
    system = next((error for error in _chain(failure) if isinstance(error, OSError) and error.errno), None)
    if system is not None:
        return _text(system)
    before = "before the response" if failure.phase in {Phase.SEND, Phase.HEADERS} else "in the middle"
    return f"closed {before}"


def _chain(failure: Failure) -> Iterator[BaseException]:
    """The transport's own word first, then the error and what it rests on."""
    if failure.broken is not None:
        yield failure.broken
    error: BaseException | None = failure.error
    while error is not None:
        yield error
        error = error.__cause__


def _cause(error: BaseException) -> str:
    if isinstance(error, aiohttp.ServerTimeoutError):
        return ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _text(error.certificate_error)
    return _text(error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error)


def _text(error: BaseException) -> str:
    """The reason alone: aiohttp's own words may hold the whole URL."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)  # getaddrinfo's are negative
    return str(error) or type(error).__name__
