"""The OpenAI chat completions protocol as it is really spoken: by OpenAI, vLLM, SGLang, LiteLLM, OpenRouter and others.

A 200 is no success and `[DONE]` is no success, so every form of error, violation and keepalive is a fact of its own.
Only the choice with index 0 is read; what other choices hold is no part of the answer that we asked for. After
`[DONE]` clients stop reading, so what follows it is flagged and not read either.

Stamps: all events of a read carry its `at`. What only the end of the body reveals (a JSON document, an unfinished
event, text held back as a possible mark) carries the stamp of the last read, because that is when its bytes came; the
later end of the connection must not look like a sign of life.
"""

from __future__ import annotations

import re

from canary.core.body import merged
from canary.core.observation import Head, Json, Read
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    HeadersReceived,
    KeepAlive,
    KeepAliveForm,
    ServerError,
    StreamEvent,
    Terminator,
    Violation,
    ViolationKind,
)
from canary.wire.body import EVENT_STREAM, Body, BodyItem, BodyKind, Document, media_type
from canary.wire.chat_message import ChatMessage
from canary.wire.errors import error_body, server_error
from canary.wire.loose_json import NotJsonError, Object, excerpt, object_of, objects_of, parse, parse_first, text_of
from canary.wire.prompt import Prompt
from canary.wire.sse import SseBlankLine, SseComment, SseEmptyEvent, SseEvent, SseUnknownLine

_DONE = "[DONE]"
_PING = re.compile(r"\W*(?:ping|pong|keep[-_ ]?alive|heart[-_ ]?beat)\W*", re.IGNORECASE)


def encode(prompt: Prompt) -> dict[str, Json]:
    """The request body. Objects in `extra` are merged into objects of the same name; anything else replaces."""
    body: dict[str, Json] = {
        "model": prompt.model,
        "messages": [{"role": "user", "content": prompt.text}],
        "stream": prompt.stream,
    }
    if prompt.stream:
        body["stream_options"] = {"include_usage": True}
    if prompt.max_tokens is not None:
        body["max_tokens"] = prompt.max_tokens
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    return merged(body, prompt.extra)


