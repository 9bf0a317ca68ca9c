"""`canary check`, `canary schema`, `canary probes`: what can be said before anything is sent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from canary.cli import options
from canary.cli.errors import UsageError
from canary.cli.when import now
from canary.config.errors import ConfigError
from canary.config.estimate import describe_estimate, estimates
from canary.config.json_schema import json_schema
from canary.config.lint import lint
from canary.config.load import load_plan
from canary.config.probes import canned_probes
from canary.config.show import describe
from canary.core.spec import Plan
from canary.core.units import plural

ConfigFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="CONFIG", help="Files or folders; canary.yaml if none is named.")
]
AsOthers = Annotated[
    list[Path] | None, typer.Option("--config", "-c", metavar="FILE", help="The same, as the other commands have it.")
]

_Read = TypeVar("_Read")


def load(paths: list[Path] | None) -> Plan:
    """The plan of these files, or of `canary.yaml`. Raises UsageError with every problem, a line each."""
    return read(paths, load_plan)


def read(paths: list[Path] | None, how: Callable[..., _Read]) -> _Read:
    """What `how` makes of these files, or of `canary.yaml`. Raises UsageError with every problem, a line each."""
    try:
        return how(paths or [Path("canary.yaml")], env=os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def check(config: ConfigFiles = None, more: AsOthers = None) -> None:
    """Validate a config, print the resolved plan, lint its timeouts, and estimate its cost."""
    plan = load([*(config or []), *(more or [])])
    console = Console(highlight=False)
    for line in describe(plan):
        console.print(Text(line), soft_wrap=True)
    console.print()
    for estimate in estimates(plan):
        for line in describe_estimate(estimate):
            console.print(Text(f"{estimate.pipeline.name}: {line}"), soft_wrap=True)
    lints = lint(plan, now=now())
    for found in lints:
        console.print(Text("WARN ", style="yellow").append(str(found), style=""), soft_wrap=True)
    verdict = f"the config holds, with {plural(len(lints), 'warning')}" if lints else "the config holds"
    console.print(Text(f"\n{verdict}", style="bold green" if not lints else "bold yellow"))


def schema() -> None:
    """Print the config's JSON Schema, for editors."""
    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def probes(*, as_json_lines: options.AsJson = False) -> None:
    """List the canned probes that `use:` can name."""
    console = Console(highlight=False)
    for probe in canned_probes().values():
        languages = list(dict.fromkeys(question.language for question in probe.questions))
        if as_json_lines:
            row = {"name": probe.name, "summary": probe.summary, "max_tokens": probe.max_tokens}
            typer.echo(json.dumps(row | {"languages": languages, "questions": len(probe.questions)}))
            continue
        console.print(Text(probe.name, style="bold"))
        console.print(Text(f"  {probe.summary}"), soft_wrap=True)
        asked = (
            f"{plural(len(probe.questions), 'question')} ({', '.join(languages)}), at most {probe.max_tokens} tokens"
        )
        console.print(Text(f"  {asked}", style="dim"))
