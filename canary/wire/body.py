"""What a response body is, told by its first bytes rather than by its promise.

A content type is what some program in the path meant to send. Gateways answer a stream with a JSON document, proxies
answer with an HTML page under any type, and engines send blank lines ahead of a JSON body to keep the connection open
(DeepSeek does, under load). So the first byte that is not white space decides, and the content type only where that
leaves a choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from canary.core.stream import Violation, ViolationKind
from canary.wire.sse import LIMIT_BYTES, SseBlankLine, SseDecoder, SseItem

EVENT_STREAM = "text/event-stream"

_BOM = b"\xef\xbb\xbf"
_SSE_STARTS = (b":", b"data:", b"event:", b"id:", b"retry:")
_LEADING_SPACE = re.compile(rb"[ \t\r\n]*")
_TEXT_LIMIT_BYTES = 16 * 2**10  # a title and a message stand at the top


class BodyKind(StrEnum):
    SSE = "sse"
    JSON = "json"
    TEXT = "text"  # HTML or plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole body that is not a stream of events."""

    at: float
    kind: BodyKind
    text: str


BodyItem: TypeAlias = SseItem | Document


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def sniff(start: bytes, content_type: str) -> BodyKind | None:
    """The kind of a body that begins with `start`, white space stripped; None = more bytes are needed."""
    if not start:
        return None
    if start[:1] in b"{[":
        return BodyKind.JSON
    if start[:1] == b"<":
        return BodyKind.TEXT
    kind = media_type(content_type)
    if kind == EVENT_STREAM or start.startswith(_SSE_STARTS):
        return BodyKind.SSE
    if any(field.startswith(start) for field in _SSE_STARTS):
        return None
    return BodyKind.JSON if kind.endswith("json") else BodyKind.TEXT


class Body:
    """Decides what the body is, then hands its bytes to the right reader. Memory is bounded by `limit`."""

    def __init__(self, *, content_type: str = "", limit: int = LIMIT_BYTES) -> None:
        self._content_type = content_type
        self._limit = limit
        self._start = b""  # bytes that do not yet tell the kind
        self._bom: bytes | None = None  # b"" = looked for and not there
        self._indented = False
        self._sse = SseDecoder(limit=limit)
        self._document = bytearray()
        self._too_long = False
        self.kind: BodyKind | None = None

    def feed(self, chunk: bytes, at: float) -> list[BodyItem]:
        if self.kind is None:
            return self._decide(chunk, at)
        if self.kind is BodyKind.SSE:
            return [*self._sse.feed(chunk, at)]
        self._collect(chunk)
        return []

    def close(self, at: float) -> list[BodyItem]:
        """What is known only at the end: the document, or an unfinished event."""
        items: list[BodyItem] = []
        if self.kind is None and self._start:
            self.kind = BodyKind.SSE if media_type(self._content_type) == EVENT_STREAM else BodyKind.TEXT
            items += self.feed(self._start, at)
        if self.kind is BodyKind.SSE:
            items += self._sse.close(at)
        elif self._too_long:
            items.append(Violation(at=at, kind=ViolationKind.EVENT_TOO_LONG, detail=f"more than {self._limit} bytes"))
        elif self.kind is not None:
            items += self._whole_document(at, self.kind)
        return items

    def _decide(self, chunk: bytes, at: float) -> list[BodyItem]:
        start = self._start + chunk
        if self._bom is None:
            if start != _BOM and _BOM.startswith(start):
                self._start = start
                return []
            self._bom = _BOM if start.startswith(_BOM) else b""
            start = start.removeprefix(_BOM)
        space, self._start = self._split_space(start)
        items: list[BodyItem] = [SseBlankLine(at=at)] * space.count(b"\n")
        self.kind = sniff(self._start, self._content_type)
        if self.kind is not None:
            start, self._start = self._start, b""
            indent = b" " if self._indented and self.kind is BodyKind.SSE else b""  # it makes the first field unknown
            items += self.feed(self._bom + indent + start, at)
        return items

    def _split_space(self, start: bytes) -> tuple[bytes, bytes]:
        match = _LEADING_SPACE.match(start)
        space = match.group() if match else b""
        if space:
            self._indented = not space.endswith((b"\n", b"\r"))
        return space, start[len(space) :]

    def _collect(self, chunk: bytes) -> None:
        limit = _TEXT_LIMIT_BYTES if self.kind is BodyKind.TEXT else self._limit
        room = limit - len(self._document)
        self._document += chunk[:room]
        if len(chunk) > room and self.kind is BodyKind.JSON:
            self._too_long = True
            self._document.clear()

    def _whole_document(self, at: float, kind: BodyKind) -> list[BodyItem]:
        raw = bytes(self._document).removeprefix(_BOM)
        document = Document(at=at, kind=kind, text=raw.decode(errors="replace"))
        if kind is BodyKind.TEXT:
            return [document]  # it may be cut at the limit, and pages of proxies come in any encoding
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            return [Violation(at=at, kind=ViolationKind.INVALID_UTF8, detail=error.reason), document]
        return [document]
