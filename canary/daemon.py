"""The composition root: a plan becomes a running daemon, and ends as one.

`run_daemon` builds the parts, starts them, and waits to be told to stop. Then, in this order:

1. Nothing new is scheduled; what waits in line is dropped and counted.
2. Runs that are under way have `shutdown_grace` to end.
3. Then they are cancelled, and what they saw is kept as an interrupted run, from which nothing follows.
4. The outbox is flushed once.
5. HTTP, sessions and the store are closed.

A second signal leaves at once: what was stored is whole, since each run is one transaction.

A config that does not load never stops a daemon that runs: the plan before it stays in force, and log, metric and
`/-/ready` say so. What a reload cannot change (address, database) is said too, and waits for the next start.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp
import structlog

from canary.config.errors import ConfigError
from canary.config.estimate import costs
from canary.config.presets import catalogue
from canary.core import metrics
from canary.core.conclusion import Conclusion
from canary.core.metrics import Skip
from canary.core.run import Run
from canary.core.spec import Plan
from canary.engine import log as logs
from canary.engine.alerts import Alerts
from canary.engine.archive import Archive
from canary.engine.asking import Requests
from canary.engine.cycle import Cycle
from canary.engine.dispatch import Dispatcher
from canary.engine.due import Due, Key
from canary.engine.governor import Allowance, Cost
from canary.engine.health import LoopLag
from canary.engine.running import Running
from canary.engine.schedule import Clocks, Timetable
from canary.engine.spending import Spending
from canary.engine.state import Known
from canary.engine.teller import Teller
from canary.engine.worker import Worker
from canary.store import Store, open_store
from canary.web.actions import Answer, Done, Refusal, Refused
from canary.web.app import app
from canary.web.serve import serve

FILES_S = 3.0

log = structlog.get_logger()


def _wall() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # where the daemon reads the wall clock; everybody below is given it


REAL_CLOCKS = Clocks(steady=time.monotonic, wall=_wall)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the plan comes from. `load` raises ConfigError; `stamp` changes with the files."""

    load: Callable[[], Plan]
    stamp: Callable[[], object] = lambda: None


async def run_daemon(
    config: Config,
    *,
    stop: asyncio.Event,
    listening: Callable[[str], None] = lambda _: None,
    finished: Callable[[Run], None] = lambda _: None,
    clocks: Clocks = REAL_CLOCKS,
) -> None:
    """Returns once `stop` is set, after everything is closed. `listening` is told the base URL, `finished` each run.

    Raises ConfigError, StoreError or ListenError where it cannot even begin.
    """
    plan = config.load()
    logs.configure(plan.service.log_format)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(plan.service.storage))
        session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        running = build(plan, store=store, session=session, clocks=clocks, finished=finished)
        await running.recall()
        reload = Reload(config=config, running=running, stamp=config.stamp())
        stack.enter_context(_signals(stop, reload.wanted))
        site = app(snapshot=running.snapshot, actions=_requests(running, reload).actions(), listen=plan.service.listen)
        url = await stack.enter_async_context(serve(site, plan.service.listen))
        log.info("started", url=url, pipelines=len(plan.pipelines))
        listening(url)
        async with running.going(config=reload.watch):
            await stop.wait()
            log.info("stopping")
    log.info("stopped")


def build(
    plan: Plan,
    *,
    store: Store,
    session: aiohttp.ClientSession,
    clocks: Clocks,
    finished: Callable[[Run], None] = lambda _: None,
) -> Running:
    """All parts, tied together; nothing runs yet."""
    known = Known(plan=plan, started_at=clocks.wall(), last_reload_at=clocks.wall())
    archive = Archive(store=store, changed=_store_changed)
    alerts, spending = Alerts(known=known), Spending(day=clocks.wall().date())
    teller = Teller(known=known, session=session, now=clocks.wall)
    running: Running

    def concluded(conclusion: Conclusion, run: Run) -> None:
        if conclusion.notifications:
            teller.show(run)
        dispatcher.offer(conclusion.notifications)

    def skipped(key: Key, why: Skip, times: int) -> None:
        known.tally.add(metrics.RUNS_SKIPPED, *key, why, by=times)
        log.warning("run skipped", pipeline=key[0], probe=key[1], why=why.value, times=times)

    def over(run: Run) -> None:
        running.over(run)
        finished(run)

    def failed(_due: Due, error: Exception) -> None:
        running.own_error("worker", error)

    dispatcher = Dispatcher(
        archive=archive,
        deliver=teller.deliver,
        told=teller.told,
        failed=lambda error: running.own_error("notify", error),
        now=clocks.wall,
    )
    cycle = Cycle(
        known=known,
        archive=archive,
        clocks=clocks,
        catalogue=catalogue(),
        allowances=lambda: running.allowances,
        spending=spending,
        conclude=lambda run, history: alerts.of_run(run, history, clocks.wall()),
        concluded=concluded,
        over=over,
        skipped=skipped,
    )
    most = plan.service.concurrent_runs
    worker = Worker(perform=cycle.perform, urls=cycle.urls, skipped=skipped, failed=failed, most=most)
    running = Running(
        session=session,
        known=known,
        clocks=clocks,
        archive=archive,
        alerts=alerts,
        teller=teller,
        spending=spending,
        cycle=cycle,
        worker=worker,
        dispatcher=dispatcher,
        timetable=Timetable(clocks=clocks, ring=worker.take, skipped=skipped),
        allowances=allowances_of(plan),
        lag=LoopLag(steady=clocks.steady),
    )
    return running


