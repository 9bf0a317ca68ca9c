"""The outbox's other end: what was decided is told, at least once, under one key.

A notification is marked after its receiver took it, never before: a crash in between repeats it, and does not lose it.
The repetition carries the same id, which receivers that can tell (PagerDuty, Alertmanager, webhooks) fold into one.

- Order is kept per page and receiver: nobody hears that something is over before hearing that it began.
- Receivers do not wait for each other: each has a lane of its own.
- What is not taken is tried again after `delay_s`, which heeds what the receiver asks for, within bounds: no page waits
  longer than `LONGEST_DELAY_S` for an absurd wish, and who says "at once" each time is not asked every second.
  After `GIVE_UP_S`, or when the receiver says that it will never take it, it is a dead letter: counted, logged, and a
  reason not to be ready.
- What the store does not have (it is away) is told all the same, from memory, and says so.
- How long to wait is kept on the steady clock: a wall clock that is set back by an hour must not hold a page for one.
  So all that is queued is read, due or not, and when it is due is our own affair.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice

from canary.core.metrics import Sending
from canary.core.notification import Delivery, Notification, Rejected, RetryLater, Sent
from canary.engine.archive import Archive, Mark
from canary.store import Queued

FIRST_DELAY_S = 5.0
LONGEST_DELAY_S = 900.0
GIVE_UP_S = 86_400.0
TRIED_S = 3600.0  # at least, before it is given up: a machine that slept, or was off, has not tried for a day
ANSWER_WITHIN_S = 60.0
IDLE_S = 30.0
AHEAD = timedelta(days=3660)  # by the wall clock; it takes whatever the outbox holds
MOST = 1000  # of one pass
_MOST_HANDLES = 10_000

Lane = tuple[str, str]  # a page and a receiver


def delay_s(notification_id: str, attempts: int, wish_s: float | None = None) -> float:
    """How long to wait after `attempts` failures: doubled each time, with a jitter that is this notification's own.

    `wish_s`: of the receiver, by its Retry-After; the first time it counts alone, later it is the least.
    """
    digest = hashlib.sha256(f"{notification_id}/{attempts}".encode()).digest()
    spread = 0.75 + digest[0] / 512  # 0.75 to 1.25
    doubled = 2.0 ** min(max(attempts - 1, 0), 20)
    if wish_s is not None:
        return min(LONGEST_DELAY_S, max(wish_s, doubled - 1)) + spread
    return min(LONGEST_DELAY_S, FIRST_DELAY_S * doubled) * spread


@dataclass(slots=True, kw_only=True)
class Waiting:
    """An undelivered notification. On the steady clock: `since_s` when we met it, `ripe_s` when it may be told."""

    notification: Notification
    since_s: float
    ripe_s: float
    attempts: int = 0
    handle: str | None = None


@dataclass(slots=True, kw_only=True)
class Dispatcher:
    """`deliver` sends one notification; `told` is called with what became of each attempt and why."""

    archive: Archive
    deliver: Callable[[Notification, str | None], Awaitable[Delivery]]
    told: Callable[[Notification, Sending, str], None]
    failed: Callable[[Exception], None]
    now: Callable[[], datetime]
    steady: Callable[[], float]
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False
    waiting: dict[str, Waiting] = field(default_factory=dict)
    handles: dict[Lane, str | None] = field(default_factory=dict)
    held: dict[str, float] = field(default_factory=dict)  # receivers, until when on the steady clock
    busy: set[str] = field(default_factory=set)  # receivers that are being told something right now
    ended: set[str] = field(default_factory=set)  # what was told or given up while the outbox was being read

    def offer(self, notifications: Iterable[Notification]) -> None:
        """What was just decided, saved or not; it goes out at once."""
        at_s = self.steady()
        for notification in notifications:
            self.waiting.setdefault(notification.id, Waiting(notification=notification, since_s=at_s, ripe_s=at_s))
            self.wake.set()

    async def run(self) -> None:
        """Pass after pass; once it is closed it ends with the lanes that are under way."""
        async with asyncio.TaskGroup() as lanes:
            while not self.closed:
                await self._pass(lanes)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._idle_s()):
                        await self.wake.wait()
                self.wake.clear()

    def hurry(self) -> None:
        """After a reload, which may have mended a receiver: nobody waits until the next attempt would be due."""
        at_s = self.steady()
        self.held.clear()
        for each in self.waiting.values():
            each.ripe_s = min(each.ripe_s, at_s)
        self.wake.set()

    def close(self) -> None:
        self.closed = True
        self.wake.set()

    def notifications(self) -> tuple[Notification, ...]:
        """All that is not told yet."""
        return tuple(each.notification for each in self.waiting.values())

    @property
    def struggles(self) -> bool:
        """Whether somebody did not take what we tried to tell."""
        return any(each.attempts for each in self.waiting.values())

    def oldest_s(self) -> float:
        """How long the oldest undelivered notification has been waiting."""
        at_s = self.steady()
        return max((at_s - each.since_s for each in self.waiting.values()), default=0.0)

    async def flush(self) -> None:
        """One pass, to its end."""
        async with asyncio.TaskGroup() as lanes:
            await self._pass(lanes)

    async def _pass(self, lanes: asyncio.TaskGroup) -> None:
        """1 catch up with the store, 2 look what is due, 3 tell every receiver that is not being told already."""
        if self.archive.trouble is None:
            await self.archive.catch_up()
        rows: dict[str, list[Waiting]] = defaultdict(list)
        for each in await self._due():
            if each.notification.receiver not in self.busy:
                rows[each.notification.receiver].append(each)
        self.busy.update(rows)
        for receiver, its in rows.items():
            lanes.create_task(self._lane(receiver, its))

    async def _due(self) -> Sequence[Waiting]:
        """What may be told now, the first of each lane. Without the store: what we remember."""
        self.ended.clear()
        queued = await self.archive.due(self.now() + AHEAD, MOST)
        known = self.archive.marks.keys() | self.ended
        rows = [row for row in queued or () if row.notification.id not in known]
        for row in rows:
            self.waiting.setdefault(row.notification.id, self._met(row))
        heads = [row.notification.id for row in rows]
        reachable = set(self.waiting) if queued is None else {*heads, *self.archive.unsaved()}
        first: dict[Lane, Waiting] = {}
        for name in (*heads, *self.waiting):  # in the order of decision, whatever the clock said then
            if name not in self.archive.marks:
                first.setdefault(_lane_of(self.waiting[name].notification), self.waiting[name])
        at_s = self.steady()
        return [each for each in first.values() if each.notification.id in reachable and self._ripe_s(each) <= at_s]

    def _met(self, row: Queued) -> Waiting:
        """A notification that an earlier life left, with what is left of its wait as far as that can be."""
        at_s, longest_s = self.steady(), 1.25 * LONGEST_DELAY_S
        wait_s = min((row.due_at - self.now()).total_seconds(), longest_s) if row.attempts else 0.0
        return Waiting(
            notification=row.notification,
            since_s=at_s,
            ripe_s=at_s + max(0.0, wait_s),
            attempts=row.attempts,
            handle=row.handle,
        )

    def _ripe_s(self, each: Waiting) -> float:
        return max(each.ripe_s, self.held.get(each.notification.receiver, each.ripe_s))

    async def _lane(self, receiver: str, rows: Sequence[Waiting]) -> None:
        """One receiver's; after a refusal the rest waits, because the next would be refused as well."""
        try:
            for each in rows:
                if not await self._tell(each):
                    return
        finally:
            self.busy.discard(receiver)
            self.wake.set()  # for what was decided meanwhile, and the next of each page

    async def _tell(self, each: Waiting) -> bool:
        """Whether the receiver can be told more now."""
        notification = each.notification
        delivery = await self._attempt(each)
        now = self.now()
        match delivery:
            case Sent(handle=handle):
                self._remember(_lane_of(notification), handle)
                await self._over(each, Mark(at=now, sent=delivery))
                self.told(notification, Sending.SENT, "")
                return True
            case Rejected(why=why):
                await self._give_up(each, why, now)
                return True
            case RetryLater(why=why, after_s=wish_s):
                return await self._retry(each, why, wish_s, now)

    async def _attempt(self, each: Waiting) -> Delivery:
        notification = each.notification
        handle = self.handles.get(_lane_of(notification), each.handle)
        if notification.id in self.archive.unsaved():
            notification = _with_note(notification, self.archive.trouble)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self.deliver(notification, handle)
        except TimeoutError:
            return RetryLater(why=f"no answer within {ANSWER_WITHIN_S:.0f} s")
        except Exception as error:  # noqa: BLE001  # our own bug must not cost a page: it is told, and tried again
            self.failed(error)
            return RetryLater(why=f"our own fault: {type(error).__name__}")

    async def _retry(self, each: Waiting, why: str, wish_s: float | None, now: datetime) -> bool:
        each.attempts += 1
        at_s, age_s = self.steady(), (now - each.notification.at).total_seconds()
        if age_s >= GIVE_UP_S and at_s - each.since_s >= TRIED_S:
            await self._give_up(each, f"not taken for a day, at last: {why}", now)
            return True
        wait_s = delay_s(each.notification.id, each.attempts, wish_s)
        each.ripe_s = at_s + wait_s
        self.held[each.notification.receiver] = each.ripe_s if wish_s is not None else at_s + FIRST_DELAY_S
        self.told(each.notification, Sending.RETRY, why)
        await self.archive.postpone(each.notification.id, now + timedelta(seconds=wait_s), why)
        return False

    async def _give_up(self, each: Waiting, why: str, now: datetime) -> None:
        await self._over(each, Mark(at=now, dead=why))
        self.told(each.notification, Sending.DEAD, why)

    async def _over(self, each: Waiting, mark: Mark) -> None:
        await self.archive.mark(each.notification.id, mark)
        self.ended.add(each.notification.id)
        self.waiting.pop(each.notification.id, None)

    def _remember(self, lane: Lane, handle: str | None) -> None:
        self.handles.pop(lane, None)
        self.handles[lane] = handle
        for oldest in tuple(islice(self.handles, max(0, len(self.handles) - _MOST_HANDLES))):
            del self.handles[oldest]

    def _idle_s(self) -> float:
        """Until the next one is ripe, or somebody else may have put something into the outbox."""
        soonest_s = min((self._ripe_s(each) for each in self.waiting.values()), default=math.inf) - self.steady()
        return min(IDLE_S, max(soonest_s, 1.0))


def _lane_of(notification: Notification) -> Lane:
    return notification.page_id, notification.receiver


def _with_note(notification: Notification, trouble: str | None) -> Notification:
    note = f"History could not be written ({trouble or 'the store is behind'}), so this may be told twice."
    return replace(notification, message=replace(notification.message, notes=(*notification.message.notes, note)))
