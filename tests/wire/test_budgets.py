import copy

import pytest

from canary.core.budget import BudgetKind, BudgetUnit
from canary.wire.budgets import BUDGETS, apply, misspelling, misspelt

ROWS = [pytest.param(row, id=name) for name, row in BUDGETS.items()]
LEAVES = {row.path[-1] for row in BUDGETS.values()}


def value_of(row):
    return 64 if row.unit is BudgetUnit.TOKENS else row.levels[0] if row.levels else row.on


def at(body, path):
    for key in path:
        body = body[key]
    return body


@pytest.mark.parametrize("name", BUDGETS)
def test_a_row_is_found_by_its_own_name_which_ends_its_path(name):
    row = BUDGETS[name]
    assert row.name == name
    assert ".".join(row.path).endswith(name)


def test_no_two_rows_share_a_place():
    assert len({row.path for row in BUDGETS.values()}) == len(BUDGETS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_all_that_its_kind_needs(row):
    assert row.protocols
    assert "https://" in row.source or "PyPI" in row.source
    assert row.minimum >= 0
    assert row.allowed_excess(1000) >= 16
    if row.kind is BudgetKind.SWITCH:
        assert row.on is not None
        assert row.off != row.on
    if row.kind is BudgetKind.LEVEL:
        assert len(row.levels) >= 3
        assert row.off is None or row.off == row.levels[0]
    if row.unit is BudgetUnit.TOKENS:
        assert not row.levels
        assert row.on is None
        assert row.off in (None, 0)


@pytest.mark.parametrize("row", ROWS)
def test_apply_puts_the_value_in_its_place_and_changes_nothing_else(row):
    body = {"model": "m", "chat_template_kwargs": {"keep": 1}, "reasoning": {"exclude": False}, "thinking": {"a": 1}}
    before = copy.deepcopy(body)
    filled = apply(body, row, value_of(row))
    assert body == before
    assert at(filled, row.path) == value_of(row)
    assert filled["model"] == "m"
    assert filled["chat_template_kwargs"]["keep"] == 1 or row.path == ("chat_template_kwargs",)


@pytest.mark.parametrize("row", ROWS)
def test_apply_copies_what_it_writes_into(row):
    """Two requests made from one body never share what was put in."""
    body = {}
    first = apply(body, row, value_of(row))
    apply(first, row, "other")
    assert at(first, row.path) == value_of(row)
    assert body == {}


@pytest.mark.parametrize("row", ROWS)
def test_a_misspelt_key_stands_in_the_same_place_and_is_no_key_of_anybody(row):
    *parents, leaf = row.path
    filled = misspelt({"model": "m"}, row, value_of(row))
    inner = at(filled, parents)
    assert inner[misspelling(leaf)] == value_of(row)
    assert leaf not in inner
    assert misspelling(leaf) not in LEAVES


@pytest.mark.parametrize(
    ("name", "value", "body", "expected"),
    [
        pytest.param("thinking_token_budget", 64, {}, {"thinking_token_budget": 64}, id="top level"),
        pytest.param(
            "thinking_token_budget", 64, {"thinking_token_budget": 1}, {"thinking_token_budget": 64}, id="over"
        ),
        pytest.param(
            "chat_template_kwargs.enable_thinking",
            False,
            {"chat_template_kwargs": {"a": 1}},
            {"chat_template_kwargs": {"a": 1, "enable_thinking": False}},
            id="beside what is there",
        ),
        pytest.param(
            "chat_template_kwargs.thinking",
            True,
            {"chat_template_kwargs": None},
            {"chat_template_kwargs": {"thinking": True}},
            id="null is an empty object",
        ),
        pytest.param(
            "thinking.budget_tokens", 1024, {}, {"thinking": {"budget_tokens": 1024, "type": "enabled"}}, id="with type"
        ),
        pytest.param(
            "thinking.budget_tokens",
            1024,
            {"thinking": {"type": "adaptive"}},
            {"thinking": {"budget_tokens": 1024, "type": "adaptive"}},
            id="a type that the body has stays",
        ),
        pytest.param(
            "additionalModelRequestFields.thinking.budget_tokens",
            1024,
            {},
            {"additionalModelRequestFields": {"thinking": {"budget_tokens": 1024, "type": "enabled"}}},
            id="bedrock",
        ),
        pytest.param(
            "thinkingConfig.thinkingBudget",
            0,
            {"generationConfig": {"maxOutputTokens": 9}},
            {"generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"thinkingBudget": 0}}},
            id="gemini",
        ),
        pytest.param("nvext.max_thinking_tokens", 64, {}, {"nvext": {"max_thinking_tokens": 64}}, id="nim"),
        pytest.param("custom_params.thinking_budget", 64, {}, {"custom_params": {"thinking_budget": 64}}, id="sglang"),
    ],
)
def test_apply(name, value, body, expected):
    assert apply(body, BUDGETS[name], value) == expected


def test_the_inner_objects_are_copied():
    inner = {"a": 1}
    filled = apply({"reasoning": inner}, BUDGETS["reasoning.effort"], "low")
    assert inner == {"a": 1}
    assert filled == {"reasoning": {"a": 1, "effort": "low"}}


@pytest.mark.parametrize("put", [apply, misspelt])
def test_a_value_where_an_object_is_needed_is_refused(put):
    with pytest.raises(ValueError, match="`reasoning` in the body is 'high', not an object"):
        put({"reasoning": "high"}, BUDGETS["reasoning.effort"], "low")


def test_a_misspelling_is_the_key_without_its_last_vowel():
    assert misspelling("thinking_token_budget") == "thinking_token_budgt"


@pytest.mark.parametrize(
    ("name", "tokens", "excess"),
    [("thinking_token_budget", 64, 16), ("nvext.max_thinking_tokens", 64, 23), ("nvext.max_thinking_tokens", 100, 26)],
)
def test_allowed_excess(name, tokens, excess):
    assert BUDGETS[name].allowed_excess(tokens) == excess


@pytest.mark.parametrize(
    ("name", "value", "off"),
    [
        ("chat_template_kwargs.enable_thinking", False, True),
        ("chat_template_kwargs.enable_thinking", True, False),
        ("chat_template_kwargs.enable_thinking", 0, False),
        ("thinking.type", "disabled", True),
        ("thinking.type", "enabled", False),
        ("reasoning_effort", "none", True),
        ("reasoning_effort", "low", False),
        ("thinkingConfig.thinkingBudget", 0, True),
        ("thinkingConfig.thinkingBudget", False, False),
        ("thinking_token_budget", 0, False),
        ("prompt_mode", None, False),
    ],
)
def test_switches_off(name, value, off):
    assert BUDGETS[name].switches_off(value) is off
