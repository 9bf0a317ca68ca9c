"""`canary replay`: judge recorded streams again, with other timers or newer rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.cli import options
from canary.cli.arguments import seconds, timers_of
from canary.cli.errors import UsageError
from canary.cli.exit_codes import exit_code
from canary.cli.junit import write_junit
from canary.cli.screen import show_result
from canary.config.presets import catalogue
from canary.core.jsonable import as_json
from canary.core.observation import Exchange
from canary.core.run import HopResult
from canary.core.timeout import Timeout
from canary.wire.decode import decode
from canary.wire.transcript import TranscriptError, loads


def replay(  # noqa: PLR0913  # one parameter an option
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Transcripts, or - for standard input.")],
    *,
    timeout: options.Timeouts = None,
    preset: options.Presets = None,
    first_visible: options.FirstVisible = None,
    inline_reasoning: options.InlineReasoning = False,
    as_json_lines: options.AsJson = False,
    junit: options.Junit = None,
) -> None:
    """Judge recorded streams. One JSON object per file with --json."""
    timers = timers_of(timeout or [], preset or [])
    limit_s = seconds(first_visible, "--first-visible") if first_visible else None
    results = {
        str(file): _judge(file, timers, first_visible_s=limit_s, inline_reasoning=inline_reasoning) for file in files
    }
    console = Console(highlight=False)
    for name, result in results.items():
        if as_json_lines:
            typer.echo(json.dumps(_record(name, result), ensure_ascii=False))
        else:
            show_result(console, result, title=name)
            console.print()
    if junit:
        write_junit(junit, {name: result.verdicts for name, result in results.items()})
    raise typer.Exit(exit_code(verdict for result in results.values() for verdict in result.verdicts))


def _judge(
    file: Path, timers: tuple[Timeout, ...], *, first_visible_s: float | None, inline_reasoning: bool
) -> HopResult:
    observation = decode(_load(file))
    measurement = measure(observation)
    evidence = Evidence(
        observation=observation,
        measurement=measurement,
        timeouts=timers,
        catalogue=catalogue(),
        first_visible_limit_s=first_visible_s,
        inline_reasoning=inline_reasoning,
    )
    return HopResult(
        hop=file.stem,
        variant="recorded",
        observation=observation,
        measurement=measurement,
        verdicts=judge(evidence),
        timeouts=timers,
    )


def _load(file: Path) -> Exchange:
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"{file}: {error.strerror}"
        raise UsageError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{file}: not a transcript: byte {error.start} is not UTF-8"
        raise UsageError(msg) from None
    try:
        return loads(text, source=str(file))
    except TranscriptError as error:
        raise UsageError(str(error)) from None


def _record(name: str, result: HopResult) -> dict[str, object]:
    return {
        "file": name,
        "protocol": result.observation.exchange.protocol,
        "measurement": as_json(result.measurement),
        "verdicts": [as_json(verdict) for verdict in result.verdicts],
    }
