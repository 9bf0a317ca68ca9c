"""One stream on a time axis, for a terminal of any width.

What a column shows is `analysis.lane`'s to say. The marks differ in shape as well as in colour, so that the picture
survives a log file and a colour-blind reader. Timers are lines below the stream: from where the gap began to where the
timer cut, or as far as the gap went.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from canary.analysis.forecast import forecast
from canary.analysis.lane import MEANINGS, Sign, column, lane, round_step
from canary.checks.idle_timeout import label
from canary.core.observation import Observation
from canary.core.timeout import Fires, OpenUntil, Survives, Timeout
from canary.core.units import format_duration

LABEL_COLUMNS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a sign looks."""

    glyph: str
    style: str


MARKS: dict[Sign, Mark] = {
    Sign.SILENCE: Mark(glyph="·", style="dim"),
    Sign.KEEPALIVE: Mark(glyph="˙", style="yellow"),
    Sign.OTHER: Mark(glyph="-", style="dim"),
    Sign.HEADERS: Mark(glyph="╷", style="blue"),
    Sign.REASONING: Mark(glyph="░", style="magenta"),
    Sign.TOOL: Mark(glyph="▒", style="cyan"),
    Sign.VISIBLE: Mark(glyph="█", style="green"),
    Sign.ERROR: Mark(glyph="✗", style="bold red"),
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
    row = _label(name, label_columns)
    for sign in lane(observation, span_s=span_s, columns=columns):
        row.append(MARKS[sign].glyph, style=MARKS[sign].style)
    return row


def axis_row(*, span_s: float, columns: int, label_columns: int = LABEL_COLUMNS) -> Text:
    """Ticks at round times, about one every 12 columns."""
    step_s = round_step(span_s * 12 / columns)
    line = [" "] * columns
    tick_s, free_from = 0.0, 0
    while tick_s <= span_s:
        index, words = column(tick_s, span_s, columns), f"{tick_s:g}s"
        if index >= free_from and index + len(words) <= columns:
            line[index : index + len(words)] = words
            free_from = index + len(words) + 1
        tick_s = round(tick_s + step_s, 9)
    return _label("", label_columns).append("".join(line).rstrip(), style="dim")


def legend(rows: Iterable[Text], *, label_columns: int = LABEL_COLUMNS) -> Text:
    """What the marks mean that occur in `rows`."""
    shown = "".join(row.plain[label_columns:] for row in rows)
    line = _label("", label_columns)
    for sign in sorted(MARKS, reverse=True):
        mark = MARKS[sign]
        if mark.glyph in shown:
            line.append(mark.glyph, style=mark.style).append(f" {MEANINGS[sign]}  ", style="dim")
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
    start = column(max(gap_from, 0.0), span_s, columns)
    stop = max(column(stop_s, span_s, columns), start)
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
