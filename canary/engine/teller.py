"""Telling receivers: which notifier, with which picture, and what is remembered of how it went.

A receiver is told one thing at a time: what is said again to one that forgets must not overtake the end of the page.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import aiohttp
import structlog

from canary.core import metrics
from canary.core.kept import Delivered
from canary.core.metrics import Sending
from canary.core.notification import Delivery, Notification, Rejected, Sent
from canary.core.route import Receiver
from canary.core.run import Run
from canary.engine.refresh import Refresh
from canary.engine.state import Known
from canary.notify import NOTIFIERS, deliver
from canary.notify.kind import Beside

_MOST_RUNS = 8  # kept for their pictures
_DAY = timedelta(days=1)

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Teller:
    known: Known
    session: aiohttp.ClientSession
    now: Callable[[], datetime]
    refresh: Refresh = field(default_factory=Refresh)
    runs: OrderedDict[str, Run] = field(default_factory=OrderedDict)
    dead: deque[datetime] = field(default_factory=deque)
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))  # by receiver

    def recall(self, dead_letters: Iterable[Delivered], deliveries: Mapping[str, Iterable[Delivered]]) -> None:
        """What an earlier life could not deliver, and what it said of pages that are open still, in order."""
        self.dead.extendleft(sorted((each.dead_at for each in dead_letters if each.dead_at), reverse=True))
        for told in (each for its in deliveries.values() for each in its):
            if told.sent_at is not None:
                self.refresh.note(told.notification, told.sent_at)

    def show(self, run: Run) -> None:
        """Keep a run that somebody will be told of, for its picture."""
        self.runs[run.id] = run
        while len(self.runs) > _MOST_RUNS:
            self.runs.popitem(last=False)

    async def deliver(self, notification: Notification, handle: str | None) -> Delivery:
        async with self.turns[notification.receiver]:
            return await self._deliver(notification, handle)

    async def _deliver(self, notification: Notification, handle: str | None) -> Delivery:
        receiver = self._receiver(notification.receiver)
        if receiver is None:
            return Rejected(why=f"the config has no receiver {notification.receiver!r} any more")
        beside = Beside(
            run=self.runs.get(notification.message.run_id or ""),
            pages=tuple(page for page in self.known.pages.values() if page.resolved_at is None),
            incidents=tuple(self.known.incidents.values()),
        )
        return await deliver(receiver, notification, session=self.session, now=self.now(), handle=handle, beside=beside)

    def told(self, notification: Notification, sending: Sending, why: str) -> None:
        """What became of an attempt: a number, a line, and for a dead letter a mark of a day."""
        receiver = self._receiver(notification.receiver)
        self.known.tally.add(metrics.NOTIFICATIONS, receiver.kind if receiver else "none", sending)
        line = {
            "notification": notification.id,
            "page": notification.page_id,
            "receiver": notification.receiver,
            "reason": notification.reason.value,
        }
        if sending is Sending.SENT:
            log.info("told", **line)
            self.refresh.note(notification, self.now())
        elif sending is Sending.RETRY:
            log.warning("not told yet", **line, why=why)
        else:
            self._nobody(why, **line)

    def lost(self, notification_id: str, why: str) -> None:
        """One that cannot even be read."""
        self.known.tally.add(metrics.NOTIFICATIONS, "none", Sending.DEAD)
        self._nobody(why, notification=notification_id)

    def _nobody(self, why: str, **line: str) -> None:
        log.error("nobody is told", **line, why=why)
        self.dead.append(self.now())

    def dead_letters(self) -> int:
        """Of the last day."""
        while self.dead and self.now() - self.dead[0] > _DAY:
            self.dead.popleft()
        return len(self.dead)

    async def say_again(self) -> None:
        """To receivers that forget; see refresh.py. What is over by the time that its turn comes is not said.

        Who does not take one is spared the others: whoever waits for this waits for one silent receiver once.
        """
        spared: set[str] = set()
        for notification in self.refresh.due(self._open(), self._refresh_s, self.now()):
            if notification.receiver in spared:
                continue
            async with self.turns[notification.receiver]:
                if notification.page_id not in self._open():
                    continue
                delivery = await self._deliver(notification, None)
            if not isinstance(delivery, Sent):
                spared.add(notification.receiver)
            log.debug("said again", page=notification.page_id, outcome=type(delivery).__name__)

    def _open(self) -> frozenset[str]:
        return frozenset(page.id for page in self.known.pages.values() if page.resolved_at is None)

    def _refresh_s(self, receiver: str) -> float | None:
        found = self._receiver(receiver)
        return NOTIFIERS[found.kind].refresh_s if found else None

    def _receiver(self, name: str) -> Receiver | None:
        return next((each for each in self.known.plan.receivers if each.name == name), None)
