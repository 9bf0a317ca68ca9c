"""The parts of a daemon while it runs: what goes on around the runs, and how all of it ends.

Everything that recurs is one row of `_rounds` or `_loops`. A fault of ours in one of them is logged and counted, and it
goes on with the next turn: a monitor does not die of a bug in what it does beside.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import structlog

from canary.core import metrics
from canary.core.conclusion import Conclusion
from canary.core.notification import Sent
from canary.core.run import Run
from canary.core.snapshot import Snapshot
from canary.core.spec import Plan
from canary.engine.alerts import Alerts
from canary.engine.archive import Archive, Entry, Mark
from canary.engine.cycle import Cycle
from canary.engine.dispatch import Dispatcher
from canary.engine.governor import Allowance
from canary.engine.health import LoopLag
from canary.engine.readiness import Vitals, readiness
from canary.engine.recall import DEPLOYS_BACK, Recall, unheard_by
from canary.engine.schedule import Clocks, Timetable
from canary.engine.spending import Spending
from canary.engine.state import Known, Pulse
from canary.engine.teller import Teller
from canary.engine.worker import Worker
from canary.notify.heartbeat import ping
from canary.store import StoreError, Unreadable

BEAT_S = 1.0  # clocks and snapshot
LOOK_S = 15.0  # whatever time brings: reminders, mutes that end; and silences and deploys that others stored
PRUNE_S = 60.0  # with nothing to remove it costs 30 ms of processor time over 100,000 runs
_AFTER_A_BUG_S = 5.0

log = structlog.get_logger()
Act = Callable[[], Coroutine[None, None, None]]


@dataclass(slots=True, kw_only=True)
class Running:
    """`last_whole_s`: when a run was last finished and stored, on the steady clock."""

    session: aiohttp.ClientSession
    known: Known
    clocks: Clocks
    archive: Archive
    alerts: Alerts
    teller: Teller
    spending: Spending
    cycle: Cycle
    worker: Worker
    dispatcher: Dispatcher
    timetable: Timetable
    allowances: Mapping[str, Allowance]
    lag: LoopLag
    last_whole_s: float | None = None
    last_ping_s: float | None = None
    stopping: bool = False
    shown: Snapshot | None = None
    aside: set[Unreadable] = field(default_factory=set)

    def snapshot(self) -> Snapshot:
        return self.shown or self.publish()

    def publish(self) -> Snapshot:
        """Swap what everybody else sees."""
        now, plan = self.clocks.wall(), self.known.plan
        vitals = self._vitals()
        limits = {pipeline.name: pipeline.tokens_per_day for pipeline in plan.pipelines}
        pulse = Pulse(
            now=now,
            next_runs=self.timetable.next_runs(),
            schedule_lag_s=vitals.schedule_lag_s,
            loop_lag_s=vitals.loop_lag_s,
            tokens_today=self.spending.today(limits, now),
            waiting=len(self.dispatcher.waiting),
            dead_letters=vitals.dead_letters,
            store_up=vitals.store_trouble is None,
            readiness=readiness(vitals),
        )
        self.shown = self.known.snapshot(pulse)
        return self.shown

    async def recall(self) -> None:
        """What the store knows from before; of one that is only away now, when it comes. Raises StoreError."""
        recall = Recall(
            store=self.archive.store,
            known=self.known,
            alerts=self.alerts,
            teller=self.teller,
            spending=self.spending,
            now=self.clocks.wall,
            offer=self.dispatcher.offer,
        )
        await self.archive.begin(recall)
        self.publish()

    async def _forget_what_nobody_heard(self) -> None:
        """See `unheard_by`."""
        unheard = {
            page.id: unheard_by(await self.archive.asked(self.archive.store.deliveries(page.id)) or ())
            for page in tuple(self.known.pages.values())
            if page.resolved_at is None
        }
        self.known.forget_told(unheard)

    async def settle(self, conclusion: Conclusion) -> None:
        """Take in what follows from time, a person or a reload; nothing is a frequent answer."""
        if conclusion == Conclusion():
            return
        self.known.conclude(conclusion, self.clocks.wall())
        self.dispatcher.offer(conclusion.notifications)
        self.publish()
        await self.archive.save(Entry(conclusion=conclusion))

    async def follow(self, plan: Plan, allowances: Mapping[str, Allowance]) -> None:
        """Another plan is in force from here on. What it has in common with the old one goes on undisturbed."""
        self.known.follow(plan)
        self.allowances = allowances
        self.cycle.objected.clear()
        self.worker.most = plan.service.concurrent_runs
        self.timetable.follow(plan, self.known.last_runs)
        self.known.last_reload_ok, self.known.last_reload_at = True, self.clocks.wall()
        await self._forget_what_nobody_heard()
        await self.settle(self.alerts.of_reload(self.clocks.wall()))
        self.dispatcher.hurry()
        self.publish()

    def over(self, run: Run) -> None:
        if run.cut_short is None and self.archive.trouble is None:
            self.last_whole_s = self.clocks.steady()
        self.publish()

    def own_error(self, where: str, error: Exception) -> None:
        log.error("our own fault", where=where, exc_info=error)
        self.known.tally.add(metrics.OWN_ERRORS, where)

    @asynccontextmanager
    async def going(self, **more: Act) -> AsyncIterator[None]:
        """Scheduling, running and telling, and `more` by name, until the block ends; then the shutdown, in order."""
        async with asyncio.TaskGroup() as group:
            rounds = [
                *(group.create_task(self._every(name, *turn)) for name, turn in self._rounds().items()),
                *(group.create_task(self._loyal(name, act)) for name, act in self._loops(**more).items()),
            ]
            group.create_task(self._loyal("dispatch", self.dispatcher.run))
            async with asyncio.TaskGroup() as runs:
                self.worker.use(runs)
                self.timetable.follow(self.known.plan, self.known.last_runs)
                self.timetable.start()
                try:
                    yield
                finally:
                    self.stopping = True
                    self.timetable.stop()
                    self.publish()
                    await self.worker.drain(self.known.plan.service.shutdown_grace_s)
            for task in rounds:
                task.cancel()
            self.dispatcher.close()  # not cancelled: what is just being told must be marked, or it is told again
        await self.archive.catch_up()
        await self.dispatcher.flush()
        self._say_what_is_lost()
        self.publish()

    def _say_what_is_lost(self) -> None:
        """What the store did not take to the last."""
        backlog, marks = self.archive.backlog, self.archive.marks
        if backlog or marks:
            runs = sum(entry.run is not None for entry in backlog)
            why = self.archive.trouble
            log.error("left unwritten", runs=runs, conclusions=len(backlog), deliveries=len(marks), why=why)

    def _rounds(self) -> Mapping[str, tuple[float, Act]]:
        """What is done every so many seconds."""
        return {
            "beat": (BEAT_S, self._beat),
            "heartbeat": (BEAT_S, self._heartbeat),
            "look": (LOOK_S, self._look),
            "prune": (PRUNE_S, self._prune),
        }

    def _loops(self, **more: Act) -> Mapping[str, Act]:
        """What never ends by itself."""
        return {"lag": self.lag.watch, "archive": self.archive.tend, **more}

    async def _every(self, name: str, period_s: float, act: Act) -> None:
        while True:
            await asyncio.sleep(period_s)
            try:
                await act()
            except Exception as error:  # noqa: BLE001  # our own bug; see above
                self.own_error(name, error)

    async def _loyal(self, name: str, act: Act) -> None:
        """Again after a fault, until it ends by itself or we stop."""
        while not self.stopping:
            try:
                await act()
            except Exception as error:  # noqa: BLE001
                self.own_error(name, error)
                await asyncio.sleep(_AFTER_A_BUG_S)
            else:
                return

    async def _beat(self) -> None:
        if jump_s := self.timetable.check_clocks():
            log.warning("the wall clock jumped", by_s=round(jump_s, 1))
        await self._set_aside()
        self.publish()

    async def _set_aside(self) -> None:
        """Say which stored rows could not be read; what is among them that nobody was told is a dead letter."""
        for row in self.archive.store.aside.rows.keys() - self.aside:
            self.aside.add(row)
            log.error("a stored row cannot be read", table=row.table, key=row.key, why=row.why)
            self.known.tally.add(metrics.OWN_ERRORS, "stored row")
            if row.unsent:
                self.teller.lost(row.key, row.why)
                await self.archive.mark(row.key, Mark(at=self.clocks.wall(), dead=row.why))

    async def _look(self) -> None:
        await self.listen()
        await self.settle(self.alerts.of_time(self.clocks.wall()))
        await self.teller.say_again()

    async def listen(self) -> None:
        """What other processes stored: whoever silences a page from a shell and then breaks something is not paged."""
        now = self.clocks.wall()
        store = self.archive.store
        silences = await self.archive.asked(store.silences(now))
        deploys = await self.archive.asked(store.deploys(now - DEPLOYS_BACK))
        self.alerts.silences = self.alerts.silences if silences is None else silences
        self.alerts.deploys = self.alerts.deploys if deploys is None else deploys

    async def _prune(self) -> None:
        """Many small steps, which may take long in all: that is no sign of a store that does not answer."""
        if self.archive.trouble is not None:
            return
        try:
            pruned = await self.archive.store.prune(self.clocks.wall())
        except StoreError as error:
            log.warning("not pruned", why=str(error))
        else:
            if pruned.before is not None:
                self.known.tally.forget_runs(pruned.before)
            say = log.info if pruned.runs or pruned.transcripts else log.debug
            say("pruned", runs=pruned.runs, transcripts=pruned.transcripts)

    async def _heartbeat(self) -> None:
        """Said only by what works: a run since the last ping, stored, and nobody who refuses to be told."""
        heartbeat, at_s = self.known.plan.service.heartbeat, self.clocks.steady()
        if heartbeat is None or self.last_whole_s is None:
            return
        if self.last_ping_s is not None and (
            self.last_whole_s <= self.last_ping_s or at_s - self.last_ping_s < heartbeat.every_s
        ):
            return
        if self.publish().readiness.problems or self.dispatcher.struggles:
            return
        self.last_ping_s = at_s
        delivery = await ping(heartbeat, self.session)
        if not isinstance(delivery, Sent):
            log.warning("the heartbeat was not taken", why=delivery.why)

    def _vitals(self) -> Vitals:
        at_s = self.clocks.steady()
        return Vitals(
            schedule_lag_s=max(0.0, self.timetable.overdue_s(), self.worker.waiting_s(at_s)),
            loop_lag_s=self.lag.worst_s,
            store_trouble=self.archive.trouble,
            dead_letters=self.teller.dead_letters(),
            untold_s=self.dispatcher.oldest_s(),
            reload_ok=self.known.last_reload_ok,
            set_aside=len(self.aside),
            objections=[
                f"{pipeline}: {probe} is kept back, since {why}"
                for (pipeline, probe), why in self.cycle.objected.items()
            ],
            stopping=self.stopping,
        )
