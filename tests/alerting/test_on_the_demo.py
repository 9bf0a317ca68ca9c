"""Stories over real runs: the demo's servers on loopback, real requests, and what people hear of it.

Each kind of run is made once, and then seen again and again by two pipelines that share the demo's hops.
"""

from dataclasses import replace

import pytest
import pytest_asyncio

from canary.core.spec import Assignment
from canary.demo.hop_kind import HopKind
from tests.fakes.alerts import NOW, World, rules
from tests.fakes.demo_runs import BUDGETS, HEAVY, SHORT_DEADLINE_S, TINY, WIDE, Asked, demo_pipeline, runs_of

pytestmark = pytest.mark.alone

REFUSED = ((HopKind.ENGINE, ("auth",)),)
LIMITED = ((HopKind.ENGINE, ("too_many_requests",)),)
DROPPED = ((HopKind.GATEWAY, ("drop_parameter",)),)
DOWN = [Asked(faults=REFUSED, deadline_s=SHORT_DEADLINE_S), Asked(faults=REFUSED, budgets=True)]
BUSY = [Asked(faults=LIMITED)]
LOST = [Asked(faults=DROPPED, budgets=True)]
MUTE = ((HopKind.GATEWAY, ("all_in_reasoning",)),)
UNSEEN = [Asked(faults=MUTE), Asked(faults=MUTE, budgets=True)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made():
    """The runs, and two pipelines of the same hops."""
    runs = await runs_of([*DOWN, *BUSY, *LOST, *UNSEEN], workers=3)
    async with demo_pipeline({}, limits=WIDE) as demo:
        assignments = (Assignment(probe=HEAVY), Assignment(probe=TINY, budgets=BUDGETS))
        pipelines = tuple(demo.pipeline(name, assignments) for name in ("demo", "stage"))
    return runs, pipelines


def seen_by_all(made, asked, *, times):
    runs, pipelines = made
    world = World(rules=rules(*pipelines))
    for number in range(times):
        for pipeline in pipelines:
            for each in asked:
                world.tick(5)
                name = f"{pipeline.name}-{each.budgets}-{number}"
                world.conclude(replace(runs[each], id=name, pipeline=pipeline.name, started_at=world.now))
    return world


@pytest.mark.asyncio(loop_scope="module")
async def test_an_engine_that_refuses_everybody_is_one_page(made):
    world = seen_by_all(made, DOWN, times=3)
    assert world.told == ["on-call opened"]
    assert world.page.affected == ("ui", "edge", "agent", "gateway")
    message = world.messages[0]
    assert (message.check, message.where, len(message.hops)) == ("reachable", "engine", 5)
    verdicts = sum(len(result.verdicts) for each in DOWN for result in made[0][each].results)
    assert verdicts >= 40, "so many verdicts in two probes alone"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_budget_that_the_gateway_drops_is_one_page_that_names_the_edge(made):
    world = seen_by_all(made, LOST, times=3)
    assert world.told == ["on-call opened"]
    assert world.messages[0].where == "gateway -> engine"
    assert world.messages[0].since > NOW


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_among_the_reasoning_is_one_page_that_accuses_no_budget(made):
    world = seen_by_all(made, UNSEEN, times=3)
    assert world.told == ["on-call opened"]
    assert (world.messages[0].check, world.messages[0].where) == ("visible_content", "gateway -> engine")


@pytest.mark.asyncio(loop_scope="module")
async def test_an_engine_that_limits_our_rate_is_a_page_about_the_monitor(made):
    world = seen_by_all(made, BUSY, times=5)
    assert world.told == ["on-call opened"]
    assert (world.messages[0].check, world.messages[0].reason) == ("blind", "rate_limited")
