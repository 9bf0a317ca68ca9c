"""How late our own event loop was, and since when a socket was surely empty.

One ticker per event loop, running only while somebody watches. Its lateness is the loop's. Each tick also proves
something about every socket of the loop: in one turn a loop polls, then runs the readers that the poll found, then the
timers. So at a tick, whatever had arrived before the *previous* tick has been read. `seen_ns` is that moment: bytes
that are read later arrived after it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

PERIOD_S = 0.02  # 1 % of a core while watching; a read's interval is at most two periods wide when the loop is idle


class Watch:
    """One observation's view: the worst lateness since it began, and the loop's proof of empty sockets."""

    __slots__ = ("_ticker", "worst_s")

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self.worst_s = 0.0

    @property
    def seen_ns(self) -> int:
        return self._ticker.seen_ns

    def settle(self) -> float:
        """The worst lateness so far, a tick that is overdue right now included."""
        return max(self.worst_s, self._ticker.overdue_s())


class Ticker:
    __slots__ = ("_due_s", "_handle", "_ticked_ns", "_watches", "seen_ns")

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self._handle: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._ticked_ns = 0
        self.seen_ns = 0

    def add(self, watch: Watch) -> None:
        self._watches.add(watch)
        if self._handle is None:
            self._ticked_ns = self.seen_ns = 0
            self._arm()

    def remove(self, watch: Watch) -> None:
        self._watches.discard(watch)
        if not self._watches and self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def overdue_s(self) -> float:
        return max(0.0, time.monotonic() - self._due_s)

    def _arm(self) -> None:
        self._due_s = time.monotonic() + PERIOD_S  # asyncio's own clock
        self._handle = asyncio.get_running_loop().call_at(self._due_s, self._tick)

    def _tick(self) -> None:
        late_s = self.overdue_s()
        for watch in self._watches:
            watch.worst_s = max(watch.worst_s, late_s)
        self.seen_ns, self._ticked_ns = self._ticked_ns, time.monotonic_ns()
        self._arm()


_TICKERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Ticker] = WeakKeyDictionary()


@contextmanager
def watch() -> Iterator[Watch]:
    ticker = _TICKERS.setdefault(asyncio.get_running_loop(), Ticker())
    seen = Watch(ticker)
    ticker.add(seen)
    try:
        yield seen
    finally:
        ticker.remove(seen)
