"""`canary report`: the table that one would make by hand of what the daemon measured."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from canary.analysis.report import Report, Row
from canary.cli import stored
from canary.cli.errors import UsageError
from canary.cli.report_table import as_csv, as_markdown, records, show_report
from canary.cli.when import instant, local, now
from canary.store import Store


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def report(  # noqa: PLR0913  # one parameter an option
    *,
    since: Annotated[str, typer.Option("--since", metavar="WHEN", help="90s, 2h, 7d, or a time.")] = "24h",
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="The same; now by default.")] = None,
    pipeline: Annotated[str | None, typer.Option("--pipeline", metavar="NAME", help="Only this one.")] = None,
    probe: Annotated[str | None, typer.Option("--probe", metavar="NAME", help="Only this one.")] = None,
    form: Annotated[
        Format, typer.Option("--format", "-f", help="For people, programs, sheets or pages.")
    ] = Format.TEXT,
    as_json_object: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """Sum up a stretch of history, hop by hop: tokens, waits, percentiles, and what never came."""
    begin = instant(since, "--since")
    end = instant(until, "--until") if until else now()
    if begin >= end:
        msg = f"--since {local(begin)} is not before --until {local(end)}"
        raise UsageError(msg)

    async def asked(store: Store) -> tuple[Row, ...]:
        made = Report()
        async for answer in store.answers(begin, end, pipeline=pipeline, probe=probe):
            made.take(answer)
        return made.rows()

    rows = stored.look(stored.storage_of(config, storage), asked)
    match Format.JSON if as_json_object else form:
        case Format.JSON:
            span = {"since": begin.isoformat(), "until": end.isoformat()}
            stored.say_json(span | {"rows": records(rows)})
        case Format.CSV:
            typer.echo(as_csv(rows), nl=False)
        case Format.MARKDOWN:
            typer.echo(as_markdown(rows), nl=False)
        case Format.TEXT:
            _show(rows, span=f"{local(begin)} to {local(end)}")


def _show(rows: tuple[Row, ...], *, span: str) -> None:
    console = Console(highlight=False)
    console.print(Text(span, style="dim"))
    if rows:
        console.print()
        show_report(console, rows)
    else:
        console.print(Text("no answers in that time", style="dim"))
