import pytest

from canary.checks import CHECKS
from canary.checks.served_model import check
from canary.core.observation import HttpRejected
from canary.core.verdict import Status
from tests.fakes.arms import arm, say

PASS, WARN = Status.PASS, Status.WARN


def answered(asked, served, *, below=None, **more):
    """What is said of `served` where `asked` was asked; `below`: who answered at the hop below."""
    under = arm(say(), model=below).measurement if below else None
    found = check(arm(say(), model=served, request={"stream": True, "model": asked}, below=under, **more))
    return [(verdict.status, verdict.reason) for verdict in found]


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        pytest.param("gpt-5", "gpt-5", id="the same"),
        pytest.param("gpt-5", "gpt-5-2025-08-07", id="with its date"),
        pytest.param("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", id="with its date in one"),
        pytest.param("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", id="latest"),
        pytest.param("gpt-4", "gpt-4-0613", id="a short date"),
        pytest.param("gemini-2.5-pro", "gemini-2.5-pro-preview-05-06", id="preview"),
        pytest.param("qwen3", "qwen3:latest", id="a tag"),
        pytest.param("openai/o3-mini", "o3-mini-2025-01-31", id="a provider less"),
        pytest.param("Qwen/Qwen3-8B", "qwen3-8b", id="case"),
        pytest.param("Qwen3-8B", "/models/Qwen3-8B", id="a path"),
    ],
)
def test_another_name_for_the_same(asked, served):
    assert answered(asked, served) == [(PASS, "as_asked")]


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        pytest.param("gpt-5", "gpt-5-mini", id="a smaller one"),
        pytest.param("qwen3-235b", "qwen3-8b", id="another size"),
        pytest.param("gpt-4", "gpt-4o", id="a longer name"),
        pytest.param("claude-opus-4-1", "claude-sonnet-4-1", id="a cheaper one"),
        pytest.param("reasoner", "local-fallback", id="a fallback"),
    ],
)
def test_another_model(asked, served):
    assert answered(asked, served) == [(WARN, "other_model")]


@pytest.mark.parametrize(
    ("asked", "served", "below", "expected"),
    [
        pytest.param("prod-chat", "prod-chat", "Qwen/Qwen3-8B", (PASS, "as_asked"), id="under its alias"),
        pytest.param("prod-chat", "Qwen/Qwen3-8B", "Qwen/Qwen3-8B", (PASS, "as_below"), id="under the name below"),
        pytest.param("prod-chat", "hosted_vllm/qwen3-8b", "Qwen/Qwen3-8B", (PASS, "as_below"), id="with a provider"),
        pytest.param("prod-chat", "fallback", "Qwen/Qwen3-8B", (WARN, "other_model"), id="under neither"),
        pytest.param("prod-chat", "fallback", "fallback", (PASS, "as_below"), id="the swap is further down"),
    ],
)
def test_a_gateway_may_answer_under_its_alias_or_under_the_name_below(asked, served, below, expected):
    assert answered(asked, served, below=below) == [expected]


def test_who_says_no_name_is_not_judged():
    assert answered("gpt-5", None) == []
    assert answered("", "gpt-5") == []
    assert answered("gpt-5", "other", end=HttpRejected(at=0.1, status=500)) == []


def test_both_names_are_told():
    (verdict,) = check(
        arm(say(), model="tiny", request={"model": "gpt-5"}, below=arm(say(), model="gpt-5").measurement)
    )
    assert verdict.message == (
        "gpt-5 was asked for and tiny answered, gpt-5 at the hop below:"
        " a fallback, unless it is what that name stands for"
    )


def test_it_is_in_the_table():
    assert CHECKS["served_model"] is check
