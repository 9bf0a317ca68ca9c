"""From bytes to stream events, and from a prompt to a request body. Pure: bytes and stamps are arguments.

A wire protocol is one module with a decoder and an encoder, and one row in `WIRES`. A decoder's life is
`head` once, `feed` for each network read, `close` once; events come out in order, and any chunking of the same bytes
gives the same events apart from `at` and `BytesReceived`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from canary.core.observation import Head, Json, Read
from canary.core.stream import StreamEvent
from canary.wire import openai_chat
from canary.wire.prompt import Prompt

__all__ = ["WIRES", "Decoder", "Prompt", "Wire"]


class Decoder(Protocol):
    """State between reads. It never raises on any input; what it cannot read becomes a Violation or a ServerError."""

    def head(self, head: Head) -> list[StreamEvent]: ...

    def feed(self, read: Read) -> list[StreamEvent]: ...

    def close(self, at: float) -> list[StreamEvent]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One protocol: how to ask and how to read the answer."""

    encode: Callable[[Prompt], Json]
    decoder: Callable[[], Decoder]


WIRES: Mapping[str, Wire] = {
    "openai-chat": Wire(encode=openai_chat.encode, decoder=openai_chat.Decoder),
}
