"""From a raw exchange to an observation. A live run and a replay end in the same `settle`, so they cannot differ."""

from __future__ import annotations

from collections.abc import Sequence

from canary.core.observation import End, Exchange, HttpRejected, Interrupted, Observation
from canary.core.stream import (
    ReasoningDelta,
    ReasoningForm,
    Relabelled,
    ServerError,
    StreamEvent,
    Violation,
    ViolationKind,
    VisibleDelta,
)
from canary.wire import WIRES
from canary.wire.body import BodyKind, media_type, sniff
from canary.wire.loose_json import object_of

_SNIFF_BYTES = 4096


class UnknownProtocolError(ValueError):
    """The exchange speaks a protocol that has no row in `WIRES`."""


def decode(exchange: Exchange) -> Observation:
    """Replays an exchange through its protocol's decoder."""
    wire = WIRES.get(exchange.protocol)
    if wire is None:
        msg = f"unknown protocol {exchange.protocol!r}; known are {', '.join(sorted(WIRES))}"
        raise UnknownProtocolError(msg)
    decoder = wire.decoder()
    events = decoder.head(exchange.head) if exchange.head else []
    for read in exchange.reads:
        events += decoder.feed(read)
    events += decoder.close(exchange.end.at)
    return settle(exchange, events)


def settle(exchange: Exchange, events: Sequence[StreamEvent]) -> Observation:
    """The last step, once all is known: text relabelled by a late closing mark, and how it ended."""
    settled = _relabel(events)
    if _document_for_stream(exchange, settled):
        settled.append(Violation(at=settled[-1].at, kind=ViolationKind.JSON_FOR_STREAM))
    return Observation(exchange=exchange, events=tuple(settled), end=_end(exchange, settled))


def _relabel(events: Sequence[StreamEvent]) -> list[StreamEvent]:
    """Visible text before a `Relabelled` becomes reasoning; the marker stays."""
    settled: list[StreamEvent] = []
    for event in events:
        if isinstance(event, Relabelled):
            settled = [_as_reasoning(seen, event.tag) if isinstance(seen, VisibleDelta) else seen for seen in settled]
        settled.append(event)
    return settled


def _as_reasoning(delta: VisibleDelta, tag: str) -> ReasoningDelta:
    return ReasoningDelta(
        at=delta.at, text=delta.text, source=tag, form=ReasoningForm.UNOPENED_TAG, tokens=delta.tokens
    )


def _document_for_stream(exchange: Exchange, events: Sequence[StreamEvent]) -> bool:
    """Whether one JSON document answered a request for a stream, and its decoder could not know."""
    request, head = object_of(exchange.request) or {}, exchange.head
    if request.get("stream") is not True or head is None or head.status >= 400:
        return False
    content_type = head.headers.get("content-type", "")
    start = b"".join(read.data for read in exchange.reads[:64])[:_SNIFF_BYTES].lstrip()
    known = any(isinstance(event, Violation) and event.kind is ViolationKind.JSON_FOR_STREAM for event in events)
    return not known and media_type(content_type) == "application/json" and sniff(start, content_type) is BodyKind.JSON


def _end(exchange: Exchange, events: Sequence[StreamEvent]) -> End:
    """An error status is a rejection, whatever became of its body, unless it was we who broke off."""
    end, head = exchange.end, exchange.head
    if head is None or head.status < 400 or isinstance(end, Interrupted):
        return end
    message = next((event.message for event in events if isinstance(event, ServerError)), "")
    content_type = head.headers.get("content-type", "")
    return HttpRejected(at=end.at, status=head.status, message=message, content_type=content_type)
