"""When a clock ticked, and whether the stream's own end closed its last gap.

A timer sees one alphabet only: bytes, events, text, or text that a person can read. These rules say what is in each:

- BYTE: the header block and every body read. A comment, a blank or half an event is a byte like any other.
- EVENT: a dispatched event, whatever it carries. A comment is none.
- TOKEN: text that is not empty, in any channel. `ReasoningPresent` is no tick: there is no text in it, and the timers
  known to count at this level wait for a text delta. To a timer of events it counts as its event.
- VISIBLE: answer text that a person can see: not only white space or signs without a shape. Text that a later
  `Relabelled` shows to be reasoning was never an answer; it stays a token. A refusal or a tool call is no answer text.

An end closes the last gap only if the stream was whole: HTTP's end *and* the stream's own last word. A stream that HTTP
calls complete without one was cut (Caddy, Fastly and every close-delimited leg disguise a cut like that), so all we
know of its last gap is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Interrupted,
    Observation,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    HeadersReceived,
    ReasoningDelta,
    RefusalDelta,
    Relabelled,
    ServerError,
    StreamEvent,
    Terminator,
    ToolCallDelta,
    Violation,
    ViolationKind,
    VisibleDelta,
)
from canary.core.timeout import Clock


class OpenEnd(StrEnum):
    """Why the last gap of an observation is only a lower bound."""

    NO_LAST_WORD = "no_last_word"  # HTTP calls it complete; the stream does not
    TRUNCATED = "truncated"
    DISCONNECTED = "disconnected"
    DEADLINE = "deadline"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    SERVER_ERROR = "server_error"  # an error object took the place of what was to come
    NOT_SENT = "not_sent"  # there was no request, so there was no gap


_SSE_STARTS = (b":", b"data", b"event", b"id", b"retry")  # no JSON value begins like one of these

_BROKEN_OFF: Mapping[type, OpenEnd] = {
    Truncated: OpenEnd.TRUNCATED,
    Disconnected: OpenEnd.DISCONNECTED,
    DeadlineExceeded: OpenEnd.DEADLINE,
    StoppedByUs: OpenEnd.STOPPED,
    Interrupted: OpenEnd.INTERRUPTED,
    ConnectFailed: OpenEnd.NOT_SENT,
}


def ticks(observation: Observation, clock: Clock) -> tuple[float, ...]:
    """The instants at which `clock` ticked, in the order of the events; several may be equal."""
    events = observation.events
    if clock is Clock.VISIBLE:
        relabelled = [index for index, event in enumerate(events) if isinstance(event, Relabelled)]
        events = events[relabelled[-1] :] if relabelled else events
    counts = _COUNTS[clock]
    return tuple(event.at for event in events if counts(event))


def open_end(observation: Observation) -> OpenEnd | None:
    """Why the last gap is censored; None where the end closed it. An error status is a complete answer."""
    if isinstance(observation.end, Completed):
        if _has(observation, ServerError):
            return OpenEnd.SERVER_ERROR
        whole = _has_last_word(observation) or _is_json_document(observation)
        return None if whole else OpenEnd.NO_LAST_WORD
    return _BROKEN_OFF.get(type(observation.end))


def ends_whole(observation: Observation) -> bool:
    """Whether the stream's own end closed its last gap."""
    return open_end(observation) is None


def answer_over(observation: Observation) -> bool:
    """Whether nothing of the answer can be missing, however the connection ended.

    A connection that breaks, or stays open, after finish reason and terminator takes nothing away from the answer.
    """
    if ends_whole(observation):
        return True
    if not _has(observation, FinishReason) or _has(observation, ServerError):
        return False
    return _has(observation, Terminator) or _is_json_document(observation)


def _has_last_word(observation: Observation) -> bool:
    return _has(observation, Terminator) or _has(observation, FinishReason)


def _has(observation: Observation, kind: type[StreamEvent]) -> bool:
    return any(isinstance(event, kind) for event in reversed(observation.events))


def _is_json_document(observation: Observation) -> bool:
    """One JSON body needs no last word: it parses or it does not. An empty one is none, nor is a stream so labelled."""
    exchange = observation.exchange
    media_type = (
        exchange.head.headers.get("content-type", "").partition(";")[0].strip().lower() if exchange.head else ""
    )
    if media_type != "application/json" or not _has(observation, EventReceived):
        return False
    start = b"".join(read.data for read in exchange.reads[:64]).removeprefix(b"\xef\xbb\xbf").lstrip()
    broken = any(isinstance(event, Violation) and event.kind is ViolationKind.NOT_JSON for event in observation.events)
    return not broken and not start.startswith(_SSE_STARTS)


def _is_byte(event: StreamEvent) -> bool:
    return isinstance(event, HeadersReceived | BytesReceived)


def _is_event(event: StreamEvent) -> bool:
    return isinstance(event, EventReceived)


def _is_token(event: StreamEvent) -> bool:
    return isinstance(event, ReasoningDelta | VisibleDelta | ToolCallDelta | RefusalDelta) and bool(event.text)


def _is_visible(event: StreamEvent) -> bool:
    return isinstance(event, VisibleDelta) and event.legible


_COUNTS: Mapping[Clock, Callable[[StreamEvent], bool]] = {
    Clock.BYTE: _is_byte,
    Clock.EVENT: _is_event,
    Clock.TOKEN: _is_token,
    Clock.VISIBLE: _is_visible,
}
