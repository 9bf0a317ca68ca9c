"""`canary probe`: one run, now."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from canary.cli import options
from canary.cli.check import load
from canary.cli.errors import UsageError
from canary.cli.exit_codes import exit_code
from canary.cli.grouped import grouped
from canary.cli.junit import write_junit
from canary.cli.one_hop import Request, Terms, one_hop
from canary.cli.progress import Progress
from canary.cli.screen import show_result
from canary.cli.waterfall import repeat, show_run
from canary.config.presets import catalogue
from canary.core.jsonable import as_json
from canary.core.run import Run
from canary.core.spec import Assignment, Pipeline, Plan
from canary.engine.run import run_probe
from canary.engine.visit import Occasion

_ANYWHERE = {"pipeline", "probe_name", "as_json_object", "every_verdict", "junit"}  # what both forms of probe take
_WITH_PIPELINE = {"config"}


@grouped
def probe(  # noqa: PLR0913  # one parameter an option
    context: typer.Context,
    pipeline: Annotated[
        str | None, typer.Argument(metavar="PIPELINE", help="A pipeline of the config; not with --url.")
    ] = None,
    probe_name: Annotated[
        str | None, typer.Argument(metavar="PROBE", help="One of its probes; all of them if none is named.")
    ] = None,
    *,
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", metavar="FILE", help="Config files; canary.yaml by default.")
    ] = None,
    request: Request,
    terms: Terms,
    as_json_object: options.AsJson = False,
    every_verdict: options.EveryVerdict = False,
    junit: options.Junit = None,
) -> None:
    """One run, now: through every hop of a configured PIPELINE, or at the single hop of --url and --model."""
    if (request.url is None) == (pipeline is None):
        msg = "probe needs either a PIPELINE of a config, or --url URL and --model NAME"
        raise UsageError(msg)
    _refuse_what_would_be_ignored(context, at_url=pipeline is None)
    asked = [one_hop(request, terms)] if pipeline is None else configured(load(config), pipeline, probe_name)
    runs = [send(*each, quiet=as_json_object) for each in asked]
    finish(runs, as_json_object=as_json_object, every_verdict=every_verdict, junit=junit)


def _refuse_what_would_be_ignored(context: typer.Context, *, at_url: bool) -> None:
    """A config says what a pipeline is asked; an option beside it would do nothing, and nobody would notice."""
    typed = {name for name in context.params if _was_typed(context, name)} - _ANYWHERE
    wrong = typed & _WITH_PIPELINE if at_url else typed - _WITH_PIPELINE
    if wrong:
        names = ", ".join(sorted(f"--{name.replace('_', '-')}" for name in wrong))
        beside = "--url" if at_url else "a PIPELINE, whose config says what it is asked"
        msg = f"{names} does nothing beside {beside}"
        raise UsageError(msg)


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def configured(plan: Plan, pipeline: str, probe_name: str | None) -> list[tuple[Pipeline, Assignment]]:
    """What to run. Raises UsageError for a name that the plan does not have."""
    chosen = next((each for each in plan.pipelines if each.name == pipeline), None)
    if chosen is None:
        msg = f"there is no pipeline {pipeline!r}; there are {', '.join(each.name for each in plan.pipelines)}"
        raise UsageError(msg)
    found = [each for each in chosen.assignments if probe_name in (None, each.probe.name)]
    if not found:
        known = ", ".join(each.probe.name for each in chosen.assignments) or "none"
        msg = f"{pipeline} has no probe {probe_name!r}; it has {known}"
        raise UsageError(msg)
    return [(chosen, assignment) for assignment in found]


def send(pipeline: Pipeline, assignment: Assignment, *, quiet: bool) -> Run:
    """One run with a fresh seed."""
    with watched(quiet=quiet, lines=len([hop for hop in pipeline.hops if hop.url]) > 1) as occasion:
        return asyncio.run(run_probe(pipeline, assignment, occasion))


@contextmanager
def watched(*, quiet: bool, lines: bool = True) -> Iterator[Occasion]:
    """A new occasion; unless `quiet`, stderr shows what its run is at, and with `lines` each finished request."""
    progress = None if quiet else Progress(Console(stderr=True, highlight=False), lines=lines)
    with progress or nullcontext():
        yield Occasion(
            run_id=secrets.token_hex(6),
            seed=secrets.randbits(63),
            now=_now,
            catalogue=catalogue(),
            watch=progress.step if progress else lambda _: None,
        )


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # the command line is where the wall clock is read


def finish(runs: Sequence[Run], *, as_json_object: bool, every_verdict: bool, junit: Path | None) -> NoReturn:
    """Report the runs and leave with their exit code."""
    for run in runs:
        report(run, as_json_object=as_json_object, every_verdict=every_verdict)
    results = [result for run in runs for result in run.results]
    if junit:
        suites = {
            f"{run.pipeline} {run.probe}: {result.hop} {result.variant}": result.verdicts
            for run in runs
            for result in run.results
        }
        write_junit(junit, suites)
    raise typer.Exit(exit_code(verdict for result in results for verdict in result.verdicts))


def report(run: Run, *, as_json_object: bool, every_verdict: bool) -> None:
    """One line of JSON as the README describes it, or a picture: of one stream if there is but one."""
    console = Console(highlight=False)
    if as_json_object:
        typer.echo(json.dumps(run_record(run), ensure_ascii=False))
    elif len(run.results) == 1:
        show_result(console, run.results[0], title=f"{run.pipeline}  run {run.id}")
    else:
        show_run(console, run, every_verdict=every_verdict)


def run_record(run: Run) -> dict[str, object]:
    return {
        "run": run.id,
        "pipeline": run.pipeline,
        "probe": run.probe,
        "started_at": run.started_at.isoformat(),
        "hops": [
            {
                "hop": result.hop,
                "variant": result.variant,
                "engine_version": result.engine_version,
                "measurement": as_json(result.measurement),
                "verdicts": as_json(result.verdicts),
            }
            for result in run.results
        ],
        "findings": [as_json(finding) | {"curl": repeat(finding, run)} for finding in run.findings],
    }