def allowances_of(plan: Plan) -> Mapping[str, Allowance]:
    """By pipeline, of those that have a limit."""
    known = costs(plan)
    return {
        pipeline.name: Allowance(
            tokens_per_run=pipeline.tokens_per_run,
            tokens_per_day=pipeline.tokens_per_day,
            costs={
                probe: Cost(tokens_per_run=cost.usual.total, runs_per_day=cost.runs_per_day)
                for (name, probe), cost in known.items()
                if name == pipeline.name
            },
        )
        for pipeline in plan.pipelines
        if pipeline.tokens_per_run is not None or pipeline.tokens_per_day is not None
    }


@dataclass(slots=True, kw_only=True)
class Reload:
    """Reads the config again: on SIGHUP, when its files change, and on request. One at a time."""

    config: Config
    running: Running
    stamp: object
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(FILES_S):
                    await self.wanted.wait()
            except TimeoutError:
                stamp = await asyncio.to_thread(self.config.stamp)
                if stamp == self.stamp:
                    continue
            self.wanted.clear()
            await self.now()

    async def now(self) -> Answer:
        async with self.turns:
            self.stamp = await asyncio.to_thread(self.config.stamp)
            try:
                plan = await asyncio.to_thread(self.config.load)
                allowances = allowances_of(plan)
            except ConfigError as error:
                return self._refused("the config is not good", tuple(map(str, error.problems)))
            except Exception as error:  # noqa: BLE001  # our own bug; the old plan is as good as it was
                self.running.own_error("reload", error)
                return self._refused("the config could not be read, through a fault of ours", ())
            fixed = _fixed(self.running.known.plan, plan)
            await self.running.follow(plan, allowances)
            log.info("config reloaded", pipelines=len(plan.pipelines))
            if fixed:
                log.warning("takes effect at the next start only", changed=fixed)
            return Done(message="; ".join(["the config is in force", *(f"{name} at the next start" for name in fixed)]))

    def _refused(self, message: str, details: tuple[str, ...]) -> Answer:
        log.error("config refused, the one before stays in force", why=message, problems=details)
        self.running.known.last_reload_ok = False
        self.running.publish()
        return Refused(why=Refusal.INVALID, message=f"{message}; the one before stays in force", details=details)


def _fixed(old: Plan, new: Plan) -> list[str]:
    """What changed that only a start can change."""
    before, after = old.service, new.service
    address = (before.listen.host, before.listen.port) != (after.listen.host, after.listen.port)
    return [name for name, changed in (("listen", address), ("storage", before.storage != after.storage)) if changed]


def _requests(running: Running, reload: Reload) -> Requests:
    return Requests(
        known=running.known,
        worker=running.worker,
        archive=running.archive,
        alerts=running.alerts,
        clocks=running.clocks,
        settle=running.settle,
        reload=reload.now,
    )


def _store_changed(trouble: str | None) -> None:
    if trouble is None:
        log.info("history is written again")
    else:
        log.error("history cannot be written; runs and pages go on from memory", why=trouble)


@contextmanager
def _signals(stop: asyncio.Event, reload: asyncio.Event) -> Iterator[None]:
    """SIGTERM and Ctrl-C stop in order, the second one at once; SIGHUP reads the config again."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    loop.add_signal_handler(signal.SIGHUP, reload.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)
