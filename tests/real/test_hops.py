"""What `canary probe` says of each hop of a real pipeline. Only the weights are not real: they are random."""

import subprocess

import pytest

from tests.real.lab import command
from tests.real.lab.command import Printed, probe
from tests.real.lab.engine import generated, wait_generated
from tests.real.lab.hop import Hop
from tests.real.lab.processes import kill

pytestmark = pytest.mark.real

BUDGET = 16
TREATED = ("--max-tokens", "64", "--param", f"thinking_token_budget={BUDGET}")
NO_PARSER = "thinking_token_budget is set but reasoning_config is not configured"


def judged(printed: Printed, check: str) -> tuple[str, str]:
    verdict = printed.verdict(check)
    return verdict["status"], verdict["reason"]


def assert_all_reasoning(printed: Printed, tokens: int) -> None:
    """The founding incident: status 200, every token is reasoning, nothing to see."""
    assert judged(printed, "reachable") == ("PASS", "answered")
    assert judged(printed, "complete") == ("PASS", "ended")
    assert judged(printed, "visible_content") == ("FAIL", "budget_exhausted")
    measured = printed.measurement
    assert tokens == measured["reasoning_tokens"]["value"]
    assert (measured["visible_chars"], measured["finish_reason"]) == (0, "length")
    assert measured["time_to_first_visible_content_s"] is None
    assert measured["reasoning_to_output_ratio"] == 1.0
    assert printed.code == 1


def assert_budget_kept(printed: Printed) -> None:
    assert judged(printed, "visible_content") == ("PASS", "visible")
    measured = printed.measurement
    assert 0 < measured["reasoning_tokens"]["value"] <= BUDGET
    assert measured["visible_chars"] > 0
    assert measured["time_to_first_reasoning_token_s"] < measured["time_to_first_visible_content_s"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="no budget"),
        pytest.param(("--param", f"thinking_budget={BUDGET}"), id="a parameter that vLLM does not know"),
    ],
)
@pytest.mark.parametrize("name", ["engine", "gateway"])
def test_without_a_budget_everything_is_reasoning(name: str, more: tuple[str, ...], request: pytest.FixtureRequest):
    assert_all_reasoning(probe(request.getfixturevalue(name), "tiny", "--max-tokens", "64", *more), tokens=64)


@pytest.mark.parametrize("name", ["engine", "gateway"])
def test_thinking_token_budget_is_honoured(name: str, request: pytest.FixtureRequest):
    assert_budget_kept(probe(request.getfixturevalue(name), "tiny", *TREATED))


@pytest.mark.parametrize("name", ["engine", "gateway"])
@pytest.mark.parametrize("switch", ["chat_template_kwargs.enable_thinking=false", "reasoning_effort=none"])
def test_thinking_switched_off(name: str, switch: str, request: pytest.FixtureRequest):
    printed = probe(request.getfixturevalue(name), "tiny", "--max-tokens", "64", "--param", switch)
    assert judged(printed, "visible_content") == ("PASS", "visible")
    assert printed.measurement["reasoning_chars"] == 0


def test_the_canned_question(engine: Hop):
    """Where nobody says what to ask, canary does. What this model makes of it is not worth a check."""
    printed = probe(engine, "tiny", "--max-tokens", "64", question=())
    assert judged(printed, "reachable") == ("PASS", "answered")
    assert judged(printed, "complete") == ("PASS", "ended")


def test_each_hop_is_recognised(engine: Hop, gateway: Hop):
    direct = probe(engine, "tiny", *TREATED).measurement["fingerprint"]
    assert (direct["reasoning_field"], direct["server"]) == ("reasoning", "uvicorn")
    assert direct["system_fingerprint"].startswith("vllm-0.32.0")
    assert direct["litellm_version"] is None

    through = probe(gateway, "tiny", *TREATED).measurement["fingerprint"]
    assert (through["reasoning_field"], through["litellm_version"]) == ("reasoning_content", "1.108.7")
    assert through["system_fingerprint"].startswith("vllm-0.32.0")


def test_the_gateway_drops_the_budget(gateway: Hop):
    """`additional_drop_params`: the request succeeds, and the budget is gone."""
    assert_all_reasoning(probe(gateway, "tiny-dropped", *TREATED), tokens=64)


def test_the_gateway_merges_reasoning_into_content(gateway: Hop):
    """`merge_reasoning_content_in_choices`: tags in content, which is reasoning that people read."""
    printed = probe(gateway, "tiny-merged", *TREATED)
    assert judged(printed, "reasoning_leak") == ("FAIL", "tags_in_content")
    measured = printed.measurement
    assert measured["reasoning_chars"] > 0
    assert measured["visible_chars"] > 0
    assert measured["time_to_first_reasoning_token_s"] < measured["time_to_first_visible_content_s"]


