"""`canary replay`: judge recorded streams again, with other timers or newer rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.budget import judge_budget
from canary.checks.budget_arms import Arms
from canary.checks.evidence import Evidence
from canary.cli import options
from canary.cli.arguments import parse_budget
from canary.cli.errors import UsageError
from canary.cli.exit_codes import exit_code
from canary.cli.grouped import grouped
from canary.cli.junit import write_junit
from canary.cli.one_hop import Terms
from canary.cli.screen import show_result
from canary.config.presets import catalogue
from canary.core.jsonable import as_json
from canary.core.observation import Exchange
from canary.core.run import HopResult
from canary.core.spec import BudgetTest
from canary.wire.budgets import BUDGETS
from canary.wire.decode import UnknownProtocolError, decode
from canary.wire.transcript import TranscriptError, loads

_MOST_BYTES = 256 * 2**20  # four times the longest body that is ever recorded


@grouped
def replay(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Transcripts, or - for standard input.")],
    *,
    terms: Terms,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="PARAM=VALUE", help="Judge whether this budget parameter acted."),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option("--control", metavar="FILE", help="The same question without the parameter, recorded."),
    ] = None,
    as_json_lines: options.AsJson = False,
    junit: options.Junit = None,
) -> None:
    """Judge recorded streams. One JSON object per file with --json."""
    if control is not None and budget is None:
        msg = "--control needs --budget PARAM=VALUE, the parameter that it is the control of"
        raise UsageError(msg)
    test = parse_budget(budget) if budget else None
    without = _evidence(control, terms) if control else None
    results = {str(file): _judge(_evidence(file, terms), test, without, hop=file.stem) for file in files}
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


def _judge(evidence: Evidence, test: BudgetTest | None, control: Evidence | None, *, hop: str) -> HopResult:
    verdicts = judge(evidence)
    if test is not None:
        arms = Arms(treatment=evidence, control=control)
        verdicts += (judge_budget(test, BUDGETS[test.parameter], arms, hop=hop),)
    return HopResult(
        hop=hop,
        variant="recorded",
        observation=evidence.observation,
        measurement=evidence.measurement,
        verdicts=verdicts,
        timeouts=evidence.timeouts,
    )


def _evidence(file: Path, terms: Terms) -> Evidence:
    timers, first_visible_s = terms.timers, terms.first_visible_s  # what was typed is looked at first
    try:
        observation = decode(_load(file))
    except UnknownProtocolError as error:
        msg = f"{file}: {error}"
        raise UsageError(msg) from None
    return Evidence(
        observation=observation,
        measurement=measure(observation),
        timeouts=timers,
        catalogue=catalogue(),
        first_visible_limit_s=first_visible_s,
        inline_reasoning=terms.inline_reasoning,
    )


def _load(file: Path) -> Exchange:
    try:
        text = _bytes(file).decode()
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


def _bytes(file: Path) -> bytes:
    """Whatever the file is: a pipe is fine, and a device that never ends costs no more than the longest transcript."""
    if str(file) == "-":
        raw = typer.get_binary_stream("stdin").read(_MOST_BYTES + 1)
    else:
        with file.open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        msg = f"{file}: not a transcript: more than {_MOST_BYTES} bytes"
        raise UsageError(msg)
    return raw


def _record(name: str, result: HopResult) -> dict[str, object]:
    return {
        "file": name,
        "protocol": result.observation.exchange.protocol,
        "measurement": as_json(result.measurement),
        "verdicts": [as_json(verdict) for verdict in result.verdicts],
    }
