import pytest

from canary.config.estimate import Tokens, describe_estimate, estimates
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Plan, Prices, Probe, QuestionTemplate

HOPS = (Hop(name="ui"), Hop(name="edge", url="http://e/v1"), Hop(name="vllm", url="http://v/v1"))
ASK = Probe(
    name="ask",
    summary="",
    questions=(QuestionTemplate(text="x" * 50), QuestionTemplate(text="한" * 100)),
    max_tokens=4000,
)
LONG = Probe(name="long", summary="", questions=ASK.questions, max_tokens=4000, context_tokens=80_000)
IN = 300 + 200  # the bytes of the longer question, and what stands around it
CAP = BudgetTest(parameter="thinking_token_budget", tokens=64)  # E = 16


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
            ASK,
            (CAP,),
            3,
            Tokens(input=3 * IN, output=4000 + max(4 * 64, 64 + 200) + 2 * 64 + 16),
            Tokens(input=8 * IN, output=8 * 4000),
            id="budget",
        ),
        pytest.param(
            ASK,
            (BudgetTest(parameter="thinking_token_budget", tokens=64, nonsense=True),),
            4,
            Tokens(input=4 * IN, output=4000 + 264 + 144 + 264),
            Tokens(input=9 * IN, output=9 * 4000),
            id="nonsense",
        ),
        pytest.param(
            ASK,
            (BudgetTest(parameter="thinking_token_budget", tokens=6000),),
            3,
            Tokens(input=3 * IN, output=4000 + 4000 + 6000 + 16 + 200),
            Tokens(input=8 * IN, output=4 * 4000 + 4 * 6216),
            id="a budget over max_tokens raises the treatment's",
        ),
        pytest.param(
            ASK,
            (BudgetTest(parameter="reasoning_effort", value="low"),),
            3,
            Tokens(input=3 * IN, output=12_000),
            Tokens(input=8 * IN, output=8 * 4000),
            id="a level has no number to stop at",
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


def test_a_day_counts_what_is_on_schedule():
    estimate = estimate_of(
        Assignment(probe=ASK, every_s=3600), Assignment(probe=LONG, every_s=43_200), Assignment(probe=LONG)
    )
    per_day = Tokens(input=2 * (24 * IN + 2 * (80_000 + IN)), output=2 * 26 * 4000)
    assert (per_day, per_day) == (estimate.usual_per_day, estimate.upper_per_day)


def test_money_is_per_million_tokens():
    assert Tokens(input=500_000, output=1_000_000).money(Prices(input=2, output=3)) == 0.5 * 2 + 3.0


def test_lines():
    prices = Prices(input=1, output=10, currency="EUR")
    estimate = estimate_of(Assignment(probe=ASK, every_s=3600), Assignment(probe=ASK, budgets=(CAP,)), prices=prices)
    assert describe_estimate(estimate) == [
        "ask, every 1 h: 2 requests a run, up to 9,000 tokens (0.08 EUR)",
        (
            "ask, on demand: 6 requests a run, usually up to 11,816 tokens (0.09 EUR), "
            "never more than 72,000 tokens (0.65 EUR)"
        ),
        "a day: up to 216,000 tokens (1.94 EUR)",
    ]


def test_nothing_on_schedule_has_no_day():
    assert describe_estimate(estimate_of(Assignment(probe=ASK))) == [
        "ask, on demand: 2 requests a run, up to 9,000 tokens"
    ]
