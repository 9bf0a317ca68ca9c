"""What the sockets of one attempt saw, and when.

A stamp says when bytes arrived, not when we got round to them. Linux keeps that time: SO_TIMESTAMPNS makes `recvmsg`
deliver the receive time of the last byte it returns. asyncio calls `recv` (plain) or `recv_into` (TLS) of the socket
object, so a subclass is enough and nothing is patched. Rules:

- The kernel stamps with CLOCK_REALTIME. The offset to the monotonic clock is taken from the tightest of a few
  sandwiches and refreshed, since the wall clock may step.
- Never early, never after we held the bytes: a stamp is clamped to [last seen empty, now]. One that is far outside was
  made while the wall clock stepped and says nothing; the moment of reading stands in.
- The kernel merges what waits in the queue and keeps the last byte's time. So a read that was late says since when
  the socket was surely empty (`after_ns`): after a read that came back short, or by `lag`'s proof.
- The kernel stamps only while some socket asks for it, and takes some milliseconds to begin. One socket per process
  asks for ever (`keep_stamping`), or the first read of a fast answer would come without.
- Without a kernel stamp (another platform, another loop) the moment of reading stands in, and `kernel` says so.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from canary.client.lag import Watch

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SO_TIMESTAMPNS = 35  # asm-generic/socket.h; the socket module has no name for it
_TIMESPEC = struct.Struct("@ll")
_ANCILLARY_BYTES = socket.CMSG_SPACE(_TIMESPEC.size)
_OFFSET_LIFE_NS = 500_000_000
_STEP_NS = 100_000_000  # time services slew what is less, and step what is more


class Line:
    """The facts of one attempt, over all sockets that it tried. Moments are nanoseconds of the monotonic clock."""

    __slots__ = (
        "_drained",
        "_drained_ns",
        "_fresh",
        "_offset_ns",
        "_offset_until_ns",
        "_stamped",
        "_watch",
        "after_ns",
        "answered",
        "connect_ns",
        "kernel",
        "sends_ns",
        "sent_ns",
        "stamp_ns",
        "unsent",
        "want_kernel",
    )

    def __init__(self, watch: Watch, *, want_kernel: bool) -> None:
        self._watch = watch
        self.want_kernel = want_kernel and sys.platform == "linux"
        self.kernel = self.want_kernel  # every stamp of the answer came from the kernel
        self.connect_ns: int | None = None  # the first attempt to connect
        self.sends_ns: list[int] = []  # the first two sends: CONNECT to a proxy, TLS hello, request
        self.sent_ns: int | None = None  # the last send before the answer began
        self.unsent = False  # the last send did not take all there was
        self.answered = False
        self._fresh = self._stamped = False  # a stamp that no read of the protocol has used yet; it is the kernel's
        self.stamp_ns = self.after_ns = 0
        self._drained, self._drained_ns = True, 0
        self._offset_ns = self._offset_until_ns = 0

    def socket(self, address: tuple[Any, ...]) -> LineSocket:
        """For `aiohttp.TCPConnector(socket_factory=...)`."""
        family, kind, proto, *_ = address
        made = LineSocket(family, kind, proto)
        made.line = self
        if self.want_kernel:
            try:
                made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            except OSError:
                self.want_kernel = False
        return made

    def connecting(self) -> None:
        if self.connect_ns is None:
            self.connect_ns = time.monotonic_ns()

    def sending(self) -> None:
        now = time.monotonic_ns()
        if len(self.sends_ns) < 2:
            self.sends_ns.append(now)
        if not self.answered:
            self.sent_ns = now
        self.unsent = True

    def sent(self, size: int, of: int) -> None:
        self.unsent = size < of

    def received(self, asked_ns: int, *, short: bool, stamp: int | None) -> None:
        """At least one byte was read. `short`: less than asked for, so the socket was empty at `asked_ns` or later."""
        now = time.monotonic_ns()
        self.after_ns = max(self._drained_ns, self._watch.seen_ns) if self._drained else self._drained_ns
        self._drained = short
        if short:
            self._drained_ns = asked_ns
        earliest = max(self.after_ns, self.stamp_ns)
        arrived = None if stamp is None else stamp - self._offset(now)
        self._stamped = arrived is not None and earliest - _STEP_NS <= arrived <= now + _STEP_NS
        self.stamp_ns = min(max(arrived, earliest), now) if arrived is not None and self._stamped else now
        self._fresh = True

    def used(self) -> None:
        """The protocol takes the stamp. Where the loop bypasses our socket there is none, and now stands in."""
        self.answered = True
        if not self._fresh:
            self.stamp_ns, self._stamped = time.monotonic_ns(), False
        self.kernel = self.kernel and self._stamped
        self._fresh = False

    def _offset(self, now: int) -> int:
        if now >= self._offset_until_ns:
            self._offset_ns = min(map(_sandwich, range(5)))[1]
            self._offset_until_ns = now + _OFFSET_LIFE_NS
        return self._offset_ns


class LineSocket(socket.socket):
    """Tells its line what happens, and keeps the kernel's stamp of each read."""

    __slots__ = ("line",)
    line: Line

    def connect(self, address: Any) -> None:
        self.line.connecting()
        super().connect(address)

    def send(self, data: Buffer, flags: int = 0) -> int:
        self.line.sending()
        size = super().send(data, flags)
        self.line.sent(size, len(memoryview(data)))
        return size

    def sendmsg(self, buffers: Iterable[Buffer], *rest: Any) -> int:
        held = list(buffers)
        self.line.sending()
        size = super().sendmsg(held, *rest)
        self.line.sent(size, sum(len(memoryview(data)) for data in held))
        return size

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        asked = time.monotonic_ns()
        data, extra, *_ = self.recvmsg(bufsize, _ANCILLARY_BYTES, flags)
        if data:
            self.line.received(asked, short=len(data) < bufsize, stamp=_kernel_stamp(extra))
        return data

    def recv_into(self, buffer: Buffer, nbytes: int = 0, flags: int = 0) -> int:
        asked = time.monotonic_ns()
        view = memoryview(buffer)[: nbytes or None]
        size, extra, *_ = self.recvmsg_into([view], _ANCILLARY_BYTES, flags)
        if size:
            self.line.received(asked, short=size < len(view), stamp=_kernel_stamp(extra))
        return size


_keepers: list[int] = []
_BEGIN_S = 0.02


async def keep_stamping() -> None:
    """Waits until the kernel stamps: once per process, before anything is measured."""
    if _keepers or sys.platform != "linux":
        return
    with suppress(OSError), socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        _keepers.append(keeper.detach())  # open as long as the process lives
        await asyncio.sleep(_BEGIN_S)


def _kernel_stamp(extra: list[tuple[int, int, bytes]]) -> int | None:
    """CLOCK_REALTIME nanoseconds, where the kernel sent them along."""
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return None


def _sandwich(_: int) -> tuple[int, int]:
    """(width, CLOCK_REALTIME - CLOCK_MONOTONIC), the latter too small by up to the width: stamps are never early."""
    before = time.monotonic_ns()
    wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
    after = time.monotonic_ns()
    return after - before, wall - after
