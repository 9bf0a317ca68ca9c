"""Observations written as a script: what arrives when. For tests of pure code; nothing here touches a socket."""

from __future__ import annotations

from datetime import UTC, datetime

from canary.core.observation import Completed, End, Exchange, Head, Observation
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    HeadersReceived,
    KeepAlive,
    KeepAliveForm,
    ReasoningDelta,
    Role,
    StreamEvent,
    Terminator,
    VisibleDelta,
)


def headers(at: float, status: int = 200) -> list[StreamEvent]:
    return [HeadersReceived(at=at, status=status)]


def ping(at: float) -> list[StreamEvent]:
    return [BytesReceived(at=at, size=8), KeepAlive(at=at, form=KeepAliveForm.COMMENT)]


def half(at: float) -> list[StreamEvent]:
    return [BytesReceived(at=at, size=2)]


def role(at: float) -> list[StreamEvent]:
    return [BytesReceived(at=at, size=80), EventReceived(at=at), Role(at=at, role="assistant")]


def think(at: float, text: str = "hm") -> list[StreamEvent]:
    return [BytesReceived(at=at, size=90), EventReceived(at=at), ReasoningDelta(at=at, text=text, source="reasoning")]


def say(at: float, text: str = "42") -> list[StreamEvent]:
    return [BytesReceived(at=at, size=90), EventReceived(at=at), VisibleDelta(at=at, text=text)]


def finish(at: float) -> list[StreamEvent]:
    return [BytesReceived(at=at, size=90), EventReceived(at=at), FinishReason(at=at, reason="stop")]


def done(at: float) -> list[StreamEvent]:
    return [BytesReceived(at=at, size=14), EventReceived(at=at), Terminator(at=at)]


def every(step_s: float, first: float, last: float, event: object = say) -> list[StreamEvent]:
    """`event(first)`, `event(first + step_s)` … up to `last`, stamps rounded to the millisecond."""
    count = round((last - first) / step_s) + 1
    stamps = [round(first + index * step_s, 3) for index in range(count)]
    return [piece for at in stamps if at <= last for piece in event(at)]


def answer(
    *parts: list[StreamEvent],
    end: End | None = None,
    content_type: str | None = "text/event-stream",
    connect_s: float | None = None,
    tls_s: float | None = None,
) -> Observation:
    """An observation of `parts`; without `end`, completed with the last event. No head where no headers came."""
    events = tuple(event for part in parts for event in part)
    end = end or Completed(at=events[-1].at)
    first = next((event for event in events if isinstance(event, HeadersReceived)), None)
    known = {} if content_type is None else {"content-type": content_type}
    exchange = Exchange(
        protocol="openai-chat",
        url="http://hop/v1/chat/completions",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        request={},
        end=end,
        head=Head(at=first.at, status=first.status, headers=known) if first else None,
        connect_s=connect_s,
        tls_s=tls_s,
    )
    return Observation(exchange=exchange, events=events, end=end)
