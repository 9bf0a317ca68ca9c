"""`canary probe PIPELINE` on a real edge, agent, LiteLLM and vLLM: the founding incident, hop by hop."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.real.lab.hop import Hop
from tests.real.lab.pipeline import ABOVE, budgets, run

pytestmark = pytest.mark.real

B = 32
PLAIN = {"use": "reasoning-heavy", "max_tokens": 200}
Hops = Mapping[str, Hop]
ALL = ["vllm", *ABOVE]


@pytest.fixture
def hops(engine: Hop, gateway: Hop, agent: Hop, edge: Callable[[str, int], Hop]) -> Hops:
    return {"edge": edge("nginx", 4), "agent": agent, "litellm": gateway, "vllm": engine}


def everywhere(reason: str) -> dict[str, str]:
    return dict.fromkeys(ALL, reason)


def test_without_a_budget_nothing_is_visible_anywhere(hops: Hops, tmp_path: Path):
    ran = run(tmp_path, hops, PLAIN, models={})
    assert ran.seen("visible_content") == everywhere("budget_exhausted")
    assert ran.findings == [("visible_content", "budget_exhausted", "vllm", None, ABOVE)]
    assert ran.out["findings"][0]["severity"] == "critical"
    assert ran.code == 1


def test_each_parameter_at_each_hop(hops: Hops, tmp_path: Path):
    """One run: the one that vLLM knows is honoured everywhere, the one that it does not is ignored from vLLM up."""
    ran = run(tmp_path, hops, budgets(["thinking_token_budget", "thinking_budget"], B), models={})
    assert ran.seen("budget", "thinking_token_budget") == everywhere("honoured")
    assert ran.seen("budget", "thinking_budget") == everywhere("ignored")
    assert ran.findings == [("budget", "ignored", "vllm", None, ABOVE)]
    assert ran.out["findings"][0]["subject"] == "thinking_budget"
    assert ran.verdict("vllm", "budget", "thinking_token_budget")["observed"] <= B


def test_a_budget_that_the_gateway_drops(hops: Hops, tmp_path: Path):
    """`additional_drop_params`: honoured by vLLM, lost at LiteLLM, and so for everybody above."""
    dropped = dict.fromkeys(ABOVE, "tiny-dropped")
    ran = run(tmp_path, hops, budgets(["thinking_token_budget"], B), models=dropped)
    assert ran.seen("budget") == {"vllm": "honoured", **dict.fromkeys(ABOVE, "ignored")}
    assert ran.findings == [("budget", "ignored", "litellm", ("litellm", "vllm"), ["agent", "edge"])]
    assert "`thinking_token_budget` is lost between litellm and vllm" in ran.out["findings"][0]["message"]


def test_tags_that_the_gateway_makes(hops: Hops, tmp_path: Path):
    """`merge_reasoning_content_in_choices`: a leak of the gateway's, and none of the engine's."""
    merged = {"litellm": "tiny-merged"}
    probe = {**PLAIN, "checks": ["reachable", "reasoning_leak"]}
    ran = run(tmp_path, {name: hops[name] for name in ("litellm", "vllm")}, probe, models=merged)
    assert ran.seen("reasoning_leak") == {"vllm": "clean", "litellm": "tags_in_content"}
    assert ran.findings == [("reasoning_leak", "tags_in_content", "litellm", ("litellm", "vllm"), [])]


def test_an_engine_without_parser_rejects_the_budget(noparser: Hop, hops: Hops, tmp_path: Path):
    """With its own message, although the status was 200 direct and 400 through LiteLLM."""
    without = {**hops, "vllm": noparser}
    ran = run(tmp_path, without, budgets(["thinking_token_budget"], B), models=dict.fromkeys(ABOVE, "tiny-noparser"))
    assert ran.seen("budget") == everywhere("rejected")
    assert ran.findings == [("budget", "rejected", "vllm", None, ABOVE)]
    for hop, carrier in {"vllm": "inside a 200", "litellm": "HTTP 400", "agent": "inside a 200"}.items():
        message = ran.verdict(hop, "budget")["message"]
        assert carrier in message
        assert "reasoning_config is not configured" in message
