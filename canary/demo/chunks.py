"""The little that the demo servers know of the chat completion dialect: events, chunks and the texts in them.

The demo is what the monitor is tested against, so it shares no parser with it: a mistake in `canary.wire` must not be
repeated here. Every demo server writes whole events that end in LF LF, which is all that `block_of` relies on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from canary.core.observation import Json

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"
REASONING_FIELDS = ("reasoning", "reasoning_content")
HIDDEN_FIELDS = (*REASONING_FIELDS, "thinking_blocks", "provider_specific_fields")


def event(chunk: Json) -> bytes:
    """One event; compact, as vLLM and LiteLLM write it."""
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def error_object(message: str, *, code: int | str, kind: str | None = None, param: str | None = None) -> Json:
    """OpenAI's error envelope. vLLM's `code` is a number, LiteLLM's a string."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def chunk_of(block: bytes) -> Json | None:
    """The JSON object in an event; None for a comment, a terminator and whatever is not JSON."""
    if not block.startswith(b"data:"):
        return None
    try:
        chunk = json.loads(block[5:])
    except ValueError:
        return None
    return chunk if isinstance(chunk, dict) else None


def texts(chunk: Json) -> Iterator[Json]:
    """The delta of each choice of a chunk, or the message of each choice of a whole answer: to read and to change."""
    for choice in chunk.get("choices") or ():
        part = choice.get("delta", choice.get("message"))
        if part is not None:
            yield part


def reasoning_in(chunk: Json) -> str:
    return "".join(next((part[name] for name in REASONING_FIELDS if part.get(name)), "") for part in texts(chunk))


def content_in(chunk: Json) -> str:
    return "".join(part.get("content") or "" for part in texts(chunk))


def says_nothing(chunk: Json) -> bool:
    """No text of any channel, role, finish reason, usage or error: a chunk that a server need not send."""
    if chunk.get("usage") or "error" in chunk:
        return False
    return not any(choice.get("finish_reason") for choice in chunk.get("choices") or ()) and not any(
        any(part.values()) for part in texts(chunk)
    )
