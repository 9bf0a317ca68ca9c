"""The top hop: what a browser calls. It holds the timer of the story: it gives up when it hears nothing for too long.

`clock` says what it takes for a sign of life: a byte, an event, a token or visible text. When the limit passes it says
so in an error event, or just breaks off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum

from aiohttp import ClientResponse

from canary.core.timeout import Clock
from canary.demo.chunks import chunk_of, content_in, error_object, event, reasoning_in
from canary.demo.server import Below, Unreachable, body_of
from canary.demo.stream import Answer, Call, Cut, EndKind, Serve, Stream, blocks, document, is_stream, timed


class GivesUp(StrEnum):
    """What the browser sees when the limit passes."""

    ERROR = "error"
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleLimit:
    limit_s: float
    clock: Clock = Clock.EVENT
    gives_up: GivesUp = GivesUp.ERROR


def _has_visible(block: bytes) -> bool:
    chunk = chunk_of(block)
    return chunk is not None and bool(content_in(chunk).strip())


def _has_token(block: bytes) -> bool:
    chunk = chunk_of(block)
    return chunk is not None and bool(content_in(chunk) or reasoning_in(chunk))


_TICKS: Mapping[Clock, Callable[[bytes], bool]] = {
    Clock.BYTE: lambda _block: True,
    Clock.EVENT: lambda block: block.startswith(b"data:"),
    Clock.TOKEN: _has_token,
    Clock.VISIBLE: _has_visible,
}


def ui(below: Below, idle: IdleLimit) -> Serve:
    async def serve(call: Call) -> Answer:
        asked = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(idle.limit_s):
                response = await below.ask(call, call.body)
        except TimeoutError:
            return document(_gave_up(idle), status=504)
        except Unreachable as error:
            return document(error_object(f"the backend could not be reached: {error}", code=502), status=502)
        headers = {"content-type": response.headers.get("content-type", "application/octet-stream")}
        stream = _events(response, idle, asked) if is_stream(headers) else body_of(response)
        return Answer(status=response.status, headers=headers, stream=stream)

    return serve


def _gave_up(idle: IdleLimit) -> object:
    return error_object(f"no {idle.clock} for {idle.limit_s:g} s: giving up", code=504, kind="timeout")


async def _events(response: ClientResponse, idle: IdleLimit, asked: float) -> Stream:
    loop = asyncio.get_running_loop()
    ticks = _TICKS[idle.clock]
    last = loop.time() if idle.clock is Clock.BYTE else asked  # headers are bytes
    async with aclosing(timed(blocks(body_of(response)), lambda: last + idle.limit_s)) as stream:
        async for block in stream:
            if block is None:
                if idle.gives_up is GivesUp.CUT:
                    raise Cut(EndKind.FIN)
                yield event(_gave_up(idle))
                return
            if ticks(block):
                last = loop.time()
            yield block
