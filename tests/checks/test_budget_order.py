import pytest

from canary.checks.budget_order import Level, judge_order, needs_order, values_in_order
from canary.core.spec import BudgetTest
from canary.core.verdict import Status
from canary.wire.budgets import BUDGETS
from tests.fakes.arms import (
    BELOW,
    LONG,
    arm,
    estimated,
    refused,
    say,
    think,
    usage,
)

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN
EFFORT = BUDGETS["reasoning_effort"]


def ordered(spec, *, budget=EFFORT, **how):
    """`none 0 0 0 | low 100 110 120`: tokens of each repeat, least first; `-` is a refusal."""
    levels = []
    for part in spec.split("|"):
        value, *each = part.split()
        repeats = [
            refused(400, "not supported") if n == "-" else arm(*([think(int(n))] if int(n) else []), say(), **how)
            for n in each
        ]
        levels.append(Level(value=value, repeats=tuple(repeats)))
    return judge_order(BudgetTest(parameter=budget.name, value="low"), budget, levels, hop="vllm")


@pytest.mark.parametrize(
    ("spec", "status", "reason"),
    [
        ("none 0 0 0 | low 100 110 120 | high 900 950 1000", PASS, "honoured"),
        ("low 100 200 150 | high 900 950 1000", PASS, "honoured"),
        ("low 100 110 120 | medium 100 110 120 | high 400 500 600", PASS, "honoured"),
        ("none 800 820 900 | low 100 120 90", FAIL, "inverted"),
        ("none 0 0 0 | low 900 950 1000 | high 300 310 320", FAIL, "inverted"),
        ("low 900 950 1000 | medium 940 930 990 | high 960 940 1000", FAIL, "ignored"),
        ("low 100 110 120 | high 110 120 130", FAIL, "ignored"),
        ("low 100 110 900 | high 500 600 700", UNKNOWN, "inconclusive"),
        ("low 100 110 | high 900 950 1000", UNKNOWN, "inconclusive"),
        ("low 100 110 120", UNKNOWN, "inconclusive"),
        ("none 0 0 0 | low 0 0 0", UNKNOWN, "no_reasoning"),
        ("none 0 0 0 | medium 100 - 100 | high 300 300 300", FAIL, "rejected"),
        ("low 2 3 4 | high 10 12 15", FAIL, "ignored"),
    ],
)
def test_order(spec, status, reason):
    verdict = ordered(spec)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


@pytest.mark.parametrize("few", [False, True], ids=["all", "some"])
def test_answers_among_the_reasoning_tell_no_order(few):
    """Long answers hide a difference, and short ones make one."""
    levels = [
        Level(value=value, repeats=(arm(think(tokens)), *[arm(think(tokens), *[say()] * few)] * 2))
        for value, tokens in (("low", 900), ("high", 940))
    ]
    verdict = judge_order(BudgetTest(parameter="reasoning_effort", value="low"), EFFORT, levels, hop="vllm")
    assert (verdict.status, verdict.reason) == (UNKNOWN, "inconclusive")
    assert "nothing but reasoning" in verdict.message


def test_a_refused_level_is_named():
    assert ": medium: HTTP 400: not supported" in ordered("none 0 0 0 | medium - - -").message


def levels(*rows):
    return [Level(value=value, repeats=tuple(repeats)) for value, repeats in rows]


ORDERS = [
    pytest.param(
        levels(("low", [estimated(50)] * 3), ("high", [estimated(500)] * 3)),
        "honoured",
        "characters",
        id="by characters",
    ),
    pytest.param(
        levels(("low", [arm(usage(50), say())] * 3), ("high", [arm(usage(500), say())] * 3)),
        "honoured",
        "tokens",
        id="hidden and reported",
    ),
    pytest.param(
        levels(("low", [arm(say(), below=BELOW)] * 3), ("high", [arm(say())] * 3)),
        "inconclusive",
        "hidden",
        id="hidden",
    ),
    pytest.param(
        levels(("low", [arm(think(100), finish="length")] * 3), ("high", [arm(think(500), say())] * 3)),
        "inconclusive",
        "cut",
        id="the lower one was cut",
    ),
    pytest.param(
        levels(("low", [arm(think(100), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "honoured",
        "tokens",
        id="the upper one was cut",
    ),
    pytest.param(
        levels(("low", [arm(think(500), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "inconclusive",
        "vary",
        id="flat up to a cut",
    ),
    pytest.param(
        levels(("low", [arm(think(900), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "inconclusive",
        "vary",
        id="a cut inverts nothing",
    ),
    pytest.param(
        levels(("low", [arm(think(100), say()), refused(500), refused(429)]), ("high", [LONG] * 3)),
        "inconclusive",
        "too few for low",
        id="failed repeats do not count",
    ),
]


@pytest.mark.parametrize(("rows", "reason", "said"), ORDERS)
def test_order_of_what_is_not_plain(rows, reason, said):
    verdict = judge_order(BudgetTest(parameter="reasoning_effort", value="low"), EFFORT, rows, hop="vllm")
    assert verdict.reason == reason
    assert said in verdict.message


@pytest.mark.parametrize(
    ("parameter", "asked", "by_order", "values"),
    [
        pytest.param("reasoning_effort", {"value": "low"}, True, ("low", "high"), id="a level"),
        pytest.param("reasoning_effort", {"value": "high"}, True, ("low", "high"), id="less is asked for by another"),
        pytest.param("reasoning_effort", {"value": "max"}, True, ("low", "max"), id="the highest"),
        pytest.param("reasoning_effort", {"value": "medium"}, True, ("medium", "high"), id="the middle"),
        pytest.param("reasoning_effort", {"value": "none"}, False, ("none", "high"), id="off is judged by presence"),
        pytest.param(
            "chat_template_kwargs.thinking_budget", {"tokens": 64}, True, (64, 512), id="a soft cap and eight times it"
        ),
        pytest.param("thinking_token_budget", {"tokens": 64}, False, (64, 512), id="a hard cap holds in every run"),
        pytest.param("prompt_mode", {"value": "reasoning"}, False, ("reasoning",), id="a switch has no more of it"),
    ],
)
def test_what_is_compared_with_what(parameter, asked, by_order, values):
    test = BudgetTest(parameter=parameter, **asked)
    assert needs_order(test, BUDGETS[parameter]) is by_order
    assert values_in_order(test, BUDGETS[parameter]) == values
