"""`canary history`: one line a run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from canary.alerting.feeling import place
from canary.cli import options, stored
from canary.cli.screen import STYLES, plain
from canary.cli.when import instant, local
from canary.core.finding import Finding
from canary.core.jsonable import as_json
from canary.core.observation import Json
from canary.core.units import format_duration
from canary.core.verdict import Status
from canary.store import RunRow, Store

_GAP = "  "
_MOST = 1_000_000  # as many as are kept, unless the config says otherwise; they are all in memory at once
_MOST_NAME_COLUMNS = 24


def history(  # noqa: PLR0913  # one parameter an option
    pipeline: Annotated[str | None, typer.Argument(metavar="PIPELINE", help="Only this one's runs.")] = None,
    probe: Annotated[str | None, typer.Argument(metavar="PROBE", help="Only runs of this probe.")] = None,
    *,
    since: Annotated[str, typer.Option("--since", metavar="WHEN", help="90s, 2h, 7d, or a time.")] = "24h",
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="The same; now by default.")] = None,
    status: Annotated[
        Status | None, typer.Option("--status", case_sensitive=False, help="Only runs whose worst verdict this is.")
    ] = None,
    most: Annotated[int, typer.Option("--most", "-n", min=1, max=_MOST, help="The newest so many.")] = 50,
    config: stored.Config = None,
    storage: stored.Url = None,
    as_json_lines: options.AsJson = False,
) -> None:
    """List the daemon's runs, newest last: the worst wait for the first visible text, and what was found."""
    begin = instant(since, "--since")
    end = instant(until, "--until") if until else None

    async def asked(store: Store) -> tuple[RunRow, ...]:
        return await store.runs(pipeline=pipeline, probe=probe, since=begin, until=end, status=status, most=most + 1)

    found = stored.look(stored.storage_of(config, storage), asked)
    rows = found[:most][::-1]
    if as_json_lines:
        for row in rows:
            stored.say_json(record(row))
        return
    console = Console(highlight=False)
    if not rows:
        console.print(Text(plain(f"no such run since {local(begin)}"), style="dim"))
    elif len(found) > most:
        console.print(Text(f"the newest {most} since {local(begin)}; --most shows more", style="dim"))
    _show(console, rows, named=(pipeline is None, probe is None))


def record(row: RunRow) -> dict[str, Json]:
    """All that is known of a run without its answers."""
    words: dict[str, Json] = as_json(row)
    words["run"] = words.pop("id")
    return words


def _show(console: Console, rows: tuple[RunRow, ...], *, named: tuple[bool, bool]) -> None:
    """Columns are as wide as they must be. A terminal cuts long lines; a file, or who greps, gets the whole."""
    lines = [_cells(row, named) for row in rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    for cells in lines:
        line = Text(_GAP).join([_padded(cell, width) for cell, width in zip(cells, widths, strict=True)])
        line.rstrip()
        if console.is_terminal:
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            console.print(line, soft_wrap=True)


def _padded(cell: Text, width: int) -> Text:
    padded = cell.copy()
    padded.pad_right(width - cell.cell_len)
    return padded


def _cells(row: RunRow, named: tuple[bool, bool]) -> list[Text]:
    names = [Text(_name(name)) for name, shown in zip((row.pipeline, row.probe), named, strict=True) if shown]
    return [
        Text(_moment(row.started_at), style="dim"),
        Text(plain(row.id), style="bold"),
        Text(row.status.value, style=STYLES[row.status]),
        Text(first_visible(row)),
        *names,
        Text(plain(said(row))),
    ]


def _name(name: str) -> str:
    line = plain(name)
    return line if len(line) <= _MOST_NAME_COLUMNS else f"{line[: _MOST_NAME_COLUMNS - 1]}…"


def _moment(at: datetime) -> str:
    return local(at)[5:]  # history is kept for 90 days: nobody asks for the year


def first_visible(row: RunRow) -> str:
    """The longest wait at any hop; `never` where it never came at one."""
    if row.never_visible:
        return "never"
    return "-" if row.first_visible_s is None else format_duration(row.first_visible_s)


def said(row: RunRow) -> str:
    """What was found, or why there is nothing to find."""
    if row.cut_short:
        return f"cut short: {row.cut_short.value}"
    return "; ".join(map(in_brief, row.findings))


def in_brief(finding: Finding) -> str:
    """`budget ignored (thinking_token_budget), between gateway and engine`."""
    subject = f" ({finding.subject})" if finding.subject else ""
    return f"{finding.check} {finding.reason}{subject}, {place(finding)}"
