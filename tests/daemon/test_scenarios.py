"""From a fault in the demo pipeline to what a receiver hears of it: real servers, real probes, a real webhook."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

import pytest

from canary.core.route import Match, Policy, Receiver, Route
from canary.core.schedule import Every
from canary.core.secret import Secret
from canary.core.service import Listen, Service
from canary.core.spec import Assignment, Plan
from canary.core.verdict import Status
from canary.daemon import REAL_CLOCKS
from canary.demo.answers import answers
from canary.demo.pipeline import demo_pipeline
from canary.engine.due import Due, Why
from canary.notify.webhook import WebhookOptions
from canary.store import open_store
from tests.fakes.clocks import Time
from tests.fakes.demo_runs import BUDGETS, HEAVY, MODEL, SCALE, SEED, TINY
from tests.fakes.webhook_receiver import SECRET, WebhookReceiver

pytestmark = pytest.mark.alone

DOWN = {"engine": ("down",)}
DROPPED = {"gateway": ("drop_parameter",)}
REACHABLE = replace(HEAVY, name="reachable", checks=("reachable",))
# Where only reachability is asked, an answer need not be long enough to tell a stream from a burst.
SHORT = replace(MODEL, reasoning_tokens=8, answer_tokens=16, stream_interval=8, prefill_s=0.0)


@asynccontextmanager
async def demo(model=MODEL):
    async with demo_pipeline({}, scale=SCALE, model=model, answer_for=answers(HEAVY, SEED)) as running:
        yield running


@pytest.fixture
async def hook():
    """Takes what is signed; `now` is the time that it tells freshness by."""
    async with WebhookReceiver(now=REAL_CLOCKS.wall()).running() as running:
        yield running


def heard(hook):
    return [body["data"]["reason"] for body in hook.taken.values()]


def messages(hook):
    return [body["data"]["message"] for body in hook.taken.values()]


@pytest.fixture
def plan_of(storage, hook):
    """All goes to the hook."""

    def make(*pipelines, policy):
        options = WebhookOptions(url=Secret(hook.url), secret=Secret(SECRET))
        return Plan(
            pipelines=pipelines,
            receivers=(Receiver(name="hook", kind="webhook", options=options),),
            routes=(Route(match=Match(), receiver="hook", policy=policy),),
            service=Service(listen=Listen(port=0), storage=storage, shutdown_grace_s=0.0),
        )

    return make


def asked(running, name="demo", *, hops=5, assignments):
    """The lowest `hops` of the pipeline, all at once."""
    pipeline = running.pipeline(name, assignments)
    return replace(pipeline, hops=pipeline.hops[-hops:], parallel=True)


async def test_an_engine_that_is_down_is_one_page_for_all_pipelines_and_probes(daemon, plan_of, hook, storage):
    probes = (HEAVY, replace(HEAVY, name="again"))
    assignments = tuple(Assignment(probe=each, schedule=Every(seconds=0.5), deadline_s=10.0) for each in probes)
    async with demo() as running:
        pipelines = [asked(running, name, assignments=assignments) for name in ("left", "right")]
        plan = plan_of(*pipelines, policy=Policy(recover=1))
        running.set_faults(DOWN)
        async with daemon(lambda: plan) as whole:
            await whole.until(lambda: _all_probed(whole, times=3) and hook.taken)
            failed = [verdict for verdict in _verdicts(whole.runs) if verdict.status is Status.FAIL]
            opened = messages(hook)
            running.set_faults({})
            await whole.until(lambda: "resolved" in heard(hook))
    assert len(failed) >= 40
    assert [(each["check"], each["reason"], each["where"], len(each["hops"])) for each in opened] == [
        ("reachable", "no_response", "engine", 5)
    ]
    assert heard(hook) == ["opened", "resolved"]
    async with open_store(storage) as store:
        (page,) = await store.pages()
        assert (page.pipelines, page.probes) == (("left", "right"), ("again", "reasoning-heavy"))
        assert page.affected == ("ui", "edge", "agent", "gateway")
        assert len(await store.deliveries(page.id)) == 2


def _all_probed(whole, *, times):
    counts = Counter((run.pipeline, run.probe) for run in whole.runs)
    return len(counts) == 4 and min(counts.values()) >= times


def _verdicts(runs):
    return [verdict for run in runs for result in run.results for verdict in result.verdicts]


async def test_a_gateway_that_drops_the_budget_is_one_page_that_names_the_edge(daemon, plan_of, hook):
    assignment = Assignment(probe=TINY, schedule=Every(seconds=0.5), deadline_s=10.0, budgets=BUDGETS)
    async with demo() as running:
        plan = plan_of(asked(running, hops=3, assignments=(assignment,)), policy=Policy(recover=1))
        running.set_faults(DROPPED)
        async with daemon(lambda: plan) as whole:
            await whole.until(lambda: hook.taken)
            running.set_faults({})
            await whole.until(lambda: "resolved" in heard(hook))
    assert heard(hook) == ["opened", "resolved"]
    message = messages(hook)[0]
    assert (message["check"], message["reason"], message["where"]) == ("budget", "ignored", "gateway -> engine")
    assert "thinking_token_budget" in message["title"]
    assert [(row["hop"], row["status"]) for row in message["hops"]] == [
        ("agent", "FAIL"),
        ("gateway", "FAIL"),
        ("engine", "PASS"),
    ]


class Minutes:
    """The parts of a daemon over the demo, of which one reachable-only probe is due once a minute of the time given."""

    def __init__(self, parts, running, hook, time):
        self.parts, self.running, self.hook, self.time = parts, running, hook, time
        self.runs = 0

    async def due(self, faults, why=Why.SCHEDULE):
        """The next minute's run, and all that follows from it at once."""
        self.running.set_faults(faults)
        self.hook.now = self.time.wall
        due = Due(key=("demo", "reachable"), run_id=f"run{self.runs}", due_s=self.time.steady_s, why=why)
        while due is not None:
            self.runs += 1
            due = await self.parts.running.cycle.perform(due)
        await self.look()
        self.time.go(60.0)

    async def look(self):
        """What time brings, and the post."""
        running = self.parts.running
        await running.settle(running.alerts.of_time(self.time.wall))
        await running.dispatcher.flush()


