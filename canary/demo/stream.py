"""An answer on its way through one demo hop, and the stages that can be put around its stream.

A hop is a `Serve`: a coroutine from a call to an answer. When it returns, the status line goes out; what it waits for
before that is what it withholds. The body is an async generator of byte strings, each written at once; if it returns,
HTTP ends in order; if it raises `Cut`, the connection is broken off. So a fault is a function around a `Serve`, and
hops and faults nest freely. Who wraps a generator closes it, so that a leaving client is noticed down to the engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from canary.core.observation import Json
from canary.demo.chunks import chunk_of, event

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
JSON_DOCUMENT = {"content-type": "application/json"}

Stream: TypeAlias = AsyncGenerator[bytes, None]
ChunkMap: TypeAlias = Callable[[Json], Iterable[Json]]


class EndKind(StrEnum):
    """How a connection is broken off in mid-body."""

    FIN = "fin"  # closed in order, without HTTP's last chunk
    RST = "rst"  # reset


class Cut(Exception):  # noqa: N818  # it is how a stream ends, here by design
    """Raised by a stream to end its connection; also what a hop sees when the connection below it broke."""

    def __init__(self, kind: EndKind) -> None:
        super().__init__(kind.value)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. `resources` are closed when its answer has ended, however it ended."""

    body: Json
    resources: AsyncExitStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    stream: Stream


Serve: TypeAlias = Callable[[Call], Awaitable[Answer]]


async def pieces(*data: bytes) -> Stream:
    for piece in data:
        yield piece


def document(content: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that is one JSON document."""
    body = json.dumps(content, separators=(",", ":")).encode()
    return Answer(status=status, headers={**JSON_DOCUMENT, **(headers or {})}, stream=pieces(body))


def is_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").startswith("text/event-stream")


async def read_all(stream: Stream) -> bytes:
    async with aclosing(stream):
        return b"".join([piece async for piece in stream])


async def blocks(stream: Stream) -> Stream:
    """The same bytes, split after each blank line, whatever reads they came in."""
    rest = b""
    async with aclosing(stream):
        async for piece in stream:
            *whole, rest = (rest + piece).split(b"\n\n")
            for block in whole:
                yield block + b"\n\n"
    if rest:
        yield rest


async def timed(stream: Stream, deadline: Callable[[], float]) -> AsyncGenerator[bytes | None, None]:
    """The pieces of `stream`, and None whenever `deadline()` passes first. After a None the caller moves it or leaves.

    The wait for a piece goes on across a None: nothing is lost. Times are those of the running loop.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[bytes] | None = None
    async with aclosing(stream):
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(stream))
                await asyncio.wait({waiting}, timeout=max(0.0, deadline() - loop.time()))
                if not waiting.done():
                    yield None
                    continue
                done, waiting = waiting, None
                try:
                    piece = done.result()
                except StopAsyncIteration:
                    return
                yield piece
        finally:
            if waiting is not None:
                waiting.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, Cut):
                    await waiting


def mapped(answer: Answer, change: ChunkMap) -> Answer:
    """`answer` with each of its chunks, or its one document, replaced by what `change` makes of it."""
    if answer.status >= 400:
        return answer
    stream = _mapped_events if is_stream(answer.headers) else _mapped_document
    return replace(answer, stream=stream(answer.stream, change))


async def _mapped_events(stream: Stream, change: ChunkMap) -> Stream:
    async with aclosing(blocks(stream)) as whole:
        async for block in whole:
            chunk = chunk_of(block)
            if chunk is None or "error" in chunk:
                yield block
            else:
                for changed in change(chunk):
                    yield event(changed)


async def _mapped_document(stream: Stream, change: ChunkMap) -> Stream:
    for changed in change(json.loads(await read_all(stream))):
        yield json.dumps(changed, separators=(",", ":")).encode()
