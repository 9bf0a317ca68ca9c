"""The store, and what could not be written to it yet.

A store that is away (disk full, locked, unreachable) stops neither measuring nor paging. What it should hold waits here
in order and is written when it is back. The wait is bounded: beyond `MOST_RUNS` or `MOST_BYTES` of answers the oldest
runs are given up, but what was concluded from them stays, so that incidents and pages are right again afterwards.

A delivered notification that could not be marked is remembered here too: a store that reads but does not write (disk
full) would otherwise hand out the same page for ever.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from canary.core.conclusion import Conclusion
from canary.core.history import Past
from canary.core.notification import Sent
from canary.core.run import Run
from canary.engine.due import Key
from canary.store import Queued, Store, StoreError, StoreTrouble

T = TypeVar("T")
ANSWER_WITHIN_S = 30.0  # a store that says nothing must not silence a page
MOST_RUNS = 500
MOST_BYTES = 64 * 1024**2  # of answers
MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One transaction. `run` None: time passed, or the run was given up."""

    conclusion: Conclusion
    run: Run | None = None
    quiet: bool = False

    @property
    def size(self) -> int:
        results = self.run.results if self.run else ()
        return sum(len(read.data) for result in results for read in result.observation.exchange.reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What became of a notification; `dead` says why it was given up."""

    at: datetime
    sent: Sent | None = None
    dead: str = ""


@dataclass(slots=True, kw_only=True)
class Archive:
    """`changed` is told when the store goes away (with its message) and when it is back (None).

    `failed` is told of what can never be written, as it is: a fault of ours.
    """

    store: Store
    changed: Callable[[str | None], None] = lambda _: None
    failed: Callable[[Exception], None] = lambda _: None
    backlog: deque[Entry] = field(default_factory=deque)
    marks: dict[str, Mark] = field(default_factory=dict)
    trouble: str | None = None
    most_runs: int = MOST_RUNS
    most_bytes: int = MOST_BYTES
    runs_lost: int = 0
    _turns: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def save(self, entry: Entry) -> bool:
        """Whether it is in the store now; else it waits."""
        async with self._turns:
            self.backlog.append(entry)
            self._bound()
            return await self._asked(self._drain()) is not None

    async def mark(self, notification_id: str, mark: Mark) -> None:
        """Note what became of a notification: here at once, in the store as soon as it can be."""
        self.marks[notification_id] = mark
        await self.catch_up()

    async def catch_up(self) -> bool:
        """Write all that waits, oldest first; False where the store still refuses."""
        async with self._turns:
            return not (self.backlog or self.marks) or await self._asked(self._drain()) is not None

    async def history(self, key: Key) -> Mapping[tuple[str, str], tuple[Past, ...]]:
        """Nothing where the store is away: a comparison with nothing says nothing."""
        return await self._asked(self.store.history(*key)) or {}

    async def due(self, now: datetime, most: int) -> tuple[Queued, ...] | None:
        """What the outbox holds; None where the store is away."""
        return await self._asked(self.store.due(now, most))

    async def postpone(self, notification_id: str, until: datetime, why: str) -> None:
        if notification_id not in self.unsaved():
            await self._asked(self.store.postponed(notification_id, until, why))

    async def asked(self, asking: Awaitable[T]) -> T | None:
        """Any other question to the store; None where it is away."""
        return await self._asked(asking)

    def unsaved(self) -> frozenset[str]:
        """Ids of notifications that only we know of."""
        return frozenset(told.id for entry in self.backlog for told in entry.conclusion.notifications)

    async def _asked(self, asking: Awaitable[T]) -> T | None:
        """Whatever goes wrong with the store is told to `changed` once, until something goes right again."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                answer = await asking
        except StoreError as error:
            self._turn(str(error))
        except TimeoutError:
            self._turn(f"the store did not answer within {ANSWER_WITHIN_S:.0f} s")
        else:
            if not self.backlog:
                self._turn(None)
            return answer
        return None

    async def _drain(self) -> bool:
        while self.backlog:
            await self._write(self.backlog[0])
            self.backlog.popleft()
        for notification_id, mark in tuple(self.marks.items()):
            if mark.sent is not None:
                await self.store.sent(notification_id, mark.at, mark.sent)
            else:
                await self.store.dead(notification_id, mark.at, mark.dead)
            del self.marks[notification_id]
        return True

    async def _write(self, entry: Entry) -> None:
        """One entry. Raises StoreError where waiting may help; an entry that never fits must not stop the others."""
        if entry.run is not None:
            try:
                await self.store.save_run(entry.run, entry.conclusion, quiet=entry.quiet)
            except Exception as error:  # noqa: BLE001  # `_blame` sorts them
                self._blame(error)
            else:
                return
        try:
            await self.store.save_conclusion(entry.conclusion)
        except Exception as error:  # noqa: BLE001
            self._blame(error)

    def _blame(self, error: Exception) -> None:
        """Raises the error again where the database is at fault; else it is the entry, or we: told, and given up."""
        if isinstance(error, StoreError) and error.kind is not StoreTrouble.OTHER:
            raise error
        self.failed(error)

    def _turn(self, trouble: str | None) -> None:
        if (trouble is None) != (self.trouble is None):
            self.changed(trouble)
        self.trouble = trouble

    def _bound(self) -> None:
        """Give up the oldest runs beyond what we may keep."""
        runs = [index for index, entry in enumerate(self.backlog) if entry.run is not None]
        size = sum(entry.size for entry in self.backlog)
        for place, index in enumerate(runs[:-1]):
            if len(runs) - place <= self.most_runs and size <= self.most_bytes:
                break
            size -= self.backlog[index].size
            self.backlog[index] = replace(self.backlog[index], run=None)
            self.runs_lost += 1
        while len(self.backlog) > MOST_ENTRIES:
            self.backlog.popleft()
