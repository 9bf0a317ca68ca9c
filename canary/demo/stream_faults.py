"""Faults that change how an answer travels: when it starts, what keeps it alive, how it ends, how it is coded.

Each takes the answer that would be given and the fault's own time in seconds.
"""

from __future__ import annotations

import asyncio
import zlib
from contextlib import aclosing
from dataclasses import replace

from canary.core.observation import Json
from canary.demo.chunks import DONE, PING, chunk_of, content_in, error_object, event
from canary.demo.generation import BUDGET
from canary.demo.stream import (
    EVENT_STREAM,
    Answer,
    Call,
    Cut,
    EndKind,
    Serve,
    Stream,
    blocks,
    document,
    pieces,
    read_all,
    timed,
)

WRAPPED_PING = b"data: : ping\n\n"
CACHED_ANSWER = "The answer is what it was the last time somebody asked."
_GZIP_WINDOW = 31  # zlib's way to ask for the gzip container
_FOREVER_S = 86400.0


async def buffer(answer: Answer, _after_s: float) -> Answer:
    """All of it at the end, the status line too: so an nginx with its default buffering was measured."""
    return replace(answer, stream=pieces(await read_all(answer.stream)))


async def freeze(answer: Answer, _after_s: float) -> Answer:
    async def one_chunk() -> Stream:
        async with aclosing(blocks(answer.stream)) as stream:
            async for block in stream:
                yield block
                await asyncio.sleep(_FOREVER_S)

    return replace(answer, stream=one_chunk())


async def hold_open(answer: Answer, after_s: float) -> Answer:
    async def held() -> Stream:
        async with aclosing(answer.stream) as stream:
            async for piece in stream:
                yield piece
        await asyncio.sleep(after_s)

    return replace(answer, stream=held())


async def no_done(answer: Answer, _after_s: float) -> Answer:
    async def without() -> Stream:
        async with aclosing(blocks(answer.stream)) as stream:
            async for block in stream:
                if block != DONE:
                    yield block

    return replace(answer, stream=without())


async def gzip(answer: Answer, _after_s: float) -> Answer:
    async def packed() -> Stream:
        packer = zlib.compressobj(wbits=_GZIP_WINDOW)
        async with aclosing(answer.stream) as stream:
            async for piece in stream:
                yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
        yield packer.flush()

    return replace(answer, headers={**answer.headers, "content-encoding": "gzip"}, stream=packed())


async def cut_fin(answer: Answer, after_s: float) -> Answer:
    return replace(answer, stream=_cut(answer.stream, after_s, EndKind.FIN))


async def cut_rst(answer: Answer, after_s: float) -> Answer:
    return replace(answer, stream=_cut(answer.stream, after_s, EndKind.RST))


async def _cut(stream: Stream, after_s: float, kind: EndKind) -> Stream:
    async with aclosing(_first(stream, after_s)) as first:
        async for piece in first:
            yield piece
    raise Cut(kind)


async def cut_clean(answer: Answer, after_s: float) -> Answer:
    """HTTP says complete: Caddy and Fastly end a body so when their timer fires."""
    return replace(answer, stream=_first(answer.stream, after_s))


async def error_in_stream(answer: Answer, after_s: float) -> Answer:
    """As vLLM reports a failure in mid-stream: an error object, then the terminator."""

    async def failing() -> Stream:
        async with aclosing(_first(answer.stream, after_s)) as first:
            async for piece in first:
                yield piece
        yield event(error_object("EngineCore encountered an issue", code=500, kind="InternalServerError"))
        yield DONE

    return replace(answer, stream=failing())


async def _first(stream: Stream, after_s: float) -> Stream:
    """The whole events of the first `after_s` seconds; ends before the terminator where the stream was faster."""
    loop = asyncio.get_running_loop()
    end = loop.time() + after_s
    async with aclosing(timed(blocks(stream), lambda: end)) as parts:
        async for part in parts:
            if part is None or part == DONE or loop.time() >= end:
                return
            yield part


async def ping_flood(answer: Answer, after_s: float) -> Answer:
    return replace(answer, stream=_pinged(answer.stream, after_s, PING))


async def wrapped_keepalives(answer: Answer, after_s: float) -> Answer:
    return replace(answer, stream=_pinged(answer.stream, after_s, WRAPPED_PING))


async def _pinged(stream: Stream, every_s: float, ping: bytes) -> Stream:
    """`ping` at each interval until there is visible text, whatever else is sent."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    thinking = True
    async with aclosing(timed(blocks(stream), lambda: due)) as parts:
        async for part in parts:
            if thinking and loop.time() >= due:
                yield ping
                due = loop.time() + every_s
            if part is not None:
                yield part
                thinking = thinking and not content_in(chunk_of(part) or {})
            if not thinking:
                due = float("inf")


async def canned_answer(call: Call, _serve: Serve, _after_s: float) -> Answer:
    """The same whole answer to whoever asks, at once, as a cache gives it."""
    envelope = {"id": "chatcmpl-cached", "created": 1, "model": call.body.get("model")}
    usage = {"prompt_tokens": 20, "completion_tokens": 15, "total_tokens": 35}
    if not call.body.get("stream"):
        choice: Json = {"index": 0, "message": {"role": "assistant", "content": CACHED_ANSWER}, "finish_reason": "stop"}
        return document({**envelope, "object": "chat.completion", "choices": [choice], "usage": usage})
    envelope["object"] = "chat.completion.chunk"
    deltas = ({"role": "assistant", "content": ""}, {"content": CACHED_ANSWER})
    said = [{**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = {**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    chunks = [*said, finish, {**envelope, "choices": [], "usage": usage}]
    return Answer(status=200, headers=EVENT_STREAM, stream=pieces(*map(event, chunks), DONE))


async def reject_late(call: Call, serve: Serve, _after_s: float) -> Answer:
    """What vLLM without reasoning markers does to a budget: an error inside the 200, or a plain 400 if not streamed."""
    if call.body.get(BUDGET) is None:
        return await serve(call)
    message = f"{BUDGET} is set but reasoning_config is not configured"
    error = error_object(message, code=400, kind="BadRequestError")
    if not call.body.get("stream"):
        return document(error, status=400)
    return Answer(status=200, headers=EVENT_STREAM, stream=pieces(event(error), DONE))


async def slow_headers(call: Call, serve: Serve, after_s: float) -> Answer:
    await asyncio.sleep(after_s)
    return await serve(call)


async def hang(_call: Call, _serve: Serve, _after_s: float) -> Answer:
    await asyncio.sleep(_FOREVER_S)
    raise AssertionError("nobody waits for a day")
