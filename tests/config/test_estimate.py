import asyncio
from dataclasses import replace

import pytest

from canary.config.estimate import Tokens, costs, describe_estimate, estimates
from canary.config.probes import canned_probes
from canary.core.schedule import Cron, Every
from canary.core.spec import Assignment, BudgetTest, Expectation, Hop, Pipeline, Plan, Prices, Probe, QuestionTemplate
from canary.demo.generation import Model
from canary.demo.pipeline import WIDE, demo_pipeline
from canary.engine.run import run_probe
from tests.fakes.demo_runs import occasion

HOPS = (Hop(name="ui"), Hop(name="edge", url="http://e/v1"), Hop(name="vllm", url="http://v/v1"))
ASK = Probe(
    name="ask",
    summary="",
    questions=(QuestionTemplate(text="x" * 50), QuestionTemplate(text="한" * 100)),
    max_tokens=4000,
)
LONG = Probe(name="long", summary="", questions=ASK.questions, max_tokens=4000, context_tokens=80_000)
IN = 300 + 200  # the bytes of the longer question, and what stands around it
ONLY_BUDGETS = replace(ASK, checks=("reachable",))
CAP = BudgetTest(parameter="thinking_token_budget", tokens=64)  # E = 16
CONTROL = 352  # max(4 B, B + 200) = 264, certain a third later where only characters are known
TREATMENT = 280  # all its room: a third more than B + E and the first words of the answer would be over that
ROOM = 280  # max_tokens of a treatment: B + E + 200


def estimate_of(*assignments: Assignment, prices: Prices | None = None):
    (estimate,) = estimates(Plan(pipelines=(Pipeline(name="chat", hops=HOPS, assignments=assignments, prices=prices),)))
    return estimate


@pytest.mark.parametrize(
    ("probe", "budgets", "requests", "usual", "upper"),
    [
        pytest.param(ASK, (), 1, Tokens(input=IN, output=4000), Tokens(input=IN, output=4000), id="plain"),
        pytest.param(
            LONG,
            (),
            1,
            Tokens(input=80_000 + IN, output=4000),
            Tokens(input=80_000 + IN, output=4000),
            id="long context",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (CAP,),
            2,
            Tokens(input=2 * IN, output=CONTROL + TREATMENT),
            Tokens(input=9 * IN + 200, output=4 * 4000 + 3 * 2 * ROOM),
            id="a cap",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (replace(CAP, expect=Expectation.IGNORED),),
            2,
            Tokens(input=2 * IN + 200, output=CONTROL + TREATMENT + 4000),
            Tokens(input=9 * IN + 200, output=4 * 4000 + 3 * 2 * ROOM),
            id="a cap that does nothing, and a short question",
        ),
        pytest.param(
            ASK,
            (CAP,),
            2,
            Tokens(input=2 * IN, output=4000 + TREATMENT),
            Tokens(input=9 * IN + 200, output=4 * 4000 + 3 * 2 * ROOM),
            id="other checks need the control whole",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (CAP, replace(CAP, parameter="thinking_budget"), replace(CAP, tokens=16)),
            4,
            Tokens(input=4 * IN, output=CONTROL + 2 * TREATMENT + 232),
            Tokens(input=21 * IN + 200, output=4 * 4000 + 3 * 2 * (2 * ROOM + 232)),
            id="all caps share a control, which the largest needs",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (replace(CAP, nonsense=True),),
            3,
            Tokens(input=3 * IN, output=2 * CONTROL + TREATMENT),
            Tokens(input=12 * IN + 200, output=7 * 4000 + 3 * 2 * ROOM),
            id="a misspelt key is stopped like a control",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (replace(CAP, tokens=6000),),
            2,
            Tokens(input=2 * IN, output=4000 + 12_066),
            Tokens(input=9 * IN + 200, output=4 * 4000 + 3 * 2 * 12_066),
            id="a treatment has a max_tokens of its own",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (BudgetTest(parameter="reasoning_effort", value="low"),),
            7,
            Tokens(input=7 * IN, output=7 * 4000),
            Tokens(input=7 * IN, output=7 * 4000),
            id="a level: two values, three times each, and the control",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (BudgetTest(parameter="chat_template_kwargs.thinking_budget", tokens=64),),
            7,
            Tokens(input=7 * IN, output=7 * 4000),
            Tokens(input=7 * IN, output=7 * 4000),
            id="so does a soft cap",
        ),
        pytest.param(
            ONLY_BUDGETS,
            (BudgetTest(parameter="reasoning_effort", value="none"),),
            2,
            Tokens(input=2 * IN, output=2 * 4000),
            Tokens(input=2 * IN, output=2 * 4000),
            id="none is a switch",
        ),
    ],
)
def test_one_run(probe: Probe, budgets: tuple[BudgetTest, ...], requests: int, usual: Tokens, upper: Tokens):
    (found,) = estimate_of(Assignment(probe=probe, budgets=budgets)).probes
    assert (2 * requests, usual.times(2), upper.times(2)) == (found.requests, found.usual, found.upper)


@pytest.mark.parametrize(
    "budgets", [(), (CAP,), (CAP, BudgetTest(parameter="thinking_budget", tokens=9000, nonsense=True))]
)
def test_usual_is_never_more_than_upper(budgets: tuple[BudgetTest, ...]):
    (found,) = estimate_of(Assignment(probe=ASK, budgets=budgets)).probes
    assert found.usual.input <= found.upper.input
    assert found.usual.output <= found.upper.output


