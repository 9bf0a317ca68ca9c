"""Which of the runs that are due may start now, and what becomes of those that run.

Two runs against one URL would disturb each other's timing, so they never overlap, whichever pipelines they belong to.
Runs wait in line; one may pass those before it only if it needs nothing that they wait for, so nobody starves. A probe
that is due again while it still runs or waits is not queued twice: that is an overlap, and counted.

Every run is a task of our own TaskGroup. Whatever goes wrong in one is our own bug by then (a target's faults are
data): it is told to `failed`, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from canary.core.metrics import Skip
from canary.engine.due import Due, Key, Why

Urls = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in line: a run and the URLs that it will ask."""

    due: Due
    urls: Urls


def startable(line: Sequence[Place], busy: Urls, free: int) -> tuple[Place, ...]:
    """Which of `line`, first come first, may start now. `busy`: URLs asked by running ones; `free`: how many more."""
    taken: set[str] = set(busy)
    chosen: list[Place] = []
    for place in line:
        if len(chosen) < free and not place.urls & taken:
            chosen.append(place)
        taken |= place.urls
    return tuple(chosen)


@dataclass(slots=True, kw_only=True)
class Worker:
    """`perform` makes one run and says whether it wants to be confirmed; `urls` are those that a run asks, if it starts
    now: a reload may have changed them while it waited.

    `most` runs at a time. `skipped` is told of each run that will not happen, `failed` of bugs.
    """

    perform: Callable[[Due], Awaitable[Due | None]]
    urls: Callable[[Key], Urls]
    skipped: Callable[[Key, Skip, int], None]
    failed: Callable[[Due, Exception], None]
    most: int
    line: list[Due] = field(default_factory=list)
    running: dict[Key, tuple[Place, asyncio.Task[None]]] = field(default_factory=dict)
    _group: asyncio.TaskGroup | None = None

    def use(self, group: asyncio.TaskGroup) -> None:
        """Runs become tasks of this group from now on."""
        self._group = group
        self._start()

    @property
    def stopping(self) -> bool:
        """Whether whatever is put in line would be dropped."""
        return self._group is None

    def take(self, due: Due) -> bool:
        """Put a run in line; False if it is not, because its probe waits or runs already or we are shutting down."""
        if self.stopping:
            self.skipped(due.key, Skip.SHUTDOWN, 1)
            return False
        if due.why is Why.CONFIRM:  # of a run that has just ended, so that none of its probe can wait
            self.line.insert(0, due)
        elif due.key in self.running or any(other.key == due.key for other in self.line):
            self.skipped(due.key, Skip.OVERLAP, 1)
            return False
        else:
            self.line.append(due)
        self._start()
        return True

    def waiting_s(self, now_s: float) -> float:
        """How long the longest scheduled run has been waiting in line."""
        return max((now_s - due.due_s for due in self.line if due.why is Why.SCHEDULE), default=0.0)

    async def drain(self, grace_s: float) -> None:
        """Take no more, drop the line, give the running ones `grace_s`, then cancel them and wait for them to leave."""
        self._group = None
        for due in self.line:
            self.skipped(due.key, Skip.SHUTDOWN, 1)
        self.line.clear()
        tasks = [task for _, task in self.running.values()]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    def _start(self) -> None:
        if self._group is None:
            return
        busy = frozenset(url for place, _ in self.running.values() for url in place.urls)
        line = [Place(due=due, urls=self.urls(due.key)) for due in self.line]
        for place in startable(line, busy, self.most - len(self.running)):
            self.line.remove(place.due)
            task = self._group.create_task(self._run(place.due), name=f"run {place.due.run_id}")
            self.running[place.due.key] = (place, task)

    async def _run(self, due: Due) -> None:
        again = None
        try:
            again = await self.perform(due)
        except Exception as error:  # noqa: BLE001  # our own bug; one run less, and the daemon goes on
            self.failed(due, error)
        finally:
            del self.running[due.key]
            if again is None or not self.take(again):
                self._start()
