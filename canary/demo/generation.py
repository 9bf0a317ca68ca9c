"""What the demo engine will say to a request: validated as vLLM does, cut by budget and length as vLLM does.

- `thinking_token_budget` counts at the top level only: an integer of 0 or more, or -1 for no limit (vLLM since 0.23).
  It is kept exactly. Keys that vLLM does not know are ignored: `thinking_budget`, a nested budget, a literal
  `extra_body`.
- `max_completion_tokens` goes before `max_tokens`; reasoning counts in both.
- `chat_template_kwargs.enable_thinking: false` and `reasoning_effort: none` turn reasoning off; another effort changes
  nothing. `include_reasoning: false` hides reasoning and does not shorten it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from canary.core.observation import Json
from canary.demo.load import SEATS
from canary.demo.words import words

BUDGET = "thinking_token_budget"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model and the machine under it. Lengths in tokens, speeds in tokens per second.

    `stream_interval`: tokens per event, as vLLM's option of that name. `reasoning_tokens`: the natural length of its
    reasoning, whatever is asked. `seats`: how many requests run at a time, as vLLM's `max_num_seqs`.
    """

    name: str = "demo/reasoner-7b"
    reasoning_tokens: int = 700
    answer_tokens: int = 160
    prefill_s: float = 0.05
    thinking_tokens_per_s: float = 200.0
    tokens_per_s: float = 200.0
    stream_interval: int = 4
    seats: int = SEATS


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """All tokens of one answer. `completion_tokens` counts the closing mark and the end token too."""

    prompt_tokens: int
    reasoning: tuple[str, ...]
    content: tuple[str, ...]
    finish_reason: str
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A request that is refused before anything is generated. `param`: the offending key."""

    status: int
    kind: str
    message: str
    param: str | None = None


def _integer(low: int) -> Callable[[Json], str | None]:
    def check(value: Json) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool) and value >= low:
            return None
        return f"should be an integer of at least {low}"

    return check


def _a(kind: type | tuple[type, ...], noun: str) -> Callable[[Json], str | None]:
    return lambda value: None if isinstance(value, kind) else f"should be {noun}"


def _messages(value: Json) -> str | None:
    if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
        return None
    return "should be a list of messages, each with a role"


_RULES: Mapping[str, Callable[[Json], str | None]] = {
    "messages": _messages,
    "stream": _a(bool, "a boolean"),
    "stream_options": _a(dict, "an object"),
    "max_tokens": _integer(1),
    "max_completion_tokens": _integer(1),
    "temperature": _a((int, float), "a number"),
    BUDGET: _integer(-1),
    "chat_template_kwargs": _a(dict, "an object"),
    "reasoning_effort": lambda value: None if value in EFFORTS else f"should be one of {', '.join(EFFORTS)}",
    "include_reasoning": _a(bool, "a boolean"),
    "return_token_ids": _a(bool, "a boolean"),
}


def rejection(body: Json, model: Model) -> Rejection | None:
    """Why the request is refused; None if it is not. A null counts as absent, as in vLLM."""
    if "messages" not in body:
        return Rejection(status=400, kind="BadRequestError", message="messages: field required", param="messages")
    for name, check in _RULES.items():
        if body.get(name) is not None and (fault := check(body[name])) is not None:
            return Rejection(status=400, kind="BadRequestError", message=f"{name} {fault}", param=name)
    if body.get("stream_options") is not None and not body.get("stream"):
        message = "stream_options can only be defined when stream is true"
        return Rejection(status=400, kind="BadRequestError", message=message, param="stream_options")
    if body.get("model") not in {None, model.name}:
        message = f"The model `{body['model']}` does not exist."
        return Rejection(status=404, kind="NotFoundError", message=message, param="model")
    return None


def prompt_of(body: Json) -> str:
    """The text of all messages; parts of a list that are not text are left out."""
    return "\n".join(_text(message.get("content")) for message in body["messages"])


def _text(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def generate(body: Json, model: Model, answer: str | None) -> Generation:
    """The tokens for a valid request. `answer` stands at the very end of the visible text; None: no answer is known."""
    prompt = prompt_of(body)
    thinks = _thinks(body)
    reasoning = words(prompt, _reasoning_length(body, model) if thinks else 0)
    visible = _visible(prompt, model, answer)
    marks = 1 if thinks else 0  # the closing mark is generated and is in no text
    whole = len(reasoning) + marks + len(visible) + 1
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or whole
    kept = reasoning[:limit]
    return Generation(
        prompt_tokens=8 + len(prompt) // 4,
        reasoning=kept,
        content=visible[: max(0, limit - len(kept) - marks)],
        finish_reason="stop" if whole <= limit else "length",
        completion_tokens=min(whole, limit),
    )


def _thinks(body: Json) -> bool:
    kwargs = body.get("chat_template_kwargs") or {}
    enabled = kwargs.get("enable_thinking", body.get("reasoning_effort") != "none")
    return bool(enabled)


def _reasoning_length(body: Json, model: Model) -> int:
    budget = body.get(BUDGET)
    if budget is None or budget < 0:
        return model.reasoning_tokens
    return min(model.reasoning_tokens, int(budget))


def _visible(prompt: str, model: Model, answer: str | None) -> tuple[str, ...]:
    """Filler that gives the answer a length to be streamed over, then the answer, split at its spaces."""
    closing = f" The answer is {answer}" if answer is not None else " I have no answer to that."
    tail = tuple(" " + word for word in closing.split(" ") if word)
    filler = words("answer/" + prompt, max(1, model.answer_tokens - len(tail)))
    return (filler[0].strip().capitalize(), *filler[1:-1], filler[-1] + ".", *tail)
