"""One stream on a time axis, for a terminal of any width.

Each column is a slice of time and shows the most telling thing that came in it: visible text before reasoning before
other events before keepalives before silence. The marks differ in shape as well as in colour, so that the picture
survives a log file and a colour-blind reader. Timers are lines below the stream: from where the gap began to where the
timer cut, or as far as the gap went.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from canary.analysis.forecast import forecast
from canary.checks.idle_timeout import label
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
from canary.core.timeout import Fires, OpenUntil, Survives, Timeout
from canary.core.units import format_duration

LABEL_COLUMNS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a column shows; a higher rank covers a lower one."""

    rank: int
    glyph: str
    style: str
    meaning: str


SILENCE = Mark(rank=0, glyph="·", style="dim", meaning="silence")
KEEPALIVE = Mark(rank=1, glyph="˙", style="yellow", meaning="keepalive")
HEADERS = Mark(rank=2, glyph="╷", style="blue", meaning="headers")
OTHER = Mark(rank=2, glyph="-", style="dim", meaning="other event")
REASONING = Mark(rank=3, glyph="░", style="magenta", meaning="reasoning")
TOOL = Mark(rank=4, glyph="▒", style="cyan", meaning="tool call")
VISIBLE = Mark(rank=5, glyph="█", style="green", meaning="visible")
ERROR = Mark(rank=6, glyph="✗", style="bold red", meaning="error")

_MARKS: dict[type, Mark] = {
    HeadersReceived: HEADERS,
    KeepAlive: KEEPALIVE,
    EventReceived: OTHER,
    ReasoningDelta: REASONING,
    ToolCallDelta: TOOL,
    VisibleDelta: VISIBLE,
    ServerError: ERROR,
}


def timeline(observation: Observation, timers: Sequence[Timeout], *, width: int) -> list[Text]:
    """The stream, one line per timer, the axis and a legend; each line at most `width` columns."""
    columns = max(width - LABEL_COLUMNS, 10)
    cuts = [cut.at for timer in timers if isinstance(cut := forecast(timer, observation), Fires)]
    span_s = max([observation.end.at, *cuts, 0.001])
    stream = stream_row("stream", observation, span_s=span_s, columns=columns)
    return [
        stream,
        *(timer_row(timer, observation, span_s=span_s, columns=columns) for timer in timers),
        axis_row(span_s=span_s, columns=columns),
        legend([stream]),
    ]


def stream_row(
    name: str, observation: Observation, *, span_s: float, columns: int, label_columns: int = LABEL_COLUMNS
) -> Text:
    """One observation over [0, span_s]; nothing is drawn after its end."""
    shown = _column(observation.end.at, span_s, columns) + 1
    marks = [SILENCE] * shown
    for event in observation.events:
        mark = _mark(event)
        index = min(_column(event.at, span_s, columns), shown - 1)
        if mark is not None and mark.rank > marks[index].rank:
            marks[index] = mark
    row = _label(name, label_columns)
    for mark in marks:
        row.append(mark.glyph, style=mark.style)
    return row


def _mark(event: StreamEvent) -> Mark | None:
    if isinstance(event, VisibleDelta) and not event.text.strip():
        return OTHER
    return _MARKS.get(type(event))


def axis_row(*, span_s: float, columns: int, label_columns: int = LABEL_COLUMNS) -> Text:
    """Ticks at round times, about one every 12 columns."""
    step_s = _round_step(span_s * 12 / columns)
    line = [" "] * columns
    tick_s, free_from = 0.0, 0
    while tick_s <= span_s:
        index, words = _column(tick_s, span_s, columns), f"{tick_s:g}s"
        if index >= free_from and index + len(words) <= columns:
            line[index : index + len(words)] = words
            free_from = index + len(words) + 1
        tick_s = round(tick_s + step_s, 9)
    return _label("", label_columns).append("".join(line).rstrip(), style="dim")


def legend(rows: Iterable[Text], *, label_columns: int = LABEL_COLUMNS) -> Text:
    """What the marks mean that occur in `rows`."""
    shown = "".join(row.plain[label_columns:] for row in rows)
    line = _label("", label_columns)
    for mark in sorted([SILENCE, *_MARKS.values()], key=lambda mark: -mark.rank):
        if mark.glyph in shown:
            line.append(mark.glyph, style=mark.style).append(f" {mark.meaning}  ", style="dim")
    line.rstrip()
    return line


def timer_row(
    timer: Timeout, observation: Observation, *, span_s: float, columns: int, label_columns: int = LABEL_COLUMNS
) -> Text:
    """What `timer` makes of the stream: a line over its fatal or worst gap, and the numbers where there is room."""
    match forecast(timer, observation):
        case Fires(at=at, gap_from=gap_from):
            style, tip, words, stop_s = "red", "✂", f"cut at {format_duration(at)}", at
        case Survives(worst_gap_s=gap_s, gap_from=gap_from):
            style, tip, stop_s = "green", "┤", gap_from + gap_s
            words = f"{format_duration(gap_s)} of {format_duration(timer.limit_s)}"
        case OpenUntil(seen_gap_s=gap_s, gap_from=gap_from):
            style, tip, stop_s = "yellow", "?", gap_from + gap_s
            words = f"still open after {format_duration(gap_s)} of {format_duration(timer.limit_s)}"
    start = _column(max(gap_from, 0.0), span_s, columns)
    stop = max(_column(stop_s, span_s, columns), start)
    bar = "├" + "─" * (stop - start - 1) + tip
    row = _label(label(timer), label_columns)
    if start + len(bar) + len(words) < columns:
        return row.append(f"{' ' * start}{bar} {words}", style=style)
    if len(words) < start:
        return row.append(f"{words.rjust(start - 1)} {bar}", style=style)
    return row.append(f"{' ' * start}{bar}", style=style)


def _label(name: str, columns: int = LABEL_COLUMNS) -> Text:
    shown = name if len(name) < columns else name[: columns - 2] + "…"
    return Text(shown.ljust(columns), style="bold", no_wrap=True)


def _column(at: float, span_s: float, columns: int) -> int:
    return min(int(max(at, 0.0) / span_s * columns), columns - 1)


def _round_step(least_s: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least_s`."""
    power = 10.0 ** math.floor(math.log10(least_s))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least_s)
