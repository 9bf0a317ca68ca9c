"""A LiteLLM look-alike, after recorded LiteLLM 1.108 streams and what was measured of 1.110.

- `reasoning` becomes `reasoning_content`; parameters that it does not know go on unchanged; comments are swallowed.
- The status line waits for the first event from below, so that an error in it becomes a real HTTP status. A later error
  stays an event, with a string for a code.
- It always asks for usage, makes it up where none comes (then there are `text_tokens`), and shows it only to those who
  asked, in a choice with an empty delta. `[DONE]` waits for the connection below to end, and is its own.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field

from aiohttp import ClientResponse

from canary.core.observation import Json
from canary.demo.chunks import DONE, chunk_of, content_in, error_object, event, reasoning_in, texts
from canary.demo.server import Below, Unreachable, body_of
from canary.demo.stream import EVENT_STREAM, Answer, Call, Cut, Serve, Stream, blocks, document, read_all

VERSION = "1.108.7"
HEADERS = {"x-litellm-version": VERSION}
CUT_MESSAGE = "litellm.APIConnectionError: Hosted_vllmException - Response payload is not completed"
NO_FINISH_MESSAGE = "Stream ended before a finish_reason was received"
_KINDS = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """The model's name above the gateway, and below it."""

    name: str
    engine_model: str


def gateway(below: Below, alias: Alias) -> Serve:
    async def serve(call: Call) -> Answer:
        if call.body.get("model") != alias.name:
            return _error(400, f"Invalid model name passed in model={call.body.get('model')}")
        try:
            response = await below.ask(call, _request(call.body, alias))
        except Unreachable as error:
            return _error(500, f"InternalServerError: Connection error: {error}")
        if response.status >= 400:
            return _passed_on(response.status, await _bytes_of(response))
        if not call.body.get("stream"):
            return _whole(await _bytes_of(response), alias)
        return await _streamed(call, response, alias)

    return serve


def _request(body: Json, alias: Alias) -> Json:
    changed = {**body, "model": alias.engine_model}
    if body.get("stream"):
        changed["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
    return changed


async def _bytes_of(response: ClientResponse) -> bytes:
    """The body; whatever came of it where the connection broke."""
    try:
        return await read_all(body_of(response))
    except Cut:
        return b""


def _error(status: int, message: str) -> Answer:
    """The gateway's own error, and that of the engine in the gateway's words."""
    error = error_object(f"litellm.{message}", code=str(status), kind="invalid_request_error")
    return document(error, status=status, headers=HEADERS)


def _passed_on(status: int, body: bytes) -> Answer:
    return _error(status, f"{_KINDS.get(status, 'APIError')}: Hosted_vllmException - {_message(body)}")


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")


def _whole(body: bytes, alias: Alias) -> Answer:
    try:
        answer = json.loads(body)
    except ValueError:
        return _error(500, f"APIError: Hosted_vllmException - {body[:200].decode(errors='replace')}")
    for message in texts(answer):
        message["reasoning_content"] = message.pop("reasoning", None)
    return document({**answer, "model": alias.name}, headers=HEADERS)


async def _streamed(call: Call, response: ClientResponse, alias: Alias) -> Answer:
    """Waits for the first event; from then on the status is fixed."""
    events = _data(response)
    call.resources.push_async_callback(events.aclose)
    try:
        block = await anext(events, b"")
    except Cut:
        return _error(500, CUT_MESSAGE)
    first = chunk_of(block)
    if first is not None and "error" in first:
        return _passed_on(_status_of(first["error"]), json.dumps(first).encode())
    wants_usage = bool((call.body.get("stream_options") or {}).get("include_usage"))
    relay = _Relay(model=alias.name, wants_usage=wants_usage)
    return Answer(status=200, headers={**EVENT_STREAM, **HEADERS}, stream=_relayed(relay, block, events))


async def _data(response: ClientResponse) -> Stream:
    """The events that a parser would dispatch; comments and what is not JSON end here."""
    async with aclosing(blocks(body_of(response))) as stream:
        async for block in stream:
            if block == DONE or chunk_of(block) is not None:
                yield block


def _status_of(error: Json) -> int:
    try:
        code = int(error["code"])
    except (KeyError, TypeError, ValueError):
        return 500
    return code if 400 <= code < 600 else 500


async def _relayed(relay: _Relay, block: bytes, events: Stream) -> Stream:
    try:
        while block:
            chunk = chunk_of(block)
            if chunk is not None and "error" in chunk:
                yield _late_error(chunk)
                break
            for out in relay.end() if chunk is None else relay.take(chunk):
                yield event(out)
            block = await anext(events, b"")
        else:
            for out in relay.end():
                yield event(out)
            if relay.finish_reason is None:
                yield event(error_object(NO_FINISH_MESSAGE, code="500"))
    except Cut:
        yield event(error_object(CUT_MESSAGE, code="500"))  # and no [DONE]: so it was recorded
        return
    yield DONE


def _late_error(chunk: Json) -> bytes:
    message = f"litellm.APIError: Hosted_vllmException - {_message(json.dumps(chunk).encode())}"
    return event(error_object(message, code=str(_status_of(chunk["error"]))))


@dataclass(slots=True)
class _Relay:
    """What is passed on, and what is held back for the end: the finish reason and the usage."""

    model: str
    wants_usage: bool
    finish_reason: str | None = None
    usage: Json | None = None
    envelope: Json = field(default_factory=dict)
    reasoning_chars: int = 0
    visible_chars: int = 0
    ended: bool = False

    def take(self, chunk: Json) -> list[Json]:
        self.usage = chunk.get("usage") or self.usage
        self.reasoning_chars += len(reasoning_in(chunk))
        self.visible_chars += len(content_in(chunk))
        named = {name: chunk[name] for name in ("id", "object", "created", "system_fingerprint") if name in chunk}
        self.envelope |= named | {"model": self.model}
        choices = [self._choice(choice) for choice in chunk.get("choices") or ()]
        kept = [choice for choice in choices if choice["delta"]]
        return [{**self.envelope, "choices": kept}] if kept else []

    def _choice(self, choice: Json) -> Json:
        delta = dict(choice.get("delta") or {})
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        if "reasoning" in delta:
            delta["reasoning_content"] = delta.pop("reasoning")
        if "role" not in delta and not any(delta.values()):
            delta = {}
        return {"index": choice.get("index", 0), "delta": delta}

    def end(self) -> list[Json]:
        """What was held back, once; nothing where the engine never said how it finished."""
        if self.ended or self.finish_reason is None:
            return []
        self.ended = True
        finish: Json = {"finish_reason": self.finish_reason, "index": 0, "delta": {}}
        chunks = [{**self.envelope, "choices": [finish]}]
        if self.wants_usage:
            usage = self.usage or invented_usage(self.reasoning_chars, self.visible_chars)
            chunks.append({**self.envelope, "choices": [{"index": 0, "delta": {}}], "usage": usage})
        return chunks


def invented_usage(reasoning_chars: int, visible_chars: int) -> Json:
    """Counts from characters, as a gateway makes them up. Their mark is `text_tokens`."""
    reasoning, text = reasoning_chars // 4, visible_chars // 4
    return {
        "completion_tokens": reasoning + text,
        "prompt_tokens": 20,
        "total_tokens": 20 + reasoning + text,
        "completion_tokens_details": {"reasoning_tokens": reasoning, "text_tokens": text},
    }
