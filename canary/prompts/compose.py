"""A probe's prompt for one request: nonce, document if there is one, question; and the tool if the probe has one."""

from __future__ import annotations

from dataclasses import dataclass

from canary.core.observation import Json
from canary.core.spec import Probe
from canary.prompts.context import document
from canary.prompts.nonce import opening
from canary.prompts.question import draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """`answer`: the known result, a number as text. `tools`: what goes under `tools` of an OpenAI chat request."""

    text: str
    answer: str | None
    tools: Json | None = None


def compose(probe: Probe, *, seed: int, nonce: str, index: int = 0) -> Composed:
    """`index` chooses the question, from the probe's easiest on; past the hardest it starts again."""
    question = draw(probe.questions[index % len(probe.questions)], seed=seed)
    parts = [question.text]
    if probe.context_tokens or question.needle:
        parts.insert(0, document(probe.context_tokens, seed=seed, needle=question.needle))
    return Composed(
        text=opening(nonce) + "\n\n".join(parts),
        answer=question.answer,
        tools=[_stock_tool()] if probe.tool_call else None,
    )


def _stock_tool() -> Json:
    """Nobody can know the count of a warehouse without asking, so a model that can call tools must call this one."""
    article = {"type": "integer", "description": "The article number."}
    return {
        "type": "function",
        "function": {
            "name": "get_stock_level",
            "description": "Returns how many pieces of an article are in the warehouse right now.",
            "parameters": {
                "type": "object",
                "properties": {"article": article},
                "required": ["article"],
                "additionalProperties": False,
            },
        },
    }
