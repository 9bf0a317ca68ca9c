"""`canary replay`: judge recorded streams again, with other timers or newer rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.cli.arguments import parse_preset, parse_timeout, seconds
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

TimeoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--timeout",
        metavar="NAME:KIND:CLOCK:SECONDS",
        help="A timer to hold against the stream. Kind: headers, idle, total. Clock: byte, event, token, visible.",
    ),
]
PresetOption = Annotated[
    list[str] | None,
    typer.Option("--preset", metavar="NAME[=IDLE]", help="The timers of a known component; see `canary presets`."),
]
FirstVisibleOption = Annotated[
    str | None, typer.Option("--first-visible", metavar="DURATION", help="Limit for the first visible text.")
]
InlineOption = Annotated[
    bool, typer.Option("--inline-reasoning", help="Reasoning between tags in content is meant to be there.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a picture.")]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write verdicts as JUnit XML.")]


def replay(  # noqa: PLR0913  # one parameter an option
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Transcripts, or - for standard input.")],
    *,
    timeout: TimeoutOption = None,
    preset: PresetOption = None,
    first_visible: FirstVisibleOption = None,
    inline_reasoning: InlineOption = False,
    as_json_lines: JsonOption = False,
    junit: JunitOption = None,
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


def timers_of(timeouts: Sequence[str], presets: Sequence[str]) -> tuple[Timeout, ...]:
    """All timers of a command line, free ones first."""
    return (
        *(parse_timeout(text) for text in timeouts),
        *(timer for text in presets for timer in parse_preset(text)),
    )


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
