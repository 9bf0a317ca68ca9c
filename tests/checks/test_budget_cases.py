"""Field cases by their public threads, and recorded streams: what was sent, what came, what it must be called."""

import pytest

from canary.analysis.measure import measure
from canary.checks.evidence import Evidence
from canary.core.verdict import Status
from canary.wire.budgets import BUDGETS
from canary.wire.decode import decode
from tests.fakes.arms import LONG, PER_BLOCK, arm, error_in_stream, refused, say, think, usage, verdict_on
from tests.fakes.exchanges import recorded

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN
ENABLE = BUDGETS["chat_template_kwargs.enable_thinking"]
EFFORT = BUDGETS["reasoning_effort"]


CASES = [
    pytest.param(arm(think(512), finish="length"), LONG, {}, "ignored", id="speculation bypasses the cap (vllm 39573)"),
    pytest.param(
        arm(think(50), say()), arm(think(50), say()), {}, "inconclusive", id="ends by itself below the cap (vllm 39573)"
    ),
    pytest.param(
        arm(think(32), usage(32, 32), finish="length"), None, {"tokens": 1}, "ignored", id="a budget of 1 (vllm 54906)"
    ),
    pytest.param(
        arm(think(2000), say()),
        arm(think(2000), say()),
        {"budget": BUDGETS["chat_template_kwargs.thinking_token_budget"], "tokens": 100},
        "ignored",
        id="nested (vllm 50166)",
    ),
    pytest.param(
        arm(think(50), say()), arm(think(55), say()), {}, "inconclusive", id="a trivial question (vllm 0.18 forum)"
    ),
    pytest.param(
        arm(think(1400), finish="length"),
        None,
        {"budget": BUDGETS["custom_params.thinking_budget"], "tokens": 200},
        "ignored",
        id="strict thinking not enforced (sglang 25536)",
    ),
    pytest.param(
        arm(think(900), say()),
        LONG,
        {"tokens": 256},
        "ignored",
        id="server ignores what the CLI enforces (mlx-vlm 1224)",
    ),
    pytest.param(
        arm(think(200), finish="length"),
        None,
        {"tokens": 100},
        "inconclusive",
        id="max_tokens too small to tell (omlx 2455)",
    ),
    pytest.param(
        arm(think(8192), finish="length"),
        None,
        {"budget": BUDGETS["think"], "value": False},
        "ignored",
        id="think false (trudi 18)",
    ),
    pytest.param(
        arm(say()),
        arm(think(8192), say()),
        {"budget": BUDGETS["reasoning.effort"], "value": "none"},
        "honoured",
        id="effort none works where think does not (trudi 18)",
    ),
    pytest.param(
        arm(think(50), finish="length"),
        None,
        {"budget": BUDGETS["think"], "value": False},
        "ignored",
        id="answer in reasoning (ollama 15288)",
    ),
    pytest.param(
        arm(think(600), say()),
        LONG,
        {"budget": BUDGETS["extra_body.thinking_token_budget"]},
        "ignored",
        id="literal extra_body at the engine",
    ),
    pytest.param(
        arm(think(60), say()),
        LONG,
        {"budget": BUDGETS["extra_body.thinking_token_budget"]},
        "honoured",
        id="literal extra_body at the gateway",
    ),
    pytest.param(
        arm(think(600), say()),
        LONG,
        {"budget": BUDGETS["thinking.type"], "value": "disabled"},
        "ignored",
        id="disabled is swallowed (litellm)",
    ),
    pytest.param(
        arm(think(600), say()),
        arm(say()),
        {"budget": EFFORT, "value": "none"},
        "inverted",
        id="none switches it on (litellm mistral)",
    ),
    pytest.param(
        arm(think(1024), say()), arm(think(4000), say()), {}, "clamped", id="64 raised to 1024 (litellm bedrock)"
    ),
    pytest.param(
        arm(usage(19999), finish="length"),
        None,
        {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 12000},
        "inconclusive",
        id="a soft cap is no limit (python-genai 782)",
    ),
    pytest.param(
        arm(usage(1515), say()),
        None,
        {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 0},
        "ignored",
        id="0 and a long prompt (cookbook 722)",
    ),
    pytest.param(
        arm(think(600), say()),
        LONG,
        {"budget": ENABLE, "value": False},
        "ignored",
        id="false is dropped (LocalAI 11674)",
    ),
    pytest.param(
        arm(think(7242), say()),
        None,
        {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 3000},
        "ignored",
        id="one in twenty (llama.cpp 25961)",
    ),
    pytest.param(
        arm(think(300), say(), model="local"),
        arm(think(300), say(), model="asked"),
        {"budget": EFFORT, "value": "none"},
        "inconclusive",
        id="a fallback answers (home-ops 3391)",
    ),
    pytest.param(
        arm(think(60), say(), think(500), say()),
        LONG,
        {"budget": PER_BLOCK},
        "ignored",
        id="second block unbounded (vllm 45984)",
    ),
    pytest.param(
        error_in_stream("thinking_token_budget is not yet supported by the V2 model runner", "400", "BadRequestError"),
        LONG,
        {"budget": PER_BLOCK},
        "rejected",
        id="V2 runner (vllm 50473)",
    ),
    pytest.param(
        refused(424, "Received client error (400)"), LONG, {}, "rejected", id="424 hides the cause (litellm 17147)"
    ),
    pytest.param(error_in_stream("gone", "504"), LONG, {}, "inconclusive", id="only an error object (guidellm 743)"),
    pytest.param(error_in_stream("bad", None), LONG, {}, "rejected", id="an error envelope in a 200 (rocketmq 2178)"),
    pytest.param(
        error_in_stream("Error processing stream start", "400"), LONG, {}, "rejected", id="after keepalives (litellm)"
    ),
    pytest.param(
        refused(400, "Thinking budget is not supported for this model"),
        LONG,
        {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 0},
        "rejected",
        id="a model that does not think (subwave 1044)",
    ),
    pytest.param(
        refused(400, "Unsupported parameter: 'max_tokens'"),
        None,
        {"budget": EFFORT, "value": "none"},
        "probe_misconfigured",
        id="the probe's own max_tokens (litellm 13432)",
    ),
    pytest.param(
        error_in_stream('think value "medium" is not supported for this model', None, "api_error"),
        LONG,
        {"budget": EFFORT, "value": "medium"},
        "rejected",
        id="a level on a boolean model (ollama 12561)",
    ),
    pytest.param(
        refused(400, "extra_forbidden: body, max_completion_tokens", request={"max_completion_tokens": 9}),
        refused(400, "extra_forbidden"),
        {},
        "inconclusive",
        id="refused with and without it (MaxKB 2912)",
    ),
    pytest.param(
        arm(think(180), say(40)),
        LONG,
        {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 200},
        "inconclusive",
        id="the control is too short for 200 (llama.cpp 28182)",
    ),
    pytest.param(
        arm(say()),
        LONG,
        {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 0},
        "honoured",
        id="0 and a stray mark (ferrox 205)",
    ),
]


