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
        self.closed_in_order = False
        self.broken: BaseException | None = None
        self.hooked = False
        self._marks: deque[Mark] = deque()
        self._cut = 0

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
        """t = 0: the last send of the request; before there is one, the start of the attempt."""
        if self.created_ns is None:
            return self.began_ns
        sent_ns = self.line.sent_ns
        return self.created_ns if sent_ns is None or sent_ns < self.created_ns else sent_ns

    def at(self, moment_ns: int) -> float:
        return max(0, moment_ns - self.origin_ns) / 1e9

    def now(self) -> float:
        return self.at(time.monotonic_ns())

    def ended(self) -> float:
        """When HTTP's own end arrived: with the last read, or as the close that we noticed just now."""
        return self.now() if self.closed_in_order or not self.hooked else self.at(self.line.stamp_ns)

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
        self.head_ns = None
        self._marks.clear()

    def mark(self, end: int) -> None:
        self._marks.append(Mark(end, self.line.stamp_ns, self.line.after_ns))

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
        attempt.new_protocol()

    def data_received(self, data: bytes) -> None:
        if data:  # without data it only goes on parsing what it had
            self._attempt.line.used()
        before = self._body_bytes()
        super().data_received(data)
        after = self._body_bytes()
        if after > before:
            self._attempt.mark(after)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """One complete header block; an interim one is followed by another."""
        if data[0].code >= 200:
            self._attempt.head_ns = self._attempt.line.stamp_ns
        super().feed_data(data, size)

    def eof_received(self) -> None:
        self._attempt.closed_in_order = True
        super().eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._attempt.broken = exc
        super().connection_lost(exc)

    def _body_bytes(self) -> int:
        return 0 if self._payload is None else self._payload.total_bytes


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
        connector._factory = partial(_MarkingProtocol, asyncio.get_running_loop(), attempt)  # noqa: SLF001  # see above
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(partial(_created, attempt))
    return aiohttp.ClientSession(
        connector=connector,
        trace_configs=[trace],
        timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=max(limits.max_bytes, 1 << 16),  # reading is never paused: a paused socket merges stamps
    )


async def _created(attempt: Attempt, *_: object) -> None:
    attempt.created_ns = time.monotonic_ns()
