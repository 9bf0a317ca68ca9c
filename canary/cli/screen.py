"""What a person sees in a terminal: one stream, its numbers, its verdicts.

Everything that came over the network is hostile here: control characters are shown, never obeyed, and no text of a
model or a server is read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from canary.cli.timeline import timeline
from canary.core.measurement import Measurement, TokenCount
from canary.core.run import HopResult
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

STYLES: Mapping[Status, str] = MappingProxyType(
    {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.UNKNOWN: "cyan"}
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 600  # characters of a message; a server's error may be a whole page


def shown(text: str) -> str:
    """One line. Control and direction characters, and halves of surrogate pairs, become spaces."""
    return _CONTROL.sub(" ", text)


def plain(text: str) -> str:
    """One line without control or direction characters, cut to what a screen bears."""
    line = shown(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def show_result(console: Console, result: HopResult, *, title: str) -> None:
    """A heading, the timeline, the numbers, then the verdicts, worst first."""
    console.print(Text(plain(title), style="bold"))
    for row in timeline(result.observation, result.timeouts, width=console.width):
        console.print(row, no_wrap=True, crop=True)
    console.print()
    show_numbers(console, result.measurement)
    show_verdicts(console, result.verdicts)
    if server := _served_by(result.measurement):
        console.print(Text(f"\nserved by {server}", style="dim"))


def show_numbers(console: Console, measurement: Measurement) -> None:
    console.print(Padding(_numbers(measurement, console.width), (0, 0, 1, 0)))


def show_verdicts(console: Console, verdicts: Iterable[Verdict]) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    order = [Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS]
    for verdict in sorted(verdicts, key=lambda verdict: order.index(verdict.status)):
        status = Text(verdict.status.value, style=STYLES[verdict.status])
        check = Text(verdict.check, style="bold")
        table.add_row(status, check, Text(f"{verdict.reason}: {plain(verdict.message)}"))
    console.print(table)


def _numbers(measurement: Measurement, width: int) -> Table:
    pairs = [(name, value) for name, value in _pairs(measurement) if value is not None]
    per_row = 3 if width >= 130 else 2
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(per_row):
        table.add_column(style="dim", no_wrap=True, min_width=max(len(name) for name, _ in pairs))
        table.add_column(overflow="fold")
    for start in range(0, len(pairs), per_row):
        table.add_row(*(Text(cell) for pair in pairs[start : start + per_row] for cell in pair))
    return table


def _pairs(measurement: Measurement) -> list[tuple[str, str | None]]:
    silence = measurement.silence
    censored = {True: "≥ ", False: ""}
    return [
        ("headers", _seconds(measurement.time_to_headers_s)),
        ("first token", _seconds(measurement.time_to_first_token_s)),
        ("first reasoning", _seconds(measurement.time_to_first_reasoning_token_s)),
        ("first visible", _seconds(measurement.time_to_first_visible_content_s) or "never"),
        ("total", _seconds(measurement.total_s)),
        ("finish reason", plain(measurement.finish_reason or "none")),
        ("byte silence", censored[silence.byte.censored] + format_duration(silence.byte.longest_s)),
        ("visible silence", censored[silence.visible.censored] + format_duration(silence.visible.longest_s)),
        ("reasoning", _amount(measurement.reasoning_tokens, measurement.reasoning_chars)),
        ("visible", _amount(measurement.visible_tokens, measurement.visible_chars)),
        ("reasoning share", _percent(measurement.reasoning_to_output_ratio)),
        ("speed", None if measurement.tokens_per_s is None else f"{measurement.tokens_per_s:.0f} tokens/s"),
    ]


def _served_by(measurement: Measurement) -> str | None:
    mark = measurement.fingerprint
    litellm = f"litellm {mark.litellm_version}" if mark.litellm_version else None
    known = [part for part in (mark.system_fingerprint, litellm, mark.server) if part]
    return plain(", ".join(known)) if known else None


def _seconds(value: float | None) -> str | None:
    return None if value is None else format_duration(value)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def _amount(tokens: TokenCount | None, chars: int) -> str:
    if tokens is None:
        return plural(chars, "character")
    return f"{plural(tokens.value, 'token')} ({tokens.source.value}), {chars} chars"
