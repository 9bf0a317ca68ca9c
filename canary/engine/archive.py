"""The store, and what could not be written to it yet.

A store that is away (disk full, locked, unreachable) stops neither measuring nor paging. What it should hold waits here
in order and is written when it is back. The wait is bounded: beyond `MOST_RUNS` or `MOST_BYTES` of answers the oldest
runs are given up, but what was concluded from them stays, so that incidents and pages are right again afterwards.

Nobody waits for a store that is known to be away, or one that does not answer would cost every run half a minute and
every page another: only `tend` asks it, every few seconds. It may come back as another one (a file that was deleted, a
backup that was put in its place): its tables are made, and what we know to be open is written before all that waits.

It may be away from the start (a server that starts later than we do): then nothing is known from before until it comes.
It is opened, `recall` makes what it knows and what was seen meanwhile one, and then all is as after any other outage.

A delivered notification that could not be marked is remembered here too: a store that reads but does not write (disk
full) would otherwise hand out the same page for ever.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from canary.core.conclusion import Conclusion
from canary.core.history import Past
from canary.core.notification import Sent
from canary.core.run import Run
from canary.engine.due import Key
from canary.store import PASSING, CodecError, Queued, Store, StoreError, StoreTrouble

T = TypeVar("T")
Recall: TypeAlias = Callable[[], Awaitable[Iterable[Conclusion]]]
ANSWER_WITHIN_S = 30.0  # a store that says nothing must not silence a page
ASK_AGAIN_S = 5.0
MOST_RUNS = 500
MOST_BYTES = 64 * 1024**2  # of answers
MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One transaction. `run` None: time passed, or the run was given up."""

    conclusion: Conclusion
    run: Run | None = None
    quiet: bool = False
    size: int = field(init=False)  # counted once: a long backlog is looked through at every run

    def __post_init__(self) -> None:
        results = self.run.results if self.run else ()
        size = sum(len(read.data) for result in results for read in result.observation.exchange.reads)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What became of a notification; `dead` says why it was given up."""

    at: datetime
    sent: Sent | None = None
    dead: str = ""


@dataclass(slots=True, kw_only=True)
class Archive:
    """`changed` is told when the store goes away (with its message) and when it is back (None).

    `failed` is told of what can never be written, as it is: a fault of ours. `remembered`: all that is open now.
    `refused`: the store that we began without turns out to be another daemon's.
    """

    store: Store
    remembered: Callable[[], Conclusion] = Conclusion
    changed: Callable[[str | None], None] = lambda _: None
    failed: Callable[[Exception], None] = lambda _: None
    refused: Callable[[StoreError], None] = lambda _: None
    backlog: deque[Entry] = field(default_factory=deque)
    marks: dict[str, Mark] = field(default_factory=dict)
    trouble: str | None = None
    most_runs: int = MOST_RUNS
    most_bytes: int = MOST_BYTES
    runs_lost: int = 0
    _turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stuck: asyncio.Future[Any] | None = None
    _recall: Recall | None = None  # until it has been done

    async def begin(self, recall: Recall) -> None:
        """Open the store and read what it knows; `recall` says what follows from it.

        Raises StoreError for what waiting does not mend. A store that is only away now is opened when it comes.
        """
        self._recall = recall
        async with self._turns:
            await self._asked(self._open(), starting=True)

    async def save(self, entry: Entry) -> bool:
        """Whether it is in the store now; else it waits, also where we are cancelled meanwhile."""
        self._wait(entry)
        return self.trouble is None and await self._written()

    async def _written(self) -> bool:
        async with self._turns:
            return self.trouble is None and await self._asked(self._drain()) is not None

    async def mark(self, notification_id: str, mark: Mark) -> None:
        """Note what became of a notification: here at once, in the store as soon as it can be."""
        self.marks[notification_id] = mark
        if self.trouble is None:
            await self.catch_up()

    async def tend(self) -> None:
        """For ever: looks whether a store that went away is there again."""
        while True:
            await asyncio.sleep(ASK_AGAIN_S)
            await self.catch_up()

    async def catch_up(self) -> bool:
        """Write all that waits, oldest first; False where the store still refuses."""
        async with self._turns:
            if self.trouble is not None:
                return await self._asked(self._open()) is not None
            return not (self.backlog or self.marks) or await self._asked(self._drain()) is not None

    async def history(self, key: Key) -> Mapping[tuple[str, str], tuple[Past, ...]]:
        """Nothing where the store is away: a comparison with nothing says nothing."""
        return await self.asked(self.store.history(*key)) or {}

    async def due(self, now: datetime, most: int) -> tuple[Queued, ...] | None:
        """What the outbox holds; None where the store is away."""
        return await self.asked(self.store.due(now, most))

    async def postpone(self, notification_id: str, until: datetime, why: str) -> None:
        if notification_id not in self.unsaved():
            await self.asked(self.store.postponed(notification_id, until, why))

    async def asked(self, asking: Coroutine[Any, Any, T]) -> T | None:
        """Any other question to the store; None where it is away."""
        if self.trouble is not None:
            asking.close()
            return None
        return await self._asked(asking)

    async def answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The same for somebody who is to hear why there is no answer. Raises StoreError."""

        async def whole() -> tuple[T]:
            return (await ask(),)

        found = await self.asked(whole())
        if found is None:
            raise StoreError(StoreTrouble.UNREACHABLE, self.trouble or "the store did not answer")
        return found[0]

    def unsaved(self) -> frozenset[str]:
        """Ids of notifications that only we know of, since the store refuses them.

        One that is just being written is not among them: told before its transaction is over, and killed in between,
        it would be known to the receiver alone.
        """
        if self.trouble is None:
            return frozenset()
        return frozenset(told.id for entry in self.backlog for told in entry.conclusion.notifications)

    async def _asked(self, asking: Awaitable[T], *, starting: bool = False) -> T | None:
        """Whatever goes wrong with the store is told to `changed` once, until something goes right again.

        A transaction is never broken off: the connection of one that was may never close (seen with aiosqlite 0.22),
        and then neither does the process. Whoever is cancelled waits for its end; one that outlasts the limit is left
        to itself, and until it has ended the store is away.
        """
        if self._stuck is not None and not self._stuck.done():
            close = getattr(asking, "close", lambda: None)
            close()
            return None
        work = asyncio.ensure_future(asking)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                answer = await asyncio.shield(work)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([work], timeout=ANSWER_WITHIN_S)
            finally:
                self._leave(work)
            raise
        except StoreError as error:
            self._away(error, starting=starting)
        except TimeoutError:
            self._leave(work)
            self._turn(f"the store did not answer within {ANSWER_WITHIN_S:.0f} s")
        else:
            if not self.backlog:
                self._turn(None)
            return answer
        return None

    def _leave(self, work: asyncio.Future[Any]) -> None:
        """To itself. Until it has ended nobody may write what it is writing, and whatever it says then is too late."""
        self._stuck = work
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def _away(self, error: StoreError, *, starting: bool) -> None:
        """Raises the error again where it is no sign of that: a row that cannot be read, a start that never can be."""
        if isinstance(error, CodecError) or (starting and error.kind not in PASSING):
            raise error
        self._turn(str(error))
        if self._recall is not None and error.kind is StoreTrouble.TAKEN:
            self.refused(error)

    async def _open(self) -> bool:
        """The store may be another one than before, and what it knew before us is read once."""
        await self.store.mend()
        if self._recall is not None:
            follows = await self._recall()
            self._recall = None
            for conclusion in follows:
                self._wait(Entry(conclusion=conclusion))
        if self.trouble is not None:
            await self.store.save_conclusion(self.remembered())
        return await self._drain()

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
                await self._blame(error)
            else:
                return
        try:
            await self.store.save_conclusion(entry.conclusion)
        except Exception as error:  # noqa: BLE001
            await self._blame(error)

    async def _blame(self, error: Exception) -> None:
        """Raises the error again where the database is at fault; else it is the entry, or we: told, and given up.

        An error that could be either is the database's where it does not even answer an easy question.
        """
        if isinstance(error, StoreError):
            if error.kind is not StoreTrouble.OTHER:
                raise error
            await self.store.queue_depth()
        self.failed(error)

    def _turn(self, trouble: str | None) -> None:
        if (trouble is None) != (self.trouble is None):
            self.changed(trouble)
        self.trouble = trouble

    def _wait(self, entry: Entry) -> None:
        """Gives up the oldest runs beyond what we may keep."""
        self.backlog.append(entry)
        runs = [index for index, entry in enumerate(self.backlog) if entry.run is not None]
        size = sum(entry.size for entry in self.backlog)
        for place, index in enumerate(runs[:-1]):
            if len(runs) - place <= self.most_runs and size <= self.most_bytes:
                break
            size -= self.backlog[index].size
            self.backlog[index] = replace(self.backlog[index], run=None)
            self.runs_lost += 1
        while len(self.backlog) > MOST_ENTRIES:
            del self.backlog[1]  # the first one may be on its way
