"""One fresh connection per observation, with nothing of aiohttp's own ideas switched on.

No pool, no DNS cache, no cookies, no redirects, no proxy from the environment, no timeouts but ours, no inflating: each
of them would change what is measured. Two things aiohttp does not tell are taken from its read path, through
`connector._factory`, which is private; the minor version is pinned and a test watches the hook:

- which body bytes came with which network read (`Mark`: the body's length after it, and the line's stamp);
- whether the peer closed in order (FIN) or not (RST).

Without the hook `mark` invents a stamp at the moment of asking, and the observation says LOOP.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from canary.client.line import Line
from canary.client.target import Limits, Target, ssl_context
from canary.core.observation import Phase, StampSource

# What other clients take, and aiohttp by itself does not: cookies and policies of a web edge are longer than 8 KiB.
_LONGEST_HEADER = 64 * 1024  # curl: 100 KB, Python's http.client: 64 KiB, browsers 256 KB
_MOST_HEADERS = 1000


@dataclass(frozen=True, slots=True)
class Mark:
    """After one network read: how long the body is now, when the read arrived, and since when the socket was empty."""

    end: int
    at_ns: int
    after_ns: int


class Attempt:
    """What is known of one connection while it lives."""

    def __init__(self, target: Target, line: Line) -> None:
        self.line = line
        self.began_ns = time.monotonic_ns()
        self.tunnel = target.proxy is not None and target.url.startswith("https:")
        self.tls = target.url.startswith("https:")
        self.resolve_ns: tuple[int, int | None] | None = None  # began, ended
        self.created_ns: int | None = None  # connected, TLS and tunnel included
        self.head_ns: int | None = None  # the read that completed the final header block
        self.ended_ns: int | None = None  # HTTP's own end: the read that completed the body, or FIN
        self.closed_in_order = False
        self.broken: BaseException | None = None
        self.hooked = False
        self._marks: deque[Mark] = deque()
        self._marked = self._cut = 0  # body bytes seen by the protocol, and handed out

    @property
    def phase(self) -> Phase:
        """Where a failure now would belong."""
        sent_ns = self.line.sent_ns
        if self.head_ns is not None:
            return Phase.BODY
        if self.created_ns is not None:
            sent = sent_ns is not None and sent_ns >= self.created_ns and not self.line.unsent
            return Phase.HEADERS if sent else Phase.SEND
        if len(self.line.sends_ns) > self.tunnel and self.tls:
            return Phase.TLS
        resolving = self.resolve_ns is not None and self.resolve_ns[1] is None
        return Phase.DNS if resolving else Phase.CONNECT

    @property
    def origin_ns(self) -> int:
        """Where t = 0: the last send of the request; before there is one, the start of the attempt."""
        if self.created_ns is None:
            return self.began_ns
        sent_ns = self.line.sent_ns
        return self.created_ns if sent_ns is None or sent_ns < self.created_ns else sent_ns

    def at(self, moment_ns: int) -> float:
        return max(0, moment_ns - self.origin_ns) / 1e9

    def now(self) -> float:
        return self.at(time.monotonic_ns())

    def head_at(self) -> float:
        if self.head_ns is None:  # no hook: it came just now, as far as we know
            self.head_ns = time.monotonic_ns()
        return self.at(self.head_ns)

    def ended(self) -> float:
        return self.now() if self.ended_ns is None else self.at(self.ended_ns)

    @property
    def stamps(self) -> StampSource:
        return StampSource.KERNEL if self.line.kernel and self.hooked else StampSource.LOOP

    @property
    def dns_s(self) -> float | None:
        return None if self.resolve_ns is None else _seconds(*self.resolve_ns)

    @property
    def connect_s(self) -> float | None:
        """TCP, and through a proxy its CONNECT too."""
        return _seconds(self.line.connect_ns, self._tls_began_ns if self.tls else self.created_ns)

    @property
    def tls_s(self) -> float | None:
        return _seconds(self._tls_began_ns, self.created_ns) if self.tls else None

    @property
    def _tls_began_ns(self) -> int | None:
        """The first send on a connected socket is the hello; a tunnel is asked for before it."""
        sends = self.line.sends_ns
        return sends[self.tunnel] if len(sends) > self.tunnel else None

    def new_protocol(self) -> None:
        """A tunnel's CONNECT is answered on a protocol of its own; what it noted is not the answer's."""
        self.hooked = True
        self.line.answered = False
        self.head_ns = self.ended_ns = None

    def mark(self, length: int) -> None:
        """The body is that long after the read that the line has just stamped; most header reads add nothing."""
        if length > self._marked:
            self._marked = length
            self._marks.append(Mark(length, self.line.stamp_ns, self.line.after_ns))

    def cut(self, data: bytes) -> Iterator[tuple[Mark, bytes]]:
        """The next bytes of the body, apart by the network read that brought them."""
        view = memoryview(data)
        while view:
            mark = self._marks.popleft() if self._marks else self._mark_of_now(self._cut + len(view))
            size = mark.end - self._cut
            yield mark, bytes(view[:size])
            if size > len(view):  # the rest of this read is still to come
                self._marks.appendleft(mark)
            self._cut += min(size, len(view))
            view = view[size:]

    def _mark_of_now(self, end: int) -> Mark:
        self.hooked = False
        return Mark(end, time.monotonic_ns(), 0)


def _seconds(began_ns: int | None, ended_ns: int | None) -> float | None:
    return None if began_ns is None or ended_ns is None else (ended_ns - began_ns) / 1e9


class _MarkingProtocol(ResponseHandler):
    """aiohttp's own, and it tells the attempt what it sees."""

    def __init__(self, loop: asyncio.AbstractEventLoop, attempt: Attempt) -> None:
        super().__init__(loop)
        self._attempt = attempt
        self._body: aiohttp.StreamReader | None = None  # aiohttp forgets its own when the body ends
        attempt.new_protocol()

    def data_received(self, data: bytes) -> None:
        attempt = self._attempt
        if data:  # without data it only goes on parsing what it had
            attempt.line.used()
        super().data_received(data)
        if self._body is not None:
            attempt.mark(self._body.total_bytes)
            if self._body.is_eof() and attempt.ended_ns is None:
                attempt.ended_ns = attempt.line.stamp_ns

    def feed_data(self, data: Any, size: int = 0) -> None:
        """One complete header block; an interim one is followed by another."""
        message, body = data
        if message.code >= 200 or message.code == 101:
            self._body = body
            self._attempt.head_ns = self._attempt.line.stamp_ns
        super().feed_data(data, size)

    def eof_received(self) -> None:
        attempt = self._attempt
        attempt.closed_in_order = True
        attempt.ended_ns = attempt.ended_ns or time.monotonic_ns()
        super().eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Left alone, aiohttp takes a reset for the end of a body without a length, and never ends one of garbage."""
        self._attempt.broken = exc
        body = self._body
        if exc is not None and body is not None and not body.is_eof():
            body.set_exception(aiohttp.ClientPayloadError(str(exc)), exc)
        super().connection_lost(exc)
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(self.exception() or aiohttp.ClientPayloadError("connection lost"))


def _marking_protocol(loop: asyncio.AbstractEventLoop, attempt: Attempt) -> ResponseHandler:
    return _MarkingProtocol(loop, attempt)


class _TimedResolver(AbstractResolver):
    """getaddrinfo, and how long it took."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._resolver = aiohttp.ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        began_ns = time.monotonic_ns()
        self._attempt.resolve_ns = (began_ns, None)
        found = await self._resolver.resolve(host, port, family)
        self._attempt.resolve_ns = (began_ns, time.monotonic_ns())
        return found

    async def close(self) -> None:
        await self._resolver.close()


def open_session(target: Target, limits: Limits, attempt: Attempt) -> aiohttp.ClientSession:
    """Raises OSError where a file of `target.tls` cannot be loaded."""
    connector = aiohttp.TCPConnector(
        ssl=True if target.tls is None else ssl_context(target.tls),
        resolver=_TimedResolver(attempt),
        use_dns_cache=False,
        force_close=True,
        socket_factory=attempt.line.socket,
    )
    if hasattr(connector, "_factory"):
        hook = partial(_marking_protocol, asyncio.get_running_loop(), attempt)
        connector._factory = hook  # noqa: SLF001  # the private hook of this module
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(partial(_created, attempt))
    return aiohttp.ClientSession(
        connector=connector,
        trace_configs=[trace],
        timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        max_headers=_MOST_HEADERS,
        read_bufsize=max(limits.max_bytes, 1 << 16),  # reading is never paused: a paused socket merges stamps
    )


async def _created(attempt: Attempt, *_: object) -> None:
    attempt.created_ns = time.monotonic_ns()
