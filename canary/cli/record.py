"""`canary record`: one request, its answer kept as a transcript that `canary replay` can judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canary.cli import options
from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.one_hop import OneHopOptions, one_hop
from canary.cli.probe import send
from canary.core.observation import ConnectFailed
from canary.core.units import format_duration, plural
from canary.wire.transcript import dumps

Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", callback=options.writable, help="Where to; - for standard output."),
]


def record(  # noqa: PLR0913  # one parameter an option
    *,
    output: Output,
    url: options.Url = None,
    model: options.Model = None,
    prompt: options.PromptText = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    param: options.Params = None,
    header: options.Headers = None,
    api_key_env: options.ApiKeyEnv = None,
    no_stream: options.NoStream = False,
    deadline: options.Deadline = "300s",
    accept_encoding: options.AcceptEncoding = "identity",
    ca_file: options.CaFile = None,
    cert_file: options.CertFile = None,
    key_file: options.KeyFile = None,
    insecure: options.Insecure = False,
    proxy: options.Proxy = None,
) -> None:
    """Record one answer, byte by byte with its stamps. No request header of yours is kept."""
    if url is None:
        msg = "record needs --url URL and --model NAME"
        raise UsageError(msg)
    pipeline, assignment = one_hop(
        OneHopOptions(
            url=url,
            model=model,
            prompt=prompt,
            max_tokens=max_tokens,
            temperature=temperature,
            params=param or (),
            headers=header or (),
            api_key_env=api_key_env,
            no_stream=no_stream,
            deadline=deadline,
            accept_encoding=accept_encoding,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            insecure=insecure,
            proxy=proxy,
        )
    )
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
