"""Every parameter that caps, sets or switches reasoning: where it goes in the body and what it promises.

The name is the path with dots, without what everybody leaves out. The same word in another place is another parameter:
vLLM takes `thinking_token_budget` at the top level and ignores it, with status 200, anywhere else, so the wrong places
that documentation and clients put it in have rows too.

Left out on purpose: parameters that hide reasoning and do not shorten it (`include_reasoning`, `reasoning_format`,
`exclude`, `display`), and caps on the whole answer (`max_tokens` and its kin): a cut by length is no obedience.

Sources are public pages or a file of a released package with its version. Allowances: 16 tokens hold a forced end text,
its newline, a usual speculative width and slack; NIM may use a tenth of the cap more to finish a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canary.core.budget import Budget, BudgetKind
from canary.core.observation import Json

_CHAT = ("openai-chat",)
_OPENAI = ("openai-chat", "openai-responses")
_VLLM = "https://github.com/vllm-project/vllm"
_GEMINI_COMPATIBLE = "https://ai.google.dev/gemini-api/docs/openai"
_SGLANG = "https://docs.sglang.io/docs/advanced_features/thinking_budget"
_DASHSCOPE = "https://www.alibabacloud.com/help/en/model-studio/deep-thinking"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

BUDGETS: Mapping[str, Budget] = {
    # vLLM, and what serves or forwards it (Dynamo, LiteRT-LM). Per block since 0.26.0.
    "thinking_token_budget": Budget(
        name="thinking_token_budget",
        path=("thinking_token_budget",),
        kind=BudgetKind.HARD_CAP,
        per_block=True,
        protocols=_CHAT,
        source=f"{_VLLM}/pull/20859; per block: {_VLLM}/pull/45984",
    ),
    "extra_body.thinking_token_budget": Budget(
        name="extra_body.thinking_token_budget",
        path=("extra_body", "thinking_token_budget"),
        kind=BudgetKind.HARD_CAP,
        per_block=True,
        protocols=_CHAT,
        source=f"{_VLLM}/blob/main/docs/features/reasoning_outputs.md: only the OpenAI client and LiteLLM flatten it",
    ),
    "chat_template_kwargs.thinking_token_budget": Budget(
        name="chat_template_kwargs.thinking_token_budget",
        path=("chat_template_kwargs", "thinking_token_budget"),
        kind=BudgetKind.HARD_CAP,
        per_block=True,
        protocols=_CHAT,
        source=f"{_VLLM}/issues/50166: accepted and ignored there",
    ),
    # Chat templates: a hint to the model, and nothing where the template lacks the variable.
    "chat_template_kwargs.thinking_budget": Budget(
        name="chat_template_kwargs.thinking_budget",
        path=("chat_template_kwargs", "thinking_budget"),
        kind=BudgetKind.SOFT_CAP,
        protocols=_CHAT,
        source=_SGLANG,
    ),
    "chat_template_kwargs.enable_thinking": Budget(
        name="chat_template_kwargs.enable_thinking",
        path=("chat_template_kwargs", "enable_thinking"),
        kind=BudgetKind.SWITCH,
        off=False,
        on=True,
        protocols=_CHAT,
        source=f"{_VLLM}/blob/main/docs/features/reasoning_outputs.md",
    ),
    "chat_template_kwargs.thinking": Budget(
        name="chat_template_kwargs.thinking",
        path=("chat_template_kwargs", "thinking"),
        kind=BudgetKind.SWITCH,
        off=False,
        on=True,
        protocols=_CHAT,
        source=f"{_VLLM}/blob/main/docs/features/reasoning_outputs.md",
    ),
    "chat_template_kwargs.reasoning_effort": Budget(
        name="chat_template_kwargs.reasoning_effort",
        path=("chat_template_kwargs", "reasoning_effort"),
        kind=BudgetKind.LEVEL,
        off="none",
        levels=_EFFORTS,
        protocols=_CHAT,
        source=f"{_VLLM}/blob/main/docs/features/reasoning_outputs.md",
    ),
    # SGLang: exact with strict thinking; a newline and the end mark more with the logit processor.
    "custom_params.thinking_budget": Budget(
        name="custom_params.thinking_budget",
        path=("custom_params", "thinking_budget"),
        kind=BudgetKind.HARD_CAP,
        minimum=16,
        protocols=_CHAT,
        source=f"{_SGLANG}; https://github.com/sgl-project/sglang/issues/25536",
    ),
    # llama.cpp server
    "thinking_budget_tokens": Budget(
        name="thinking_budget_tokens",
        path=("thinking_budget_tokens",),
        kind=BudgetKind.HARD_CAP,
        minimum=16,
        protocols=_CHAT,
        source="https://github.com/ggml-org/llama.cpp/issues/28182",
    ),
    # mlx-vlm and its kin; DashScope, beside enable_thinking
    "thinking_budget": Budget(
        name="thinking_budget",
        path=("thinking_budget",),
        kind=BudgetKind.HARD_CAP,
        protocols=_CHAT,
        source=f"https://github.com/Blaizzy/mlx-vlm/issues/1224; {_DASHSCOPE}",
    ),
    "enable_thinking": Budget(
        name="enable_thinking",
        path=("enable_thinking",),
        kind=BudgetKind.SWITCH,
        off=False,
        on=True,
        protocols=_CHAT,
        source=_DASHSCOPE,
    ),
    # Ollama: a switch on boolean models, a level on others; /v1 ignores it
    "think": Budget(
        name="think",
        path=("think",),
        kind=BudgetKind.SWITCH,
        off=False,
        on=True,
        levels=("low", "medium", "high"),
        protocols=("ollama", "openai-chat"),
        source="https://github.com/ollama/ollama/issues/15288; levels: https://github.com/ollama/ollama/issues/12561",
    ),
    # NVIDIA NIM
    "nvext.max_thinking_tokens": Budget(
        name="nvext.max_thinking_tokens",
        path=("nvext", "max_thinking_tokens"),
        kind=BudgetKind.HARD_CAP,
        minimum=64,
        allowance_share=0.1,
        protocols=_CHAT,
        source="https://docs.nvidia.com/nim/large-language-models/latest/thinking-budget-control.html",
    ),
    # OpenAI and everybody who speaks its words
    "reasoning_effort": Budget(
        name="reasoning_effort",
        path=("reasoning_effort",),
        kind=BudgetKind.LEVEL,
        off="none",
        levels=_EFFORTS,
        protocols=_CHAT,
        source="https://platform.openai.com/docs/api-reference/chat/create",
    ),
    "reasoning.effort": Budget(
        name="reasoning.effort",
        path=("reasoning", "effort"),
        kind=BudgetKind.LEVEL,
        off="none",
        levels=_EFFORTS,
        protocols=_OPENAI,
        source="https://platform.openai.com/docs/guides/reasoning; https://openrouter.ai/docs/use-cases/reasoning-tokens",
    ),
    "reasoning.max_tokens": Budget(
        name="reasoning.max_tokens",
        path=("reasoning", "max_tokens"),
        kind=BudgetKind.SOFT_CAP,
        minimum=1024,
        protocols=_CHAT,
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens",
    ),
    "reasoning.enabled": Budget(
        name="reasoning.enabled",
        path=("reasoning", "enabled"),
        kind=BudgetKind.SWITCH,
        off=False,
        on=True,
        protocols=_CHAT,
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens",
    ),
    "prompt_mode": Budget(
        name="prompt_mode",
        path=("prompt_mode",),
        kind=BudgetKind.SWITCH,
        on="reasoning",
        protocols=_CHAT,
        source="https://docs.mistral.ai/capabilities/reasoning/",
    ),
    # Anthropic, and gateways that translate it. A target there; vLLM makes it a hard cap from 0.31.0 on.
    "thinking.budget_tokens": Budget(
        name="thinking.budget_tokens",
        path=("thinking", "budget_tokens"),
        kind=BudgetKind.SOFT_CAP,
        minimum=1024,
        beside=MappingProxyType({("thinking", "type"): "enabled"}),
        protocols=("anthropic-messages", "openai-chat"),
        source="https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking",
    ),
    "thinking.type": Budget(
        name="thinking.type",
        path=("thinking", "type"),
        kind=BudgetKind.SWITCH,
        off="disabled",
        on="enabled",
        protocols=("anthropic-messages", "openai-chat"),
        source="https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking; https://api-docs.deepseek.com/",
    ),
    "output_config.effort": Budget(
        name="output_config.effort",
        path=("output_config", "effort"),
        kind=BudgetKind.LEVEL,
        levels=("low", "medium", "high", "xhigh", "max"),
        protocols=("anthropic-messages",),
        source="PyPI anthropic 2.14.0, types/output_config_param.py",
    ),
    "additionalModelRequestFields.thinking.budget_tokens": Budget(
        name="additionalModelRequestFields.thinking.budget_tokens",
        path=("additionalModelRequestFields", "thinking", "budget_tokens"),
        kind=BudgetKind.SOFT_CAP,
        minimum=1024,
        beside=MappingProxyType({("additionalModelRequestFields", "thinking", "type"): "enabled"}),
        protocols=("bedrock-converse",),
        source="https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html",
    ),
    # Gemini: the least value differs by model (1, 128, 512); 512 is taken by all.
    "thinkingConfig.thinkingBudget": Budget(
        name="thinkingConfig.thinkingBudget",
        path=("generationConfig", "thinkingConfig", "thinkingBudget"),
        kind=BudgetKind.SOFT_CAP,
        minimum=512,
        off=0,
        protocols=("gemini",),
        source="https://ai.google.dev/gemini-api/docs/thinking",
    ),
    "thinkingConfig.thinkingLevel": Budget(
        name="thinkingConfig.thinkingLevel",
        path=("generationConfig", "thinkingConfig", "thinkingLevel"),
        kind=BudgetKind.LEVEL,
        levels=("minimal", "low", "medium", "high"),
        protocols=("gemini",),
        source="https://ai.google.dev/gemini-api/docs/thinking; PyPI google-genai 3.6.1, types.py",
    ),
    "extra_body.google.thinking_config.thinking_budget": Budget(
        name="extra_body.google.thinking_config.thinking_budget",
        path=("extra_body", "google", "thinking_config", "thinking_budget"),
        kind=BudgetKind.SOFT_CAP,
        minimum=512,
        off=0,
        protocols=_CHAT,
        source=_GEMINI_COMPATIBLE,
    ),
    "extra_body.google.thinking_config.thinking_level": Budget(
        name="extra_body.google.thinking_config.thinking_level",
        path=("extra_body", "google", "thinking_config", "thinking_level"),
        kind=BudgetKind.LEVEL,
        levels=("minimal", "low", "medium", "high"),
        protocols=_CHAT,
        source=_GEMINI_COMPATIBLE,
    ),
}


def apply(body: Mapping[str, Json], budget: Budget, value: str | bool | int) -> dict[str, Json]:
    """A new body with `value` in the parameter's place, and beside it what the parameter needs.

    Raises ValueError where the body has something else than an object on the way there.
    """
    filled = _put(body, budget.path, value)
    for path, needed in budget.beside.items():
        if _get(filled, path) is None:
            filled = _put(filled, path, needed)
    return filled


def misspelt(body: Mapping[str, Json], budget: Budget, value: str | bool | int) -> dict[str, Json]:
    """The same body with a key that nobody knows in the same place: does this hop refuse what it does not know?"""
    *parents, leaf = budget.path
    return _put(body, (*parents, misspelling(leaf)), value)


def misspelling(key: str) -> str:
    """`key` without its last vowel: `thinking_token_budgt`. No key of any row."""
    last = max(key.rfind(vowel) for vowel in "aeiou")
    return key[:last] + key[last + 1 :]


def _put(body: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    """A copy of `body` with `value` at `path`; only the objects on the way are copied. null is an empty object."""
    key, *rest = path
    if not rest:
        return {**body, key: value}
    inner = body.get(key)
    if inner is not None and not isinstance(inner, Mapping):
        msg = f"`{key}` in the body is {inner!r}, not an object, so `{'.'.join(path)}` cannot be put there"
        raise ValueError(msg)
    return {**body, key: _put(inner or {}, tuple(rest), value)}


def _get(body: Mapping[str, Json], path: tuple[str, ...]) -> Json:
    for key in path[:-1]:
        body = body[key]
    return body.get(path[-1])
