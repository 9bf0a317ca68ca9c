"""What a target says of a request may hold the request: validators quote what they were given, prompt included.

A prompt is content, and verdicts go to chat rooms. So every stretch of an error that stands in the prompt too is left
out, however it is escaped and wherever it was cut off. Short stretches are common words, and stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from canary.core.observation import Exchange, Json

_LEAST_CHARS = 24  # no phrase of an error message is as long and stands in a question by chance
_MOST_CHARS = 20_000  # of a prompt, from either end: errors quote beginnings, sometimes ends
_MOST_LOOKED_AT = 4_000  # of an error; `quoted` keeps far less
_LEFT_OUT = "[…]"


def without_prompt(text: str, exchange: Exchange) -> str:
    """`text` with a mark in the place of whatever it repeats of the prompt."""
    prompts = [form for prompt in _prompts(exchange.asked) for form in _forms(prompt)]
    text = text[:_MOST_LOOKED_AT]
    kept, at = [], 0
    while at < len(text):
        length = max((_repeated(text, at, prompt) for prompt in prompts), default=0)
        kept.append(_LEFT_OUT if length else text[at])
        at += length or 1
    return "".join(kept)


def _repeated(text: str, at: int, prompt: str) -> int:
    """How many characters from `at` on stand in `prompt`, if they are many."""
    length = _LEAST_CHARS
    if len(text) - at < length or text[at : at + length] not in prompt:
        return 0
    while at + length < len(text) and text[at : at + length + 1] in prompt:
        length += 1
    return length


def _prompts(asked: Mapping[str, Json]) -> Iterator[str]:
    """Every text in the messages of a chat request."""
    messages = asked.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text


def _forms(prompt: str) -> Iterator[str]:
    """As it is, as JSON writes it, with and without escaped letters, and as Python prints it."""
    ends = prompt if len(prompt) <= 2 * _MOST_CHARS else f"{prompt[:_MOST_CHARS]}\0{prompt[-_MOST_CHARS:]}"
    yield from dict.fromkeys(
        (ends, json.dumps(ends)[1:-1], json.dumps(ends, ensure_ascii=False)[1:-1], repr(ends)[1:-1])
    )