@pytest.mark.parametrize(("treatment", "control", "how", "reason"), CASES)
def test_field_cases(treatment, control, how, reason):
    verdict = verdict_on(treatment, control, **how)
    assert verdict.reason == reason, verdict.message


def of_file(name):
    observation = decode(recorded(name))
    return Evidence(observation=observation, measurement=measure(observation))


@pytest.mark.parametrize(
    ("treatment", "control", "tokens", "reason"),
    [
        pytest.param("vllm-0.22.1-chat-budget0", "vllm-0.22.1-chat-unbudgeted", 0, "honoured", id="0"),
        pytest.param(
            "vllm-0.22.1-chat-budget64",
            "vllm-0.22.1-chat-unbudgeted",
            64,
            "honoured",
            id="no reasoning tokens reported",
        ),
        pytest.param("vllm-0.22.1-chat-budget64", None, 64, "inconclusive", id="and nothing to learn a ratio from"),
        pytest.param("vllm-0.22.1-chat-ignored", "vllm-0.22.1-chat-unbudgeted", 64, "ignored", id="an unknown name"),
        pytest.param(
            "vllm-0.19.1-chat-rejected", "vllm-0.19.1-chat-unbudgeted", 64, "rejected", id="an error in a 200"
        ),
        pytest.param("litellm-noparser-rejected", "litellm-chat-unbudgeted", 16, "rejected", id="a 400 by the gateway"),
        pytest.param("vllm-chat-budget16", "vllm-chat-unbudgeted", 16, "inconclusive", id="a control of 64 tokens"),
        pytest.param("litellm-chat-ignored", "litellm-chat-unbudgeted", 16, "ignored", id="at the gateway"),
        pytest.param(
            "litellm-dropped-chat-budget16", "litellm-chat-unbudgeted", 16, "inconclusive", id="another model name"
        ),
        pytest.param("litellm-dropped-chat-budget16", None, 16, "ignored", id="dropped by the gateway"),
    ],
)
def test_recorded_streams(treatment, control, tokens, reason):
    verdict = verdict_on(of_file(treatment), control and of_file(control), budget=PER_BLOCK, tokens=tokens)
    assert verdict.reason == reason, verdict.message
