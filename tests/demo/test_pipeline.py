import asyncio
from urllib.parse import urlsplit

import pytest

from canary.core.timeout import Clock, Outcome
from canary.demo.generation import Model
from canary.demo.pipeline import INCIDENT_FAULTS, INCIDENT_LIMITS, Limits, demo_pipeline
from canary.demo.ui import GivesUp
from tests.fakes.demo_client import ask, ask_unread, asking, read_to_end

HOPS = ("ui", "edge", "agent", "gateway", "engine")
SLOW = Model(reasoning_tokens=2000, thinking_tokens_per_s=1.0, stream_interval=1)  # a minute of thinking


@pytest.mark.parametrize("hop", HOPS)
async def test_a_healthy_pipeline_answers_at_every_hop(demo, hop):
    async with demo() as (_, hops):
        seen = await ask(hops[hop])
    assert (seen.status, seen.end, seen.finish, seen.done, seen.error) == (200, "complete", "stop", True, None)
    assert len(seen.reasoning.split()) == 1500
    assert seen.content.endswith("The answer is 25")


@pytest.mark.parametrize("hop", HOPS)
async def test_a_healthy_pipeline_keeps_a_budget_at_every_hop(demo, hop):
    async with demo() as (_, hops):
        streamed = await ask(hops[hop], thinking_token_budget=16)
        whole = await ask(hops[hop], thinking_token_budget=16, stream=None, stream_options=None)
    for seen in (streamed, whole):
        assert len(seen.reasoning.split()) == 16
        assert seen.usage["completion_tokens_details"]["reasoning_tokens"] == 16


async def test_each_hop_reads_the_one_below(demo):
    """A 401 of the engine reaches everybody above it, in each hop's words."""
    async with demo({"engine": ("auth",)}) as (_, hops):
        seen = {name: await ask(hop) for name, hop in hops.items()}
    assert {n: s.status for n, s in seen.items()} == {
        "engine": 401,
        "gateway": 401,
        "agent": 200,
        "edge": 200,
        "ui": 200,
    }
    assert {"401"} == {s.error["code"] for s in seen.values()}


async def test_the_spec_names_hops_models_and_the_timers_that_are_held(demo):
    limits = Limits(ui_idle_s=30.0, ui_clock=Clock.VISIBLE, ui_gives_up=GivesUp.CUT, edge_read_s=60.0)
    async with demo(limits=limits, scale=0.1) as (running, _):
        pipeline = running.pipeline("drill")
    assert (pipeline.name, tuple(hop.name for hop in pipeline.hops)) == ("drill", HOPS)
    assert [hop.model for hop in pipeline.hops] == ["demo-reasoner"] * 4 + ["demo/reasoner-7b"]
    timers = [(t.hop, t.name, t.clock, t.limit_s, t.outcome) for hop in pipeline.hops for t in hop.timeouts]
    assert timers == [
        ("ui", "ui-idle", Clock.VISIBLE, pytest.approx(3.0), Outcome.TRUNCATED),
        ("edge", "proxy_read_timeout", Clock.BYTE, pytest.approx(6.0), Outcome.TRUNCATED),
    ]


async def test_the_founding_incident():
    """Everybody is well by itself, and the user sees a timeout; the budget that would help is lost at the gateway."""
    options = {"scale": 0.2, "limits": INCIDENT_LIMITS}
    async with demo_pipeline(INCIDENT_FAULTS, **options) as running:
        hops = {hop.name: hop for hop in running.pipeline().hops}
        seen = dict(zip(hops, await asyncio.gather(*map(ask, hops.values())), strict=True))
        budgeted = {name: await ask(hops[name], thinking_token_budget=64) for name in ("gateway", "engine")}
    assert {200} == {one.status for one in seen.values()}
    assert {name: len(one.reasoning.split()) for name, one in seen.items()} == {
        "ui": 0,
        "edge": 0,
        "agent": 0,
        "gateway": 700,
        "engine": 700,
    }
    assert {name: one.finish for name, one in seen.items()} == {
        "ui": None,
        "edge": "stop",
        "agent": "stop",
        "gateway": "stop",
        "engine": "stop",
    }
    assert seen["ui"].error["code"] == 504
    assert {name: len(one.reasoning.split()) for name, one in budgeted.items()} == {"gateway": 700, "engine": 64}


async def test_faults_can_be_set_and_cleared_while_it_runs(demo):
    async with demo() as (running, hops):
        running.set_faults({"gateway": ("auth",)})
        assert (await ask(hops["gateway"])).status == 401
        running.set_faults({})
        assert (await ask(hops["gateway"])).status == 200


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        pytest.param({"engin": ("auth",)}, "no hop 'engin'; it has ui, edge, agent, gateway, engine", id="no such hop"),
        pytest.param({"engine": ("aut",)}, "'engine' cannot have the fault 'aut'; it can have ", id="no such fault"),
        pytest.param({"edge": ("merge_tags",)}, "'edge' cannot have the fault 'merge_tags'", id="not at this hop"),
    ],
)
async def test_a_fault_that_is_not_possible_is_refused(demo, faults, message):
    with pytest.raises(ValueError, match=message):
        async with demo(faults):
            pass
    async with demo() as (running, _):
        with pytest.raises(ValueError, match=message):
            running.set_faults(faults)


@pytest.mark.parametrize("hop", HOPS)
async def test_a_client_that_leaves_stops_the_engine(demo, hop):
    async with demo(model=SLOW) as (running, hops):
        async with asking(hops[hop]) as response:
            await response.content.readany()
            assert running.load.running == 1
        await asyncio.wait_for(running.load.idle.wait(), 10)
        assert running.load.running == 0


@pytest.mark.parametrize("hop", HOPS)
async def test_a_client_that_leaves_before_the_headers_stops_the_engine(demo, hop):
    async with demo(model=SLOW) as (running, hops):
        task = asyncio.ensure_future(ask(hops[hop], stream=None, stream_options=None))
        await asyncio.wait_for(running.load.busy.wait(), 10)
        task.cancel()
        await asyncio.wait_for(running.load.idle.wait(), 10)
        assert running.load.running == 0


@pytest.mark.parametrize("fault", [(), ("hang",), ("freeze",), ("buffer",), ("ping_flood",)], ids=str)
@pytest.mark.parametrize("hop", ["ui", "engine"])
async def test_it_closes_under_a_client_that_hangs(demo, hop, fault):
    """One client at each hop has asked and does not read."""
    before = asyncio.all_tasks()
    async with demo({hop: fault}, model=SLOW) as (running, hops):
        clients = [await ask_unread(one) for one in hops.values()]
        if (hop, fault) != ("engine", ("hang",)):
            await asyncio.wait_for(running.load.busy.wait(), 10)
    assert before == asyncio.all_tasks()
    assert running.load.running == 0
    for base in running.urls.values():
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", urlsplit(base).port)
    for client in clients:
        assert await read_to_end(*client)
