"""A small agent: sends its headers at once, then what it has to say as it comes. It need not forward reasoning."""

from __future__ import annotations

from contextlib import aclosing

from canary.core.observation import Json
from canary.demo.chunks import HIDDEN_FIELDS, chunk_of, error_object, event, says_nothing, texts
from canary.demo.server import Below, Unreachable, body_of
from canary.demo.stream import (
    EVENT_STREAM,
    JSON_DOCUMENT,
    Answer,
    Call,
    Serve,
    Stream,
    blocks,
    document,
    mapped,
    read_all,
)


def agent(below: Below, *, forwards_reasoning: bool = True) -> Serve:
    async def serve(call: Call) -> Answer:
        if call.body.get("stream"):
            answer = Answer(status=200, headers=EVENT_STREAM, stream=_events(below, call))
        else:
            answer = await _whole(below, call)
        return answer if forwards_reasoning else mapped(answer, without_reasoning)

    return serve


def without_reasoning(chunk: Json) -> list[Json]:
    """The chunk less its reasoning; nothing where there was nothing else in it."""
    for part in texts(chunk):
        for name in HIDDEN_FIELDS:
            part.pop(name, None)
    return [] if says_nothing(chunk) else [chunk]


async def _events(below: Below, call: Call) -> Stream:
    try:
        response = await below.ask(call, call.body)
    except Unreachable as error:
        yield event(error_object(f"the model could not be reached: {error}", code=502))
        return
    if response.status >= 400:
        yield _as_event(await read_all(body_of(response)), response.status)
        return
    async with aclosing(blocks(body_of(response))) as stream:
        async for block in stream:
            if block.startswith(b"data:"):
                yield block


def _as_event(body: bytes, status: int) -> bytes:
    """An error from below inside the 200 that was already sent."""
    error = chunk_of(b"data: " + body)
    return event(error if error is not None else error_object(body.decode(errors="replace"), code=status))


async def _whole(below: Below, call: Call) -> Answer:
    try:
        response = await below.ask(call, call.body)
    except Unreachable as error:
        return document(error_object(f"the model could not be reached: {error}", code=502), status=502)
    headers = {"content-type": response.headers.get("content-type", JSON_DOCUMENT["content-type"])}
    return Answer(status=response.status, headers=headers, stream=body_of(response))
