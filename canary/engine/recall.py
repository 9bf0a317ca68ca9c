"""What the store knows from before this process becomes part of what is known: at the start, or when it comes.

All of it is read first. Then, in one step, it and what was seen meanwhile become one (`alerting.rejoin`), so that no
conclusion is drawn from half of it. What came before in the store is not ours to tell again: pages carry what each
receiver heard, and the outbox what it has yet to hear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from canary.alerting import Known as Open
from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.incident import Incident, Page
from canary.core.kept import Delivered
from canary.core.notification import Notification
from canary.core.route import Silence
from canary.core.snapshot import Latest
from canary.core.spec import Plan
from canary.engine.alerts import Alerts
from canary.engine.spending import Spending
from canary.engine.state import Known, untold
from canary.engine.teller import Teller
from canary.store import Store

DEPLOYS_BACK = timedelta(days=1)
_DEAD_BACK = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """`tokens`: since midnight UTC, of pipelines that have a limit. `deliveries`: of pages that are not resolved."""

    incidents: Sequence[Incident]
    pages: Sequence[Page]
    latest: Sequence[Latest]
    tokens: Mapping[str, int]
    dead_letters: Sequence[Delivered]
    deliveries: Mapping[str, Sequence[Delivered]]
    silences: tuple[Silence, ...]
    deploys: tuple[Deploy, ...]


async def read(store: Store, plan: Plan, now: datetime) -> Memory:
    """Raises StoreError."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    limited = [pipeline.name for pipeline in plan.pipelines if pipeline.tokens_per_day is not None]
    pages = await store.pages()
    return Memory(
        incidents=await store.incidents(),
        pages=pages,
        latest=await store.latest(),
        tokens={name: await store.tokens_spent(name, midnight) for name in limited},
        dead_letters=await store.dead_letters(now - _DEAD_BACK),
        deliveries={page.id: await store.deliveries(page.id) for page in pages if page.resolved_at is None},
        silences=await store.silences(now),
        deploys=await store.deploys(now - DEPLOYS_BACK),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """`offer` is given what is to be told."""

    store: Store
    known: Known
    alerts: Alerts
    teller: Teller
    spending: Spending
    now: Callable[[], datetime]
    offer: Callable[[Iterable[Notification]], None]

    async def __call__(self) -> tuple[Conclusion, ...]:
        """What follows, to be stored. Raises StoreError: then nothing has changed."""
        asked_at = self.now()
        memory = await read(self.store, self.known.plan, asked_at)
        now = self.now()
        self.alerts.silences, self.alerts.deploys = memory.silences, memory.deploys
        for pipeline, tokens in memory.tokens.items():
            self.spending.add(pipeline, tokens, asked_at)  # that day's
        self.teller.recall(memory.dead_letters, memory.deliveries)
        self.known.show(memory.latest)
        return self._joined(memory, now), self._retired(now)

    def _joined(self, memory: Memory, now: datetime) -> Conclusion:
        pages = (untold(page, unheard_by(memory.deliveries.get(page.id, ()))) for page in memory.pages)
        stored = Open(incidents=tuple(memory.incidents), pages=tuple(pages))
        found, conclusion = self.alerts.of_return(stored, now)
        self.known.hold(found.incidents, found.pages)
        return self._taken(conclusion, now)

    def _retired(self, now: datetime) -> Conclusion:
        """What the config asks for no more."""
        return self._taken(self.alerts.of_reload(now), now)

    def _taken(self, conclusion: Conclusion, now: datetime) -> Conclusion:
        self.known.conclude(conclusion, now)
        self.offer(conclusion.notifications)
        return conclusion


def unheard_by(deliveries: Sequence[Delivered]) -> frozenset[str]:
    """The receivers whose last message, of one page's in their order, was given up.

    Such a receiver does not know of the page, whatever we meant to say. A new config may have mended that (a token, a
    channel), so it is told again, as from the beginning.
    """
    last = {each.notification.receiver: each for each in deliveries}
    return frozenset(receiver for receiver, each in last.items() if each.dead_at is not None)
