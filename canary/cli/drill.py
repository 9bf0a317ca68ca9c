"""`canary drill`: proof that a page arrives, and its end too, before the night in which it counts."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from canary.cli import options
from canary.cli.arguments import seconds
from canary.cli.check import load
from canary.cli.drill_scene import Case, Stage, broken_demo, pretence
from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.grouped import grouped
from canary.cli.notify_test import chosen_receivers
from canary.cli.rehearsal import Moment, Outcome, Step, rehearse
from canary.cli.screen import plain
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.units import format_duration
from canary.engine import log as logs
from canary.store import StoreError

_HEADINGS = (Step.FAULT, Step.HEALED)
_STYLES: Mapping[Step, str] = MappingProxyType(
    {Step.SENT: "green", Step.REFUSED: "bold red", Step.RETRY: "yellow", Step.WITHHELD: "yellow"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretended:
    """What is said to fail at a pipeline of the config, as typed."""

    pipeline: Annotated[
        str | None, typer.Option("--pipeline", metavar="NAME", help="Probe this one of the config, by its routes.")
    ] = None
    pretend: Annotated[
        str | None, typer.Option("--pretend", metavar="CHECK", help="With --pipeline: the check that is said to fail.")
    ] = None
    hop: Annotated[
        str | None, typer.Option("--hop", metavar="NAME", help="With --pretend: where; the topmost one by default.")
    ] = None
    probe: Annotated[
        str | None, typer.Option("--probe", metavar="NAME", help="With --pretend: by this probe, not by the first.")
    ] = None

    def case(self) -> Case | None:
        """None: nothing is pretended. Raises UsageError for a half of it."""
        if self.pipeline is not None and self.pretend is not None:
            return Case(pipeline=self.pipeline, check=self.pretend, hop=self.hop, probe=self.probe)
        if self != Pretended():
            msg = "--pipeline and --pretend go together, and --hop and --probe only with both"
            raise UsageError(msg)
        return None


@grouped
def drill(
    *,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", "-c", metavar="FILE", help="Whose receivers are told; without, one on loopback."),
    ] = None,
    receiver: Annotated[
        str | None, typer.Option("--receiver", metavar="NAME", help="Only this receiver of the config.")
    ] = None,
    pretended: Pretended,
    within: Annotated[
        str, typer.Option("--within", metavar="DURATION", help="How long the page may take, and the resolution.")
    ] = "5m",
    as_json_object: options.AsJson = False,
) -> None:
    """Break the demo pipeline, or say that yours is; wait for the page; heal it; wait for the resolution.

    Exit code 1 if one of them did not arrive.
    """
    within_s, case = seconds(within, "--within"), pretended.case()
    plan = load(config) if config or receiver or case else None
    receivers = chosen_receivers(plan, receiver) if plan else ()
    report = _Report(console=Console(highlight=False), quiet=as_json_object)
    with _storage() as storage:
        stage = Stage(receivers=receivers, storage=storage, within_s=within_s)
        if plan and case:
            outcome = _played(rehearse(pretence(stage, plan, case), report.say))
        else:
            outcome = _played(broken_demo(stage, report.say))
    report.end(outcome)
    raise typer.Exit(ExitCode.PASS if outcome.paged and outcome.resolved else ExitCode.FAIL)


@contextmanager
def _storage() -> Iterator[Storage]:
    """For as long as the drill takes."""
    with tempfile.TemporaryDirectory(prefix="canary-drill-") as folder:
        yield Storage(url=Secret(f"sqlite:///{folder}/canary.db"))


def _played(drill: Coroutine[None, None, Outcome]) -> Outcome:
    logs.configure(None, level=logging.ERROR)
    try:
        return asyncio.run(drill)
    except StoreError as error:
        raise UsageError(str(error)) from None


@dataclass(slots=True, kw_only=True)
class _Report:
    """Each moment as it comes, or all of them as one object at the end."""

    console: Console
    quiet: bool
    moments: list[Moment] = field(default_factory=list)

    def say(self, moment: Moment) -> None:
        self.moments.append(moment)
        if self.quiet:
            return
        if moment.step in _HEADINGS:
            line = Text(moment.step.value, style="bold").append(f"  {plain(moment.detail)}", style="not bold")
        else:
            line = Text(f"{format_duration(moment.after_s):>10}  ", style="dim")
            line.append(f"{moment.step.value:<14}", style=_STYLES.get(moment.step, "not dim")).append(
                plain(moment.detail), style="not dim"
            )
        self.console.print(line, soft_wrap=True)

    def end(self, outcome: Outcome) -> None:
        if self.quiet:
            moments = [
                {"step": each.step, "after_s": round(each.after_s, 3), "detail": each.detail} for each in self.moments
            ]
            typer.echo(json.dumps({"paged": outcome.paged, "resolved": outcome.resolved, "moments": moments}))
        elif outcome.paged and outcome.resolved:
            self.console.print(Text("The page arrived, and its resolution too.", style="bold green"))
        else:
            what = "resolution" if outcome.paged else "page"
            self.console.print(Text(f"The {what} did not arrive at everybody in time.", style="bold red"))