class Decoder:
    """One response, stream or document. Never raises, whatever the bytes."""

    def __init__(self) -> None:
        self._body = Body()
        self._promised_stream = False
        self._status = 200
        self._last_read_at: float | None = None
        self._message = ChatMessage()
        self._done = False
        self._flagged_after_done = False
        self._error_seen = False

    def head(self, head: Head) -> list[StreamEvent]:
        content_type = head.headers.get("content-type", "")
        self._body = Body(content_type=content_type)
        self._promised_stream = media_type(content_type) == EVENT_STREAM
        self._status = head.status
        return [HeadersReceived(at=head.at, status=head.status)]

    def feed(self, read: Read) -> list[StreamEvent]:
        if not read.data:
            return []
        self._last_read_at = read.at
        events: list[StreamEvent] = [BytesReceived(at=read.at, size=len(read.data))]
        for item in self._body.feed(read.data, read.at):
            events += self._item(item)
        return events

    def close(self, at: float) -> list[StreamEvent]:
        """`at` is used only where nothing was read at all."""
        flushed_at = at if self._last_read_at is None else self._last_read_at
        events = [event for item in self._body.close(flushed_at) for event in self._item(item)]
        return [*events, *self._message.flush(flushed_at)]

    def _item(self, item: BodyItem) -> list[StreamEvent]:
        match item:
            case SseEvent():
                return self._event(item)
            case SseUnknownLine():
                return self._unknown_line(item)
            case Document():
                return self._document(item)
            case Violation():
                return [item]
            case _:
                return _keepalive(item)

    def _event(self, event: SseEvent) -> list[StreamEvent]:
        data, at = event.data.strip(), event.at
        if not event.complete and not _is_whole(data):
            return []  # cut in mid-event; the missing blank line has been reported
        received = EventReceived(at=at)
        if self._done:
            return [received, *self._after_done(data, at)]
        if data == _DONE:
            self._done = True
            return [*self._message.flush(at), received, Terminator(at=at)]
        return [received, *self._data(data, event.event, at)]

    def _after_done(self, data: str, at: float) -> list[StreamEvent]:
        if self._flagged_after_done:
            return []
        self._flagged_after_done = True
        return [Violation(at=at, kind=ViolationKind.DATA_AFTER_TERMINATOR, detail=excerpt(data))]

    def _data(self, data: str, name: str, at: float) -> list[StreamEvent]:
        """What the data of one dispatched event says."""
        try:
            value = parse(data)
        except NotJsonError:
            return self._not_json(data, name, at)
        document = object_of(value)
        if document is None:
            return [Violation(at=at, kind=ViolationKind.NOT_AN_OBJECT, detail=excerpt(data))]
        if "choices" not in document and any(map(_is_ping, (name, document.get("type"), document.get("event")))):
            return [KeepAlive(at=at, form=KeepAliveForm.PING_EVENT)]
        events = self._facts(document, at, raw=data)
        if name == "error" and not any(isinstance(event, ServerError) for event in events):
            events.append(server_error({"error": document}, at=at, raw=data) or error_body(data, at=at))
        return events

    def _not_json(self, data: str, name: str, at: float) -> list[StreamEvent]:
        if name == "error":
            return [error_body(data, at=at)]
        if _is_ping(name):
            return [KeepAlive(at=at, form=KeepAliveForm.PING_EVENT)]
        if data.startswith(":") or _is_ping(data):
            flaw = Violation(at=at, kind=ViolationKind.KEEPALIVE_AS_DATA, detail=excerpt(data))
            return [KeepAlive(at=at, form=KeepAliveForm.WRAPPED_COMMENT), flaw]
        return [Violation(at=at, kind=ViolationKind.NOT_JSON, detail=excerpt(data))]

    def _unknown_line(self, item: SseUnknownLine) -> list[StreamEvent]:
        """An error written into a stream without any framing: bare JSON, or a proxy's page."""
        at, line = item.at, item.line.removeprefix("error:").strip()
        if self._error_seen or not line.startswith(("{", "<")):
            return []
        try:
            document = object_of(parse(line))
        except NotJsonError:
            document = None
        if document and item.line.startswith("error:"):  # older llama.cpp: a field that no grammar knows
            document = {"error": document}
        error = server_error(document, at=at, raw=line) if document else None
        if line.lower().startswith(("<!doctype html", "<html")):
            error = error_body(line, at=at)
        if error is None:
            return []
        self._error_seen = True
        return [Violation(at=at, kind=ViolationKind.NOT_JSON, detail="a line outside any event"), error]

    def _document(self, item: Document) -> list[StreamEvent]:
        at, text = item.at, item.text
        if item.kind is BodyKind.TEXT:
            return self._text(text, at)
        events: list[StreamEvent] = []
        if self._promised_stream and self._status < 400:
            events.append(Violation(at=at, kind=ViolationKind.JSON_FOR_STREAM))
        try:
            value, rest = parse_first(text)
        except NotJsonError:
            return [*events, *self._text(text, at)]
        if rest:
            events.append(Violation(at=at, kind=ViolationKind.NOT_JSON, detail=excerpt(rest)))
        document = object_of(value) or next(iter(objects_of(value)), None)
        if document is None or isinstance(value, list):
            events.append(Violation(at=at, kind=ViolationKind.NOT_AN_OBJECT, detail=excerpt(text)))
        facts = self._facts(document, at, raw=text, whole=True) if document is not None else []
        if self._status >= 400 and not any(isinstance(event, ServerError) for event in facts):
            message = excerpt(text_of((document or {}).get("message")) or text)
            facts.append(ServerError(at=at, message=message))
        return [*events, EventReceived(at=at), *facts]

    def _text(self, text: str, at: float) -> list[StreamEvent]:
        if self._status >= 400 or text.lstrip().startswith("<"):
            return [error_body(text, at=at)]
        return [Violation(at=at, kind=ViolationKind.NOT_JSON, detail=excerpt(text))]

    def _facts(self, document: Object, at: float, *, raw: str, whole: bool = False) -> list[StreamEvent]:
        events = self._message.read(document, at, whole=whole)
        error = server_error(document, at=at, raw=raw)
        if error is None and self._message.last_finish == "error":
            error = ServerError(at=at, message="finish_reason is error")
        return events if error is None else [*events, error]


def _keepalive(item: SseComment | SseBlankLine | SseEmptyEvent) -> list[StreamEvent]:
    at = item.at
    if isinstance(item, SseEmptyEvent):
        detail = excerpt(item.event or ", ".join(item.fields))
        flaw = Violation(at=at, kind=ViolationKind.EVENT_WITHOUT_DATA, detail=detail)
        return [KeepAlive(at=at, form=KeepAliveForm.EMPTY_EVENT), flaw]
    form = KeepAliveForm.COMMENT if isinstance(item, SseComment) else KeepAliveForm.BLANK
    return [KeepAlive(at=at, form=form)]


def _is_whole(data: str) -> bool:
    if data == _DONE:
        return True
    try:
        parse(data)
    except NotJsonError:
        return False
    return True


def _is_ping(value: Json) -> bool:
    return isinstance(value, str) and len(value) < 40 and _PING.fullmatch(value) is not None
