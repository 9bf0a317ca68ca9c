"""Server-sent events from bytes, by the grammar of the WHATWG HTML standard, section 9.2.6.

Three things are done that the grammar leaves to the reader, because clients differ on them and a monitor must see them:

- Comments, blank lines, unknown fields and events without data are items too. They are bytes that reset some timers,
  and some clients break on them; a conforming parser only never dispatches them.
- A line may end in LF, CR or CRLF. A CR at the end of a read ends its line at once; if a LF opens the next read it is
  swallowed. Waiting for it would stamp the event one read late.
- What is unfinished when the stream ends is given out, marked `complete=False`, with a violation. The standard drops
  it; real clients do either.

Memory is bounded by `limit` per line and per event; what is longer is dropped and reported. Lines are split before
they are decoded, so that a character cut by a read needs no care.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from canary.core.stream import Violation, ViolationKind

LIMIT_BYTES = 8 * 2**20

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_MAX_RETRY_DIGITS = 12  # more digits than any delay in ms has


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEvent:
    """A dispatched event. `event` is "" where the stream gave no type; `complete` is False if its end never came."""

    at: float
    data: str
    event: str = ""
    id: str = ""
    retry_ms: int | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEmptyEvent:
    """A block with fields but without data: `event: ping` and a blank line. `fields` are the names it had."""

    at: float
    event: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SseComment:
    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SseBlankLine:
    """A blank line that ends nothing: neither an event nor a comment stood before it."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SseUnknownLine:
    """A line that the grammar ignores: no field that it knows. Servers write bare error bodies this way."""

    at: float
    line: str


SseItem: TypeAlias = SseEvent | SseEmptyEvent | SseComment | SseBlankLine | SseUnknownLine | Violation


class SseDecoder:
    """Bytes in, items out, each with the stamp of the read that completed it. Never raises."""

    def __init__(self, *, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._line = bytearray()
        self._line_dropped = False
        self._first_line = True
        self._after_cr = False
        self._last_id = ""
        self._reset_block()

    def feed(self, chunk: bytes, at: float) -> list[SseItem]:
        if not chunk:
            return []
        items: list[SseItem] = []
        start = 1 if self._after_cr and chunk.startswith(b"\n") else 0
        for end in _LINE_END.finditer(chunk, start):
            self._extend(chunk[start : end.start()])
            start = end.end()
            items += self._end_line(at)
        self._extend(chunk[start:])
        self._after_cr = chunk.endswith(b"\r")
        return items

    def close(self, at: float) -> list[SseItem]:
        """What was unfinished at the end of the stream. `at` is the stamp it gets."""
        items = self._end_line(at) if self._line or self._line_dropped else []
        if not self._fields and not self._dropped:
            return items
        items.append(Violation(at=at, kind=ViolationKind.MISSING_FINAL_BLANK_LINE))
        if self._data or self._dropped:
            items += self._dispatch(at, complete=False)
        return items

    def _reset_block(self) -> None:
        self._data: list[str] = []
        self._size = 0
        self._event = ""
        self._retry_ms: int | None = None
        self._fields: list[str] = []
        self._touched = False  # a comment or an unknown line stood in this block
        self._dropped = False

    def _extend(self, piece: bytes) -> None:
        if self._line_dropped:
            return
        if len(self._line) + len(piece) > self._limit:
            self._line_dropped = True
            self._line.clear()
        else:
            self._line += piece

    def _end_line(self, at: float) -> list[SseItem]:
        if self._line_dropped:
            self._line_dropped = self._first_line = False
            self._dropped = True
            return []
        raw = bytes(self._line)
        self._line.clear()
        if self._first_line:
            self._first_line = False
            raw = raw.removeprefix(_BOM)
        if not raw:
            return self._dispatch(at, complete=True)
        try:
            return self._take_line(raw.decode(), at)
        except UnicodeDecodeError as error:
            flaw = Violation(at=at, kind=ViolationKind.INVALID_UTF8, detail=error.reason)
            return [flaw, *self._take_line(raw.decode(errors="replace"), at)]

    def _take_line(self, line: str, at: float) -> list[SseItem]:
        name, colon, value = line.partition(":")
        if colon and not name:
            self._touched = True
            return [SseComment(at=at, text=value.removeprefix(" "))]
        if name not in {"data", "event", "id", "retry"}:
            self._touched = True
            return [SseUnknownLine(at=at, line=line)]
        if name not in self._fields:
            self._fields.append(name)
        self._take_field(name, value.removeprefix(" "))
        return []

    def _take_field(self, name: str, value: str) -> None:
        if name == "data":
            self._size += len(value) + 1
            if self._size > self._limit:
                self._dropped = True
                self._data.clear()
            if not self._dropped:
                self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self._retry_ms = int(value)

    def _dispatch(self, at: float, *, complete: bool) -> list[SseItem]:
        item: SseItem | None = SseBlankLine(at=at)
        if self._dropped:
            item = Violation(at=at, kind=ViolationKind.EVENT_TOO_LONG, detail=f"more than {self._limit} bytes")
        elif self._data:
            item = SseEvent(
                at=at,
                data="\n".join(self._data),
                event=self._event,
                id=self._last_id,
                retry_ms=self._retry_ms,
                complete=complete,
            )
        elif self._fields:
            item = SseEmptyEvent(at=at, event=self._event, fields=tuple(self._fields))
        elif self._touched:
            item = None
        self._reset_block()
        return [] if item is None else [item]
