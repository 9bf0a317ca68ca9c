"""Faults that change what chunks say. Each makes a `ChunkMap`, new for every answer, since some remember what came.

They act on a delta of a stream and on the message of a whole answer alike.
"""

from __future__ import annotations

from collections.abc import Callable

from canary.core.observation import Json
from canary.demo.agent import without_reasoning
from canary.demo.chunks import HIDDEN_FIELDS, REASONING_FIELDS, content_in, reasoning_in, says_nothing, texts
from canary.demo.gateway import invented_usage
from canary.demo.stream import ChunkMap

MARKUP = "<|channel|>analysis<|message|>One more look at the sums.<|end|><|start|>assistant<|channel|>final<|message|>"
STRAY_CLOSER = "\n\n</think>\n\n"
UNKNOWN_FIELD = "inner_monologue"
OTHER_MODEL = "demo/reasoner-1b-quantised"


def strip_reasoning() -> ChunkMap:
    return without_reasoning


def rename_reasoning(field: str | None) -> Callable[[], ChunkMap]:
    """Reasoning under `field`; None: under the other of its two usual names."""

    def change(chunk: Json) -> list[Json]:
        for part in texts(chunk):
            for name in REASONING_FIELDS:
                if part.get(name):
                    other = "reasoning" if name == "reasoning_content" else "reasoning_content"
                    part[field or other] = part.pop(name)
                    break
        return [chunk]

    return lambda: change


def merge_tags() -> ChunkMap:
    """Reasoning inside the content, between tags, as LiteLLM's `merge_reasoning_content_in_choices` does."""
    opened = closed = False

    def change(chunk: Json) -> list[Json]:
        nonlocal opened, closed
        for part in texts(chunk):
            reasoning, content = _take_reasoning(part), part.get("content") or ""
            merged = content
            if reasoning:
                merged = ("" if opened else "<think>") + reasoning
                opened = True
            if content and opened:
                merged = (merged if reasoning else "") + ("" if closed else "</think>") + content
                closed = True
            if merged:
                part["content"] = merged
        return [chunk]

    return change


def _take_reasoning(part: Json) -> str:
    text = next((part[name] for name in REASONING_FIELDS if part.get(name)), "")
    for name in HIDDEN_FIELDS:
        part.pop(name, None)
    return str(text)


def all_in_reasoning() -> ChunkMap:
    def change(chunk: Json) -> list[Json]:
        for part in texts(chunk):
            if part.get("content"):
                name = "reasoning_content" if "reasoning_content" in part else "reasoning"
                part[name] = (part.get(name) or "") + part["content"]
                part["content"] = ""
        return [chunk]

    return change


def copy_reasoning() -> ChunkMap:
    def change(chunk: Json) -> list[Json]:
        for part in texts(chunk):
            copied = next((part[name] for name in REASONING_FIELDS if part.get(name)), "")
            if copied:
                part["content"] = copied + (part.get("content") or "")
        return [chunk]

    return change


def before_content(mark: str) -> Callable[[], ChunkMap]:
    """`mark` at the start of the visible text."""

    def make() -> ChunkMap:
        placed = False

        def change(chunk: Json) -> list[Json]:
            nonlocal placed
            for part in texts(chunk):
                if part.get("content") and not placed:
                    placed = True
                    part["content"] = mark + part["content"]
            return [chunk]

        return change

    return make


def no_finish() -> ChunkMap:
    """The finish reason is never said; a chunk that was there for nothing else is not sent."""

    def change(chunk: Json) -> list[Json]:
        for choice in chunk.get("choices") or ():
            choice["finish_reason"] = None
        return [] if says_nothing(chunk) else [chunk]

    return change


def no_usage() -> ChunkMap:
    def change(chunk: Json) -> list[Json]:
        return [] if chunk.pop("usage", None) is not None and says_nothing(chunk) else [chunk]

    return change


def zero_reasoning_usage() -> ChunkMap:
    def change(chunk: Json) -> list[Json]:
        if chunk.get("usage"):
            chunk["usage"]["completion_tokens_details"] = {"reasoning_tokens": 0}
        return [chunk]

    return change


def fabricated_usage() -> ChunkMap:
    """Usage made up from characters, as LiteLLM does where an engine sends none."""
    reasoning_chars = visible_chars = 0

    def change(chunk: Json) -> list[Json]:
        nonlocal reasoning_chars, visible_chars
        reasoning_chars += len(reasoning_in(chunk))
        visible_chars += len(content_in(chunk))
        if chunk.get("usage"):
            chunk["usage"] = invented_usage(reasoning_chars, visible_chars)
        return [chunk]

    return change


def wrong_model() -> ChunkMap:
    return lambda chunk: [{**chunk, "model": OTHER_MODEL}]