def test_a_hop_that_hides_reasoning_is_never_stopped():
    """What it counts comes last."""
    hops = (Hop(name="agent", url="http://a/v1", forwards_reasoning=False),)
    pipeline = Pipeline(name="p", hops=hops, assignments=(Assignment(probe=ONLY_BUDGETS, budgets=(CAP,)),))
    ((probe,),) = (estimate.probes for estimate in estimates(Plan(pipelines=(pipeline,))))
    assert probe.usual == Tokens(input=2 * IN, output=4000 + ROOM)


BUDGETS = (
    BudgetTest(parameter="thinking_token_budget", tokens=32),
    BudgetTest(parameter="thinking_budget", tokens=32, expect=Expectation.IGNORED, nonsense=True),
    BudgetTest(parameter="chat_template_kwargs.enable_thinking", value=False),
)


@pytest.mark.parametrize(
    ("budgets", "hidden", "times"),
    [
        pytest.param(BUDGETS[:2], False, 2.0, id="caps"),
        pytest.param(BUDGETS[:2], True, 4.0, id="caps where reasoning is hidden"),
        pytest.param(BUDGETS, False, 8.0, id="a switch, whose answer is much shorter than its max_tokens"),
    ],
)
async def test_a_real_run_costs_no_more_than_usual_and_not_much_less(budgets, hidden, times):
    """As the demo engine counts it, at a rate at which little is on its way when we hang up."""
    model = Model(reasoning_tokens=700, thinking_tokens_per_s=800.0, tokens_per_s=800.0)
    assignment = Assignment(probe=canned_probes()["tiny-budget"], deadline_s=30.0, budgets=budgets)
    async with demo_pipeline({"gateway": ("strip_reasoning",)} if hidden else {}, limits=WIDE, model=model) as demo:
        hops = [replace(hop, forwards_reasoning=not hidden) for hop in demo.pipeline().hops if hop.name == "gateway"]
        engine = [hop for hop in demo.pipeline().hops if hop.name == "engine"]
        pipeline = Pipeline(name="p", hops=(*hops, *engine), assignments=(assignment,))
        await run_probe(pipeline, assignment, occasion())
        await asyncio.wait_for(demo.load.idle.wait(), 30)
        spent = demo.load.tokens
    ((probe,),) = (estimate.probes for estimate in estimates(Plan(pipelines=(pipeline,))))
    assert spent <= probe.usual.output <= times * spent


def test_a_day_counts_what_is_on_schedule():
    estimate = estimate_of(
        Assignment(probe=ASK, schedule=Every(seconds=3600)),
        Assignment(probe=LONG, schedule=Every(seconds=43_200)),
        Assignment(probe=LONG),
    )
    per_day = Tokens(input=2 * (24 * IN + 2 * (80_000 + IN)), output=2 * 26 * 4000)
    assert (per_day, per_day) == (estimate.usual_per_day, estimate.upper_per_day)


def test_a_cron_counts_its_busiest_day_even_if_it_is_rare():
    often = Assignment(probe=ASK, schedule=Cron(expression="*/30 8-18 * * mon-fri", timezone="Asia/Seoul"))
    rarely = Assignment(probe=ASK, schedule=Cron(expression="0 3 1 * *"))
    estimate = estimate_of(often, rarely)
    assert [probe.runs_per_day for probe in estimate.probes] == [22.0, 1.0]
    assert estimate.upper_per_day == Tokens(input=2 * IN, output=2 * 4000).times(23)
    assert describe_estimate(estimate)[0] == (
        "ask, at */30 8-18 * * mon-fri in Asia/Seoul: 2 requests a run, up to 9,000 tokens"
    )


@pytest.mark.parametrize(("parallel", "longest_s"), [(False, 120.0), (True, 60.0)])
def test_the_longest_run_is_one_that_nobody_answers(parallel: bool, longest_s: float):
    assignment = Assignment(probe=ASK, deadline_s=60.0, budgets=(CAP,))
    pipeline = Pipeline(name="chat", hops=HOPS, assignments=(assignment,), parallel=parallel)
    (found,) = costs(Plan(pipelines=(pipeline,))).values()
    assert found.longest_s == longest_s


def test_what_each_probe_of_each_pipeline_may_cost():
    pipelines = tuple(
        Pipeline(name=name, hops=HOPS, assignments=(Assignment(probe=ASK), Assignment(probe=LONG)))
        for name in ("chat", "search")
    )
    found = costs(Plan(pipelines=pipelines))
    assert list(found) == [("chat", "ask"), ("chat", "long"), ("search", "ask"), ("search", "long")]
    assert found["search", "ask"].upper.total == 2 * (IN + 4000)
    assert found["search", "long"].usual.input == 2 * (80_000 + IN)


def test_money_is_per_million_tokens():
    assert Tokens(input=500_000, output=1_000_000).money(Prices(input=2, output=3)) == 0.5 * 2 + 3.0


def test_lines():
    prices = Prices(input=1, output=10, currency="EUR")
    estimate = estimate_of(
        Assignment(probe=ASK, schedule=Every(seconds=3600)), Assignment(probe=ASK, budgets=(CAP,)), prices=prices
    )
    assert describe_estimate(estimate) == [
        "ask, every 1 h: 2 requests a run, up to 9,000 tokens (0.08 EUR)",
        (
            "ask, on demand: 4 requests a run, usually up to 10,560 tokens (0.09 EUR), "
            "never more than 44,760 tokens (0.36 EUR)"
        ),
        "a day: up to 216,000 tokens (1.94 EUR)",
    ]


def test_nothing_on_schedule_has_no_day():
    assert describe_estimate(estimate_of(Assignment(probe=ASK))) == [
        "ask, on demand: 2 requests a run, up to 9,000 tokens"
    ]
