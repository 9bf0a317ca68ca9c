"""The composition root: a plan becomes a running daemon, and ends as one.

`run_daemon` builds the parts, starts them, and waits to be told to stop. Then, in this order:

1. Nothing new is scheduled; what waits in line is dropped and counted.
2. Runs that are under way have `shutdown_grace` to end.
3. Then they are cancelled, and what they saw is kept as an interrupted run, from which nothing follows.
4. The outbox is flushed once.
5. HTTP, sessions and the store are closed.

A second signal leaves at once: what was stored is whole, since each run is one transaction.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import aiohttp
import structlog
from aiohttp import web

from canary.config.errors import ConfigError
from canary.config.estimate import costs
from canary.config.presets import catalogue
from canary.core.run import Run
from canary.core.service import LogFormat
from canary.core.spec import Plan
from canary.engine import log as logs
from canary.engine.alerts import Alerts
from canary.engine.archive import Archive
from canary.engine.asking import Requests
from canary.engine.cycle import Cycle
from canary.engine.dispatch import Dispatcher
from canary.engine.governor import Allowance, Cost
from canary.engine.health import LoopLag
from canary.engine.records import records_of
from canary.engine.reload import Fresh, Reload
from canary.engine.running import Running
from canary.engine.schedule import Clocks, Timetable
from canary.engine.spending import Spending
from canary.engine.state import Known
from canary.engine.statements import Statements
from canary.engine.teller import Teller
from canary.engine.ties import Ties
from canary.engine.worker import Worker
from canary.store import Store, StoreError, store_at
from canary.web.actions import Refusal, Refused
from canary.web.app import app
from canary.web.serve import serve

log = structlog.get_logger()


def _wall() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # where the daemon reads the wall clock; everybody below is given it


def _slept() -> float:
    """Two clocks that differ in nothing but that one stands still while the machine is suspended; 0 elsewhere."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


