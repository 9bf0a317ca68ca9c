"""A report in the forms that people and programs take it in.

One literal table says what each column is called for programs, how it is headed for people, and which unit it has.
Infinity is the word `never` for people and in JSON, which has no infinity, and `inf` in CSV, which programs read as a
number: a percentile that is over any limit.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from canary.analysis.report import MOST_EXACT, SLOW_S, Row, Times
from canary.cli.screen import plain
from canary.core.observation import Json

Number: TypeAlias = int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`name` for programs, `head` for people; `show` writes the number as people read it."""

    name: str
    head: str
    of: Callable[[Row], Number]
    show: Callable[[float], str]


def _count(value: float) -> str:
    return f"{value:.0f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


def _seconds(value: float) -> str:
    """Three figures, and always seconds: numbers below each other are to be compared."""
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _of_times(name: str, head: str, times: Callable[[Row], Times]) -> tuple[Column, ...]:
    slow = f"{name}_over_{SLOW_S:g}s_share"
    return (
        Column(name=f"{name}_mean_s", head=f"{head}\nmean", of=lambda row: times(row).mean_s, show=_seconds),
        Column(name=f"{name}_p95_s", head=f"{head}\np95", of=lambda row: times(row).p95_s, show=_seconds),
        Column(name=f"{name}_p99_s", head=f"{head}\np99", of=lambda row: times(row).p99_s, show=_seconds),
        Column(name=slow, head=f"{head}\n> {SLOW_S:g} s", of=lambda row: times(row).slow_share, show=_share),
    )


_PLACE = ("pipeline", "probe", "variant", "hop")
_COUNTS = (
    Column(name="requests", head="requests", of=lambda row: row.requests, show=_count),
    Column(name="failed", head="failed", of=lambda row: row.failed, show=_count),
    Column(name="unknown", head="unknown", of=lambda row: row.unknown, show=_count),
    Column(name="zero_visible", head="zero\nvisible", of=lambda row: row.zero_visible, show=_count),
    Column(name="input_tokens_mean", head="tokens\nin", of=lambda row: row.input_tokens, show=_count),
    Column(name="output_tokens_mean", head="tokens\nout", of=lambda row: row.output_tokens, show=_count),
    Column(name="reasoning_share_mean", head="reasoning\nshare", of=lambda row: row.reasoning_share, show=_share),
)
_TIMES = (
    *_of_times("first_token", "TTFT", lambda row: row.first_token)[:2],
    *_of_times("first_visible", "visible", lambda row: row.first_visible),
    *_of_times("end_to_end", "end", lambda row: row.end_to_end),
)
COLUMNS = (*_COUNTS, *_TIMES)
KEY = (
    "Means and percentiles in seconds. TTFT: first token of any kind; visible: first visible text; end: end to end. "
    "A percentile counts what never came as later than all that came; a mean is over what came."
)


def records(rows: Iterable[Row]) -> list[dict[str, Json]]:
    """An object a row, for JSON."""
    return [
        {name: getattr(row, name) for name in _PLACE}
        | {column.name: _finite(column.of(row)) for column in COLUMNS}
        | {"exact": _exact(row)}
        for row in rows
    ]


def _finite(value: Number) -> Json:
    if isinstance(value, float):
        return "never" if math.isinf(value) else round(value, 6)
    return value


def _exact(row: Row) -> bool:
    return row.first_token.exact and row.first_visible.exact and row.end_to_end.exact


def as_csv(rows: Iterable[Row]) -> str:
    """RFC 4180, with a head line; an empty field is what no answer told."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*_PLACE, *(column.name for column in COLUMNS), "exact"])
    for row in rows:
        numbers = (column.of(row) for column in COLUMNS)
        cells = ("" if each is None else round(each, 6) for each in numbers)
        writer.writerow([*(plain(getattr(row, name)) for name in _PLACE), *cells, str(_exact(row)).lower()])
    return text.getvalue()


def as_markdown(rows: Iterable[Row]) -> str:
    """One table in the form of GitHub and GitLab."""
    heads = [*_PLACE, *(column.head.replace("\n", " ") for column in COLUMNS)]
    rules = ["---"] * len(_PLACE) + ["---:"] * len(COLUMNS)
    lines = [
        heads,
        rules,
        *([*map(_markdown, _place(row)), *(_cell(column, row) for column in COLUMNS)] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{KEY}\n"


def _markdown(text: str) -> str:
    """Nothing in it ends a cell or becomes markup."""
    return "".join(f"\\{sign}" if sign in "\\|`*_<>[]" else sign for sign in plain(text))


def _place(row: Row) -> Sequence[str]:
    return [getattr(row, name) for name in _PLACE]


def _cell(column: Column, row: Row) -> str:
    value = column.of(row)
    if value is None:
        return "-"
    return "never" if math.isinf(value) else column.show(value)


def show_report(console: Console, rows: Sequence[Row]) -> None:
    """A table for each pipeline, probe and variant; two, where the terminal is too narrow for one."""
    for (pipeline, probe, variant), group in groupby(rows, key=lambda row: (row.pipeline, row.probe, row.variant)):
        console.print(Text(plain(f"{pipeline}, {probe}, {variant}"), style="bold"))
        for table in _fitting(console, list(group)):
            console.print(table)
            console.print()
    console.print(Text(KEY, style="dim"))
    if not all(map(_exact, rows)):
        console.print(Text(f"Of more than {MOST_EXACT:,} answers: percentiles within 0.5 %.", style="dim"))


def _fitting(console: Console, rows: Sequence[Row]) -> Iterator[Table]:
    whole = _table(rows, COLUMNS)
    if Measurement.get(console, console.options.update(max_width=1000), whole).maximum <= console.width:
        yield whole
        return
    yield _table(rows, _COUNTS)
    yield _table(rows, _TIMES)


def _table(rows: Sequence[Row], columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("\nhop", overflow="fold", style="bold")
    for column in columns:
        head = column.head if "\n" in column.head else f"\n{column.head}"
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(Text(plain(row.hop)), *(_shown(_cell(column, row)) for column in columns))
    return table


def _shown(cell: str) -> Text:
    return Text(cell, style="bold red" if cell == "never" else "")