def test_merged_reasoning_alone_is_not_visible(gateway: Hop):
    printed = probe(gateway, "tiny-merged", "--max-tokens", "64")
    assert judged(printed, "visible_content") == ("FAIL", "budget_exhausted")
    assert printed.measurement["visible_chars"] == 0


def test_the_agent_is_silent_while_the_model_thinks(agent: Hop):
    printed = probe(agent, "tiny", "--max-tokens", "1100", "--param", "thinking_token_budget=1000")
    assert judged(printed, "visible_content") == ("PASS", "visible")
    measured = printed.measurement
    assert measured["time_to_headers_s"] < 1
    assert measured["reasoning_chars"] == 0
    assert measured["time_to_first_reasoning_token_s"] is None
    silence = measured["silence"]["byte"]
    assert silence["longest_s"] > 2
    assert silence["began_at"] == pytest.approx(measured["time_to_headers_s"], abs=0.05)
    assert measured["time_to_first_visible_content_s"] >= silence["longest_s"]


def test_a_forwarding_agent_is_not(forwarding_agent: Hop):
    """The same agent that lets reasoning through: first visible as late, no silence to speak of."""
    measured = probe(
        forwarding_agent, "tiny", "--max-tokens", "1100", "--param", "thinking_token_budget=1000"
    ).measurement
    assert measured["reasoning_chars"] > 0
    # Not by the longest gap: a busy machine makes gaps of its own. A thousand tokens are hundreds of events anywhere.
    assert measured["time_to_first_reasoning_token_s"] < measured["time_to_first_visible_content_s"] / 2
    assert measured["silence"]["token"]["ticks"] > 300


@pytest.mark.parametrize(
    ("name", "reason", "status"),
    [pytest.param("engine", "not_found", 404, id="vllm"), pytest.param("gateway", "rejected", 400, id="litellm")],
)
def test_an_unknown_model(name: str, reason: str, status: int, request: pytest.FixtureRequest):
    printed = probe(request.getfixturevalue(name), "nope", "--max-tokens", "64")
    assert ("FAIL", reason) == judged(printed, "reachable")
    assert printed.verdict("reachable")["observed"] == status
    assert "nope" in printed.verdict("reachable")["message"]
    assert judged(printed, "visible_content")[0] == "UNKNOWN"
    assert printed.code == 1


@pytest.mark.parametrize(
    ("key", "reason", "says"),
    [
        # Not the 401 that one expects: without a database, this LiteLLM trips over its own check.
        pytest.param(None, "server_error", "HTTP 500", id="none"),
        pytest.param("sk-0123456789abcdef-wrong", "rejected", "No connected db", id="unknown"),
    ],
)
def test_a_key_that_opens_nothing(key: str | None, reason: str, says: str, gateway: Hop):
    stranger = Hop(name=gateway.name, port=gateway.port, process=gateway.process, api_key=key)
    printed = probe(stranger, "tiny", "--max-tokens", "64")
    assert judged(printed, "reachable") == ("FAIL", reason)
    assert says in printed.verdict("reachable")["message"]
    assert key is None or key not in printed.err + str(printed.out)


def test_an_engine_without_reasoning_parser(noparser: Hop, gateway: Hop):
    """It refuses a budget, inside a 200 when asked directly; then it dies in mid-stream.

    One test, because the second engine takes half a minute to start.
    """
    direct = probe(noparser, "tiny", *TREATED)
    assert judged(direct, "reachable") == ("FAIL", "error_in_stream")
    assert NO_PARSER in direct.verdict("reachable")["message"]
    assert direct.verdict("reachable")["observed"] == 400
    assert judged(direct, "visible_content")[0] == "UNKNOWN"

    through = probe(gateway, "tiny-noparser", *TREATED)
    assert judged(through, "reachable") == ("FAIL", "rejected")
    assert NO_PARSER in through.verdict("reachable")["message"]
    assert through.verdict("reachable")["observed"] == 400

    killed = probe_until_killed(noparser, gateway)
    assert judged(killed, "complete") == ("FAIL", "error_in_stream")
    assert (killed.measurement["end"]["kind"], killed.measurement["terminator_seen"]) == ("completed", False)
    assert killed.measurement["finish_reason"] is None
    assert killed.code == 1


def probe_until_killed(engine: Hop, gateway: Hop) -> Printed:
    """What canary says of the gateway when the engine behind it is killed after it generated 200 tokens."""
    before = generated(engine)
    with subprocess.Popen(
        command.arguments(gateway, "tiny-noparser", "--max-tokens", "6000"),
        env=command.environment(gateway),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as canary:
        try:
            wait_generated(engine, before + 200, limit_s=60)
            kill(engine.process)
            out, err = canary.communicate(timeout=command.RUN_LIMIT_S)
        finally:
            canary.kill()
    return command.printed(canary.returncode, out, err)
