"""`canary record`: one request, its answer kept as a transcript that `canary replay` can judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canary.cli import options
from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.grouped import grouped
from canary.cli.one_hop import Request, Terms, one_hop
from canary.cli.probe import send
from canary.core.observation import ConnectFailed
from canary.core.units import format_duration, plural
from canary.wire.transcript import dumps

Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", callback=options.writable, help="Where to; - for standard output."),
]


@grouped
def record(*, output: Output, request: Request) -> None:
    """Record one answer, byte by byte with its stamps. No request header of yours is kept."""
    if request.url is None:
        msg = "record needs --url URL and --model NAME"
        raise UsageError(msg)
    pipeline, assignment = one_hop(request, Terms())
    exchange = send(pipeline, assignment, quiet=False).results[0].observation.exchange
    text = dumps(exchange)
    if str(output) == "-":
        typer.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            msg = f"--output {output}: {error.strerror}"
            raise UsageError(msg) from None
    size = sum(len(read.data) for read in exchange.reads)
    told = f"{plural(size, 'byte')} in {plural(len(exchange.reads), 'read')}, {format_duration(exchange.end.at)}"
    typer.echo(f"{output}: {told}, ended {type(exchange.end).__name__}", err=True)
    if isinstance(exchange.end, ConnectFailed):
        raise typer.Exit(ExitCode.FAIL)
