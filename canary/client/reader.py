"""From the body's bytes to reads and events, one network read at a time, until somebody has seen enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from canary.client.connection import Mark
from canary.client.inflate import Coding, RoomExceededError, coding
from canary.client.redact import Redaction
from canary.core.observation import BYTE_CAP, Head, Read
from canary.core.stream import StreamEvent

if TYPE_CHECKING:
    from canary.wire import Decoder

StopRule: TypeAlias = Callable[[StreamEvent], str | None]
"""Fed each new event once, in order; a reason ends the observation. It may keep state."""

_EXACT_NS = 1_000_000  # an interval narrower than this is as good as a stamp


class Reader:
    """Grows while the answer comes in. `head` and `read` return why to stop, or None."""

    def __init__(self, *, decoder: Callable[[], Decoder], max_bytes: int, stop: StopRule | None = None) -> None:
        self.head: Head | None = None
        self.reads: list[Read] = []
        self.events: list[StreamEvent] = []
        self._new_decoder = decoder
        self._decoder = decoder()
        self._stop = stop
        self._max_bytes = self._raw_room = self._room = max_bytes
        self._coding: Coding = coding("")

    @property
    def unfinished(self) -> bool:
        """The content coding owes more bytes, whatever HTTP says."""
        return self._coding.unfinished

    def begin(self, head: Head) -> str | None:
        """Raises CannotInflateError."""
        self.head = head
        reason = self._take(self._decoder.head(head))
        self._coding = coding(head.headers.get("content-encoding", ""))
        return reason

    def read(self, mark: Mark, data: bytes, at: Callable[[int], float]) -> str | None:
        """`data` as HTTP frames it. Raises CorruptBodyError."""
        self._raw_room -= len(data)
        try:
            inflated = self._coding.feed(data, self._room)
        except RoomExceededError:
            inflated, self._raw_room = b"", -1
        if self._raw_room < 0:
            return f"{BYTE_CAP} of {self._max_bytes} bytes"
        self._room -= len(inflated)
        wide = 0 < mark.after_ns <= mark.at_ns - _EXACT_NS
        read = Read(at=at(mark.at_ns), data=inflated, after=at(mark.after_ns) if wide else None)
        self.reads.append(read)
        return self._take(self._decoder.feed(read))

    def close(self, at: float, redaction: Redaction) -> None:
        """Ends the decoder. An answer that echoes a secret is decoded again without it."""
        head = self.head and replace(self.head, headers={k: redaction.text(v) for k, v in self.head.headers.items()})
        body = b"".join(read.data for read in self.reads)
        clean = redaction.data(body)
        if clean != body or head != self.head:
            self._decode_again(head, clean)
        self.events += self._decoder.close(at)

    def _decode_again(self, head: Head | None, body: bytes) -> None:
        reads, self.reads, self.events, self._stop = self.reads, [], [], None
        self._decoder = self._new_decoder()
        if head is not None:
            self.head = head
            self._take(self._decoder.head(head))
        start = 0
        for old in reads:
            read = replace(old, data=body[start : start + len(old.data)])
            start += len(old.data)
            self.reads.append(read)
            self._take(self._decoder.feed(read))

    def _take(self, events: Iterable[StreamEvent]) -> str | None:
        """All are kept, so that a replay of the reads gives the same; none is shown after the first reason."""
        reason: str | None = None
        for event in events:
            self.events.append(event)
            if reason is None and self._stop is not None:
                reason = self._stop(event)
        return reason