REAL_CLOCKS = Clocks(steady=time.monotonic, wall=_wall, slept=_slept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Where the plan comes from. `load` raises ConfigError; `stamp` changes with the files, every `look_s` compared.

    `log` sets up logging in the form that the plan asks for; `seed`: of each run's questions.
    """

    load: Callable[[], Plan]
    stamp: Callable[[], object] = lambda: None
    look_s: float = 3.0
    log: Callable[[LogFormat | None], None] = logs.configure
    seed: Callable[[], int] = lambda: secrets.randbits(63)


async def run_daemon(
    config: Config,
    *,
    stop: asyncio.Event,
    listening: Callable[[str], None] = lambda _: None,
    finished: Callable[[Run], None] = lambda _: None,
    clocks: Clocks = REAL_CLOCKS,
) -> None:
    """Returns once `stop` is set, after everything is closed. `listening` is told the base URL, `finished` each run.

    Raises ConfigError, StoreError or ListenError where it cannot even begin. A store that is only away now is no reason
    for that; where it turns out to be another daemon's, StoreError is raised then.
    """
    refusals: list[StoreError] = []

    def refuse(error: StoreError) -> None:
        refusals.append(error)
        stop.set()

    async with AsyncExitStack() as stack:
        wanted = asyncio.Event()
        stack.enter_context(_signals(stop, wanted))
        seen = config.stamp()
        plan = config.load()
        config.log(plan.service.log_format)
        store = await stack.enter_async_context(store_at(plan.service.storage))
        session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        running = build(plan, config, store=store, session=session, clocks=clocks, finished=finished)
        running.archive.refused = refuse
        await running.recall()
        reload = _reload(config, running, seen=seen, wanted=wanted)
        url = await stack.enter_async_context(serve(_site(plan, running, reload), plan.service.listen))
        log.info("started", url=url, pipelines=len(plan.pipelines))
        listening(url)
        async with running.going(config=reload.watch):
            await stop.wait()
            log.info("stopping")
    log.info("stopped")
    if refusals:
        raise refusals[0]


def _reload(config: Config, running: Running, *, seen: object, wanted: asyncio.Event) -> Reload:
    return Reload(
        read=partial(_read, config),
        stamp=config.stamp,
        running=running,
        seen=seen,
        look_s=config.look_s,
        wanted=wanted,
    )


def _site(plan: Plan, running: Running, reload: Reload) -> web.Application:
    statements = Statements(known=running.known, archive=running.archive, clocks=running.clocks)
    return app(
        snapshot=running.snapshot,
        actions=_requests(running, reload, statements).actions(),
        listen=plan.service.listen,
        chronicle=statements.chronicle,
        records=records_of(running.archive.store),
    )


def build(
    plan: Plan,
    config: Config,
    *,
    store: Store,
    session: aiohttp.ClientSession,
    clocks: Clocks,
    finished: Callable[[Run], None] = lambda _: None,
) -> Running:
    """All parts, tied together; nothing runs yet."""
    known = Known(plan=plan, started_at=clocks.wall(), last_reload_at=clocks.wall())
    alerts, spending = Alerts(known=known), Spending(day=clocks.wall().date())
    ties = Ties(known=known, clocks=clocks, alerts=alerts, finished=finished)
    archive = Archive(store=store, remembered=ties.open, changed=_store_changed, failed=partial(ties.fault, "store"))
    teller = Teller(known=known, session=session, now=clocks.wall)
    cycle = _cycle(archive, spending, ties, seed=config.seed)
    most = plan.service.concurrent_runs
    worker = Worker(perform=cycle.perform, urls=cycle.urls, skipped=ties.skipped, failed=ties.failed, most=most)
    ties.running = Running(
        session=session,
        known=known,
        clocks=clocks,
        archive=archive,
        alerts=alerts,
        teller=teller,
        spending=spending,
        cycle=cycle,
        worker=worker,
        dispatcher=_dispatcher(archive, teller, ties),
        timetable=Timetable(clocks=clocks, ring=worker.take, skipped=ties.skipped),
        allowances=allowances_of(plan),
        lag=LoopLag(steady=clocks.steady),
    )
    return ties.running


def _cycle(archive: Archive, spending: Spending, ties: Ties, *, seed: Callable[[], int]) -> Cycle:
    return Cycle(
        known=ties.known,
        archive=archive,
        clocks=ties.clocks,
        catalogue=catalogue(),
        allowances=ties.allowances,
        spending=spending,
        listen=ties.listen,
        conclude=ties.conclude,
        concluded=ties.concluded,
        over=ties.over,
        skipped=ties.skipped,
        seed=seed,
    )


def _dispatcher(archive: Archive, teller: Teller, ties: Ties) -> Dispatcher:
    return Dispatcher(
        archive=archive,
        deliver=teller.deliver,
        told=teller.told,
        failed=partial(ties.fault, "notify"),
        now=ties.clocks.wall,
        steady=ties.clocks.steady,
    )


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


def _read(config: Config) -> Fresh | Refused:
    """The config as it is now, or what is wrong with it."""
    try:
        plan = config.load()
    except ConfigError as error:
        details = tuple(map(str, error.problems))
        return Refused(why=Refusal.INVALID, message="the config is not good", details=details)
    config.log(plan.service.log_format)
    return Fresh(plan=plan, allowances=allowances_of(plan))


def _requests(running: Running, reload: Reload, statements: Statements) -> Requests:
    return Requests(
        known=running.known,
        worker=running.worker,
        archive=running.archive,
        alerts=running.alerts,
        clocks=running.clocks,
        settle=running.settle,
        reload=reload.now,
        statements=statements,
    )


def _store_changed(trouble: str | None) -> None:
    if trouble is None:
        log.info("history is written again")
    else:
        log.error("history cannot be written; runs and pages go on from memory", why=trouble)


@contextmanager
def _signals(stop: asyncio.Event, reload: asyncio.Event) -> Iterator[None]:
    """SIGTERM and Ctrl-C stop in order, the second one at once; SIGHUP reads the config again.

    From the first moment on: opening a store may take minutes (it migrates, or does not answer). A SIGHUP would kill us
    meanwhile, and a SIGTERM would not even be heard in a container, whose first process has no defaults.
    """
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
