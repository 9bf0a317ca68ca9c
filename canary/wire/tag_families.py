"""The marks by which models set reasoning apart inside the visible channel, as one literal table.

Sources: Open WebUI 0.12.4 DEFAULT_REASONING_TAGS; the reasoning parsers of vLLM 0.33.0 and SGLang 0.5.23; the gpt-oss
"harmony" format. A row's `unopened` closers may end reasoning that nothing opened, because the chat template put the
opener into the prompt. They are marks that models are trained on; plain words such as `</reasoning>` are not among
them, since an answer about XML may hold those. `markup` frames the answer once the family is in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFamily:
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    unopened: tuple[str, ...] = ()
    markup: tuple[str, ...] = ()


_HARMONY_ANSWER = (
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
)
_HARMONY_PREAMBLE = (
    "<|start|>assistant<|channel|>commentary<|message|>",
    "<|channel|>commentary<|message|>",
)
_HARMONY_END = ("<|end|>", "<|return|>", "<|call|>")

FAMILIES: Mapping[str, TagFamily] = {
    "think": TagFamily(openers=("<think>",), closers=("</think>",), unopened=("</think>",)),
    "thinking": TagFamily(openers=("<thinking>",), closers=("</thinking>",)),
    "reason": TagFamily(openers=("<reason>",), closers=("</reason>",)),
    "reasoning": TagFamily(openers=("<reasoning>",), closers=("</reasoning>",)),
    "thought": TagFamily(openers=("<thought>",), closers=("</thought>",)),
    "Thought": TagFamily(openers=("<Thought>",), closers=("</Thought>",)),
    "begin_of_thought": TagFamily(
        openers=("<|begin_of_thought|>",),
        closers=("<|end_of_thought|>",),
        unopened=("<|end_of_thought|>",),
        markup=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    "kimi": TagFamily(openers=("◁think▷",), closers=("◁/think▷",), unopened=("◁/think▷",)),
    "seed": TagFamily(openers=("<seed:think>",), closers=("</seed:think>",), unopened=("</seed:think>",)),
    "minimax": TagFamily(openers=("<mm:think>",), closers=("</mm:think>",), unopened=("</mm:think>",)),
    "mistral": TagFamily(openers=("[THINK]",), closers=("[/THINK]",), unopened=("[/THINK]",)),
    "cohere": TagFamily(
        openers=("<|START_THINKING|>",),
        closers=("<|END_THINKING|>",),
        unopened=("<|END_THINKING|>",),
        markup=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ),
    "k2": TagFamily(
        openers=("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"),
        closers=("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
        unopened=("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
    ),
    "gemma": TagFamily(
        openers=("<|channel>thought\n", "<|channel>"), closers=("<channel|>",), unopened=("<channel|>",)
    ),
    "harmony": TagFamily(
        openers=("<|start|>assistant<|channel|>analysis<|message|>", "<|channel|>analysis<|message|>"),
        closers=(*_HARMONY_END, *_HARMONY_ANSWER, *_HARMONY_PREAMBLE),
        unopened=_HARMONY_ANSWER,  # `<|end|>` alone ends every message of other models
        markup=("<|start|>assistant", *_HARMONY_END, *_HARMONY_ANSWER, *_HARMONY_PREAMBLE),
    ),
    # Open WebUI stores reasoning as HTML; its opener has attributes, see `is_details_opener`.
    "details": TagFamily(openers=('<details type="reasoning">',), closers=("</details>",)),
}

# Harmony whose marks the tokenizer dropped: `analysis<reasoning>assistantfinal<answer>`.
GHOST_OPENER = "analysis"
GHOST_CLOSER = "assistantfinal"

DETAILS_START = "<details"
DETAILS_MAX_CHARS = 512


def is_details_opener(mark: str) -> bool:
    """Whether a whole `<details …>` tag opens a reasoning block."""
    return mark.startswith(DETAILS_START) and ('type="reasoning"' in mark or "type='reasoning'" in mark)
