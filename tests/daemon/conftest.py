"""A whole daemon, or its parts, over scripted local servers and a real SQLite."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import aiohttp
import pytest
import structlog

from canary.core.route import Match, Policy, Receiver, Route
from canary.core.schedule import Every
from canary.core.secret import Secret
from canary.core.service import Listen, Service, Storage
from canary.core.spec import Assignment, Hop, Pipeline, Plan, Probe, QuestionTemplate
from canary.daemon import REAL_CLOCKS, Config, build, run_daemon
from canary.engine.due import Due, Why
from canary.notify.webhook import WebhookOptions
from canary.store import open_store
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, chunk, delta, whole

ANSWER = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="hm"))),
    (0.0, chunk(delta(content="42"))),
    (0.0, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
]
THINKING = [(0.0, SSE_HEAD), (0.0, chunk(delta(reasoning="hm")))]  # and then nothing, with the connection open
EMPTY = [(0.0, SSE_HEAD), (0.0, chunk(delta(reasoning="hm") + delta(finish="length") + DONE) + LAST_CHUNK)]


def answering(steps):
    """POSTs get these steps; whatever else a canary asks is not there."""
    missing = [(0.0, whole(b"{}", 404, content_type="application/json"))]
    return lambda request: steps if request.method == "POST" else missing


def probe_named(name, **more):
    return Probe(name=name, summary="", questions=(QuestionTemplate(text="One?"),), **more)


@dataclass(kw_only=True)
class Planned:
    """A plan of one pipeline; `hops`: (name, url) from the user down."""

    storage: Storage
    hops: tuple[tuple[str, str], ...] = ()
    probes: tuple[str, ...] = ("one",)  # a name whose hash puts its first run right at the start
    every_s: float | None = None
    deadline_s: float = 30.0
    receivers: tuple[Receiver, ...] = ()
    policy: Policy = field(default_factory=partial(Policy, fail=1, of=1, recover=1))
    service: dict = field(default_factory=dict)
    pipeline: dict = field(default_factory=dict)

    def plan(self):
        schedule = Every(seconds=self.every_s) if self.every_s else None
        pipeline = Pipeline(
            name="chat",
            hops=tuple(Hop(name=name, url=url, model="fake") for name, url in self.hops),
            assignments=tuple(
                Assignment(probe=probe_named(name), schedule=schedule, deadline_s=self.deadline_s)
                for name in self.probes
            ),
            **self.pipeline,
        )
        service = {"listen": Listen(port=0), "storage": self.storage, "shutdown_grace_s": 0.0} | self.service
        return Plan(
            pipelines=(pipeline,),
            receivers=self.receivers,
            routes=tuple(Route(match=Match(), receiver=each.name, policy=self.policy) for each in self.receivers),
            service=Service(**service),
        )


@pytest.fixture(autouse=True)
def logged():
    """What is logged, as dicts."""
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.fixture
def storage(tmp_path):
    return Storage(url=Secret(f"sqlite:///{tmp_path}/canary.db"))


@pytest.fixture
def planned(storage):
    return partial(Planned, storage=storage)


@pytest.fixture
def webhook():
    """A receiver that POSTs to a URL."""
    return lambda url: Receiver(name="hook", kind="webhook", options=WebhookOptions(url=Secret(url)))


@dataclass(kw_only=True)
class Parts:
    """All parts of a daemon, none of which goes by itself."""

    running: object
    store: object
    runs: list

    def due(self, probe="one", why=Why.SCHEDULE, run_id="run1"):
        return Due(key=("chat", probe), run_id=run_id, due_s=0.0, why=why)

    async def perform(self, **due):
        return await self.running.cycle.perform(self.due(**due))


@pytest.fixture
def parts():
    @asynccontextmanager
    async def start(plan, *, clocks=REAL_CLOCKS, wrap=lambda store: store):
        config = Config(load=lambda: plan, seed=lambda: 7)
        runs = []
        async with open_store(plan.service.storage) as store, aiohttp.ClientSession() as session:
            running = build(plan, config, store=wrap(store), session=session, clocks=clocks, finished=runs.append)
            await running.recall()
            yield Parts(running=running, store=store, runs=runs)

    return start


@dataclass(kw_only=True)
class Whole:
    """A daemon that runs. `url`: where it listens; `runs`: those that ended."""

    url: str
    runs: list
    stop: asyncio.Event
    session: aiohttp.ClientSession
    moved: asyncio.Event

    async def until(self, condition):
        """Waits for runs to end until it holds."""
        async with asyncio.timeout(20):
            while not condition():
                self.moved.clear()
                await self.moved.wait()

    async def get(self, path):
        async with self.session.get(self.url + path) as response:
            return response.status, await response.text()

    async def post(self, path, **more):
        async with self.session.post(self.url + path, **more) as response:
            return response.status, await response.json()


@pytest.fixture
def daemon():
    @asynccontextmanager
    async def start(load, *, stamp=lambda: None):
        stop, moved, listening, runs = asyncio.Event(), asyncio.Event(), asyncio.Event(), []
        urls = []

        def finished(run):
            runs.append(run)
            moved.set()

        def listens(url):
            urls.append(url)
            listening.set()

        config = Config(load=load, stamp=stamp, look_s=0.05, log=lambda _: None, seed=lambda: 7)
        async with aiohttp.ClientSession() as session:
            task = asyncio.create_task(run_daemon(config, stop=stop, listening=listens, finished=finished))
            waiting = asyncio.create_task(listening.wait())
            await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                waiting.cancel()
                await task
            try:
                yield Whole(url=urls[0], runs=runs, stop=stop, session=session, moved=moved)
            finally:
                stop.set()
                async with asyncio.timeout(20):
                    await task

    return start


def with_service(plan, **changes):
    return replace(plan, service=replace(plan.service, **changes))
