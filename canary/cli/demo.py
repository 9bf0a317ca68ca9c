"""`canary demo`: the built-in pipeline, real HTTP in this process, with the founding incident in it or any fault.

The daemon watches it until it is told to stop; `--once` runs each probe once and leaves with its exit code.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from canary.cli import options
from canary.cli.demo_daemon import Shown, Watched, watch
from canary.cli.errors import UsageError
from canary.cli.exit_codes import exit_code
from canary.cli.probe import report, watched
from canary.cli.run import begin, place_of
from canary.config.probes import canned_probes
from canary.core.run import Run
from canary.core.service import Listen
from canary.core.spec import Assignment, BudgetTest, Expectation
from canary.demo.answers import answers
from canary.demo.faults import FAULTS
from canary.demo.hop_kind import HopKind
from canary.demo.pipeline import INCIDENT_FAULTS, INCIDENT_LIMITS, WIDE, FaultNames, Limits, demo_pipeline, resolve
from canary.engine.run import run_probe

BUDGET_TOKENS = 32
# The engine keeps the first and, like vLLM, ignores the second with status 200.
BUDGETS = (
    BudgetTest(parameter="thinking_token_budget", tokens=BUDGET_TOKENS),
    BudgetTest(parameter="thinking_budget", tokens=BUDGET_TOKENS, expect=Expectation.IGNORED),
)


def demo(  # noqa: PLR0913  # one parameter an option
    *,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", metavar="NAME[@HOP]", help="Only this fault; may be repeated.")
    ] = None,
    healthy: Annotated[bool, typer.Option("--healthy", help="No fault at all.")] = False,
    list_faults: Annotated[bool, typer.Option("--list-faults", help="List the faults and where they can be.")] = False,
    scale: Annotated[float, typer.Option("--scale", min=0.02, max=20.0, help="Multiply the pipeline's times.")] = 0.5,
    once: Annotated[bool, typer.Option("--once", help="One run of each probe, and leave with its exit code.")] = False,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where the daemon shows metrics and pages.")
    ] = "127.0.0.1:9469",
    as_json_lines: options.AsJson = False,
    every_verdict: options.EveryVerdict = False,
) -> None:
    """Break the built-in pipeline, watch it, and show what the canary says. Needs no config; Ctrl-C ends it."""
    if list_faults:
        _list_faults(Console(highlight=False))
        return
    if healthy and fault:
        msg = "--healthy and --fault exclude each other"
        raise UsageError(msg)
    incident = not healthy and not fault
    faults = INCIDENT_FAULTS if incident else _faults(fault or ())
    limits = INCIDENT_LIMITS if incident else WIDE
    if not once:
        host, port = place_of(listen)
        watched_demo = Watched(
            faults=faults,
            limits=limits,
            scale=scale,
            assignments=_assignments(),
            listen=Listen(host=host, port=port),
        )
        begin(watch(watched_demo, Shown(as_json_lines=as_json_lines, every_verdict=every_verdict, seen={})))
        return
    runs = asyncio.run(_run(faults, limits=limits, scale=scale, quiet=as_json_lines))
    for run in runs:
        report(run, as_json_object=as_json_lines, every_verdict=every_verdict)
    raise typer.Exit(exit_code(verdict for run in runs for result in run.results for verdict in result.verdicts))


def _assignments() -> tuple[Assignment, ...]:
    """The reasoning-heavy probe, then the budget test."""
    heavy, tiny = (canned_probes()[name] for name in ("reasoning-heavy", "tiny-budget"))
    return (
        Assignment(probe=heavy, deadline_s=60.0),
        Assignment(probe=tiny, deadline_s=60.0, budgets=BUDGETS),
    )


async def _run(faults: FaultNames, *, limits: Limits, scale: float, quiet: bool) -> list[Run]:
    seed, assignments = secrets.randbits(63), _assignments()
    answer_for = answers(assignments[0].probe, seed)
    async with demo_pipeline(faults, limits=limits, scale=scale, answer_for=answer_for) as running:
        runs = []
        for assignment in assignments:
            with watched(quiet=quiet) as occasion:
                runs.append(await run_probe(running.pipeline(), assignment, replace(occasion, seed=seed)))
        return runs


def _faults(texts: Sequence[str]) -> FaultNames:
    """`strip_reasoning@agent`; without a hop, the nearest to the engine that can have it."""
    chosen: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for text in texts:
        name, at, hop = text.partition("@")
        if name not in FAULTS:
            msg = f"--fault {text!r}: there is no fault {name!r}; canary demo --list-faults shows them"
            raise UsageError(msg)
        chosen[hop if at else _lowest(name)] += (name,)
    try:
        resolve(chosen)
    except ValueError as error:
        msg = f"--fault: {error}"
        raise UsageError(msg) from None
    return chosen


def _lowest(name: str) -> str:
    return [hop.value for hop in HopKind if hop in FAULTS[name].kinds][-1]


def _list_faults(console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("fault", style="bold", no_wrap=True)
    table.add_column("at")
    table.add_column("what it does")
    for name, fault in FAULTS.items():
        places = "any hop" if fault.kinds == frozenset(HopKind) else ", ".join(h for h in HopKind if h in fault.kinds)
        table.add_row(name, Text(places), Text(fault.summary))
    console.print(table)
