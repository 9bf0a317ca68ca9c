"""One stream on a time axis of so many columns: what each shows, wherever it is drawn.

Each column is a slice of time and shows the most telling thing that came in it: an error before visible text before
tool calls before reasoning before other events before keepalives before silence. Nothing is shown after the end.
"""

from __future__ import annotations

import math
from enum import IntEnum

from canary.core.observation import Observation
from canary.core.stream import (
    EventReceived,
    HeadersReceived,
    KeepAlive,
    ReasoningDelta,
    ServerError,
    StreamEvent,
    ToolCallDelta,
    VisibleDelta,
)


class Sign(IntEnum):
    """What a column shows; a higher one covers a lower one."""

    SILENCE = 0
    KEEPALIVE = 1
    OTHER = 2
    HEADERS = 3
    REASONING = 4
    TOOL = 5
    VISIBLE = 6
    ERROR = 7


MEANINGS = {
    Sign.SILENCE: "silence",
    Sign.KEEPALIVE: "keepalive",
    Sign.OTHER: "other event",
    Sign.HEADERS: "headers",
    Sign.REASONING: "reasoning",
    Sign.TOOL: "tool call",
    Sign.VISIBLE: "visible",
    Sign.ERROR: "error",
}
_SIGNS: dict[type, Sign] = {
    HeadersReceived: Sign.HEADERS,
    KeepAlive: Sign.KEEPALIVE,
    EventReceived: Sign.OTHER,
    ReasoningDelta: Sign.REASONING,
    ToolCallDelta: Sign.TOOL,
    VisibleDelta: Sign.VISIBLE,
    ServerError: Sign.ERROR,
}


def lane(observation: Observation, *, span_s: float, columns: int) -> tuple[Sign, ...]:
    """One sign a column over [0, span_s], up to the end of the observation."""
    shown = column(observation.end.at, span_s, columns) + 1
    signs = [Sign.SILENCE] * shown
    for event in observation.events:
        index = min(column(event.at, span_s, columns), shown - 1)
        signs[index] = max(signs[index], _sign(event))
    return tuple(signs)


def column(at: float, span_s: float, columns: int) -> int:
    return min(int(max(at, 0.0) / span_s * columns), columns - 1)


def round_step(least_s: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least_s`."""
    power = 10.0 ** math.floor(math.log10(least_s))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least_s)


def _sign(event: StreamEvent) -> Sign:
    if isinstance(event, VisibleDelta) and not event.text.strip():
        return Sign.OTHER
    return _SIGNS.get(type(event), Sign.SILENCE)