@pytest.fixture
def minutes(parts, plan_of, hook):
    @asynccontextmanager
    async def start(policy):
        time = Time()
        assignment = Assignment(probe=REACHABLE, deadline_s=10.0)
        async with demo(SHORT) as running:
            plan = plan_of(asked(running, hops=2, assignments=(assignment,)), policy=policy)
            async with parts(plan, clocks=time.clocks) as built:
                yield Minutes(built, running, hook, time)

    return start


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(Policy(fail=1, of=1, recover=1), id="every run opens or closes"),
        pytest.param(Policy(), id="as it is by default"),
    ],
)
async def test_an_hour_of_flapping_at_every_run_is_three_messages_at_most(minutes, hook, policy):
    async with minutes(policy) as daemon:
        for minute in range(60):
            await daemon.due(DOWN if minute % 2 == 0 else {})
        told = heard(hook)
        assert 1 <= len(told) <= 3
        for _ in range(2):
            await daemon.due({})
        daemon.time.go(3600.0)
        hook.now = daemon.time.wall
        await daemon.look()
    assert heard(hook)[-1] == "resolved", "that it is over is always told"
    assert len(heard(hook)) <= len(told) + 1
    assert len({body["data"]["page_id"] for body in hook.taken.values()}) == 1


async def test_a_page_comes_one_interval_after_the_fault_since_the_second_run_waits_for_no_slot(minutes, hook):
    """The worst case: the fault comes right after a run that passed."""
    async with minutes(Policy()) as daemon:
        began = daemon.time.wall
        await daemon.due({})
        assert (hook.taken, daemon.runs) == ({}, 1)
        await daemon.due(DOWN)
        assert (heard(hook), daemon.runs) == (["opened"], 3), "two of three, and only one of them by schedule"
    (body,) = hook.taken.values()
    assert (datetime.fromisoformat(body["timestamp"]) - began).total_seconds() == 60.0


class Gated:
    """A store whose `due` gives its answer, and whose `save_run` begins to write, when it is let."""

    def __init__(self, store):
        self._store = store
        self.asked, self.writing = asyncio.Event(), asyncio.Event()
        self.answer, self.write = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def due(self, *args):
        found = await self._store.due(*args)
        self.asked.set()
        await self.answer.wait()
        return found

    async def save_run(self, *args, **kwargs):
        self.writing.set()
        await self.write.wait()
        await self._store.save_run(*args, **kwargs)


async def _tried(dispatcher):
    """Until something was sent."""
    sent, deliver = asyncio.Event(), dispatcher.deliver

    async def delivering(*what):
        delivery = await deliver(*what)
        sent.set()
        return delivery

    dispatcher.deliver = delivering
    await sent.wait()


async def test_nobody_hears_of_what_is_just_being_written(parts, plan_of, hook):
    """Killed in between, nobody else would know of the page."""
    gates = []

    def gated(store):
        gates.append(Gated(store))
        return gates[0]

    async with demo(SHORT) as running:
        running.set_faults(DOWN)
        plan = plan_of(
            asked(running, assignments=(Assignment(probe=REACHABLE, deadline_s=10.0),)),
            policy=Policy(fail=1, of=1),
        )
        async with parts(plan, wrap=gated) as built, asyncio.TaskGroup() as group:
            (store,) = gates
            telling = group.create_task(built.running.dispatcher.flush())
            await store.asked.wait()
            group.create_task(built.running.cycle.perform(Due(key=("demo", "reachable"), run_id="run0", due_s=0.0)))
            await store.writing.wait()
            store.answer.set()
            tried = group.create_task(_tried(built.running.dispatcher))
            await asyncio.wait([telling, tried], return_when=asyncio.FIRST_COMPLETED)
            before = heard(hook)
            tried.cancel()
            store.write.set()
        async with parts(plan) as again:
            await again.running.dispatcher.flush()
    assert before == []
    assert heard(hook) == ["opened"]
