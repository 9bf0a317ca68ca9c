"""What a budget verdict costs in tokens, as the demo engine counts them, next to comparing whole answers.

    pytest -m bench -s tests/bench/test_budget_tokens.py

The plain way to test a budget is an A/B of two answers of max_tokens=512. Here every arm is stopped once it has told
what it can, and one control serves all parameters of a run. An event is one token, so nothing is saved by accident.
"""

from __future__ import annotations

import asyncio

import pytest

from canary.core.spec import Assignment, BudgetTest, Expectation, Hop, Pipeline
from canary.core.verdict import Status
from canary.demo.engine import Load
from canary.demo.generation import Model
from canary.demo.pipeline import WIDE, Demo, demo_pipeline
from canary.engine.run import run_probe
from tests.fakes.demo_client import ask
from tests.fakes.demo_runs import TINY, occasion

pytestmark = pytest.mark.bench
NATURAL = Model(reasoning_tokens=2000, thinking_tokens_per_s=200.0, tokens_per_s=200.0, stream_interval=1)
WHOLE = 512
HONOURED = BudgetTest(parameter="thinking_token_budget", tokens=32)
IGNORED = BudgetTest(parameter="thinking_budget", tokens=32, expect=Expectation.IGNORED)
NESTED = BudgetTest(parameter="extra_body.thinking_token_budget", tokens=32, expect=Expectation.IGNORED)


async def spent(load: Load, before: int) -> int:
    """Once the engine generates for nobody any more: what goes on after we hang up is paid for too."""
    await asyncio.wait_for(load.idle.wait(), 60)
    return load.tokens - before


async def whole_answers(demo: Demo, hop: Hop, *parameters: str) -> int:
    """A control and one answer for each parameter, all to their end."""
    before = demo.load.tokens
    for budget in ({}, *({parameter: 32} for parameter in parameters)):
        await ask(hop, max_tokens=WHOLE, **budget)
    return await spent(demo.load, before)


async def verdicts(demo: Demo, hop: Hop, *budgets: BudgetTest) -> int:
    before = demo.load.tokens
    assignment = Assignment(probe=TINY, deadline_s=60, budgets=budgets)
    run = await run_probe(Pipeline(name="p", hops=(hop,)), assignment, occasion())
    found = [verdict for result in run.results for verdict in result.verdicts if verdict.check == "budget"]
    assert [verdict.status for verdict in found] == [Status.PASS] * len(budgets)
    return await spent(demo.load, before)


@pytest.mark.parametrize(
    ("budgets", "share"),
    [
        pytest.param((HONOURED,), 1 / 3, id="one that is honoured"),
        pytest.param((IGNORED,), 1 / 3, id="one that is ignored"),
        pytest.param((HONOURED, IGNORED, NESTED), 1 / 4, id="three"),
    ],
)
async def test_a_verdict_costs_a_fraction_of_whole_answers(budgets: tuple[BudgetTest, ...], share: float):
    """Whole answers are counted at the price of parameters that are ignored; honoured ones end earlier."""
    async with demo_pipeline({}, limits=WIDE, model=NATURAL) as demo:
        hop = next(each for each in demo.pipeline().hops if each.name == "engine")
        mine = await verdicts(demo, hop, *budgets)
        whole = await whole_answers(demo, hop, *(["thinking_budget"] * len(budgets)))
    assert whole == (1 + len(budgets)) * WHOLE
    print(f"\n{len(budgets)} parameters: {mine} tokens, {whole} with whole answers: {mine / whole:.0%}")
    assert mine <= share * whole
