"""The pieces of one OpenAI-like delta or message, by channel.

Reasoning has many names and some servers send it under several at once: vLLM 0.15.1 both `reasoning` and
`reasoning_content`, OpenRouter `reasoning` and `reasoning_details`, LiteLLM `reasoning_content` and `thinking_blocks`.
They are one piece of reasoning, so the first name that holds text wins and the others are left out. What says that
there was reasoning but not which (encrypted, redacted, a signature without text) is a piece without text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from canary.core.observation import Json
from canary.wire.loose_json import Object, object_of, objects_of, text_of


class Channel(StrEnum):
    REASONING = "reasoning"
    HIDDEN = "hidden"  # reasoning that cannot be read
    CONTENT = "content"
    TOOL_CALL = "tool_call"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Text of one channel; never empty, but for HIDDEN. `source` is the field's name."""

    channel: Channel
    text: str = ""
    source: str = ""


_FIELDS = ("reasoning_content", "reasoning", "thinking")
_LISTS = ("thinking_blocks", "reasoning_details")
_ITEM_TEXTS = ("thinking", "text", "summary")


def pieces(delta: Object) -> list[Piece]:
    """Reasoning first, then content in its own order, refusal, tool calls."""
    reasoning = _reasoning(delta)
    content = list(_content(delta.get("content")))
    if any(piece.channel is Channel.REASONING for piece in reasoning):
        content = [piece for piece in content if piece.channel is not Channel.REASONING]
    refusal = text_of(delta.get("refusal"))
    tail = [Piece(channel=Channel.REFUSAL, text=refusal, source="refusal")] if refusal else []
    return [*reasoning, *content, *tail, *_tool_calls(delta)]


def _reasoning(delta: Object) -> list[Piece]:
    hidden = [
        Piece(channel=Channel.HIDDEN, source=name)
        for name in _LISTS
        if any(_is_hidden(item) for item in objects_of(delta.get(name)))
    ]
    texts = [(name, text_of(delta.get(name))) for name in _FIELDS]
    texts += [(name, "".join(map(_item_text, objects_of(delta.get(name))))) for name in _LISTS]
    found = next(((name, text) for name, text in texts if text), None)
    if found is None:
        return hidden
    return [Piece(channel=Channel.REASONING, source=found[0], text=found[1]), *hidden]


def _item_text(item: Object) -> str:
    return next((text for key in _ITEM_TEXTS if (text := text_of(item.get(key)))), "")


def _is_hidden(item: Object) -> bool:
    """Opaque `data`, or a signature over thinking that was left out."""
    return bool(text_of(item.get("data")) or (text_of(item.get("signature")) and not _item_text(item)))


def _content(content: Json) -> Iterator[Piece]:
    """Text, or Mistral's list of text and thinking items."""
    for item in content if isinstance(content, list) else [content]:
        fields = object_of(item)
        if fields is not None and fields.get("type") == "thinking":
            thinking = fields.get("thinking")
            text = text_of(thinking) or "".join(text_of(part.get("text")) for part in objects_of(thinking))
            if text:
                yield Piece(channel=Channel.REASONING, text=text, source="content.thinking")
        elif text := text_of(item if fields is None else fields.get("text")):
            yield Piece(channel=Channel.CONTENT, text=text, source="content")


def _tool_calls(delta: Object) -> Iterator[Piece]:
    """Names and pieces of arguments, of `tool_calls` and of the older `function_call`."""
    calls = [
        call.get(kind)
        for call in objects_of(delta.get("tool_calls"))
        for kind in ("function", "custom")
        if kind in call
    ]
    for call in [*calls, delta.get("function_call")]:
        fields = object_of(call) or {}
        for key in ("name", "arguments", "input"):
            if text := text_of(fields.get(key)):
                yield Piece(channel=Channel.TOOL_CALL, text=text, source=key)
