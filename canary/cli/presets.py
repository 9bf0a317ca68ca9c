"""`canary presets`: what is known of the timers of nginx, ALB, httpx and the rest, and where it is known from."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from canary.cli.errors import UsageError
from canary.config.presets import Preset, PresetTimer, UnknownPresetError, preset_named
from canary.config.presets import presets as all_presets
from canary.core.jsonable import as_json
from canary.core.units import format_duration

_COMMENTS = {True: "yes", False: "no", None: "?"}


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One component or alias; without it, all of them.")
    ] = None,
    *,
    as_json_lines: Annotated[bool, typer.Option("--json", help="Print JSON, one object per component.")] = False,
) -> None:
    """List known timeouts: what restarts each, what the cut looks like, and the source of the number."""
    try:
        chosen = [preset_named(name)] if name is not None else list(all_presets().values())
    except UnknownPresetError as error:
        raise UsageError(str(error)) from None
    console = Console(highlight=False)
    if as_json_lines:
        for preset in chosen:
            typer.echo(json.dumps(as_json(preset), ensure_ascii=False))
    elif name:
        _show_one(console, chosen[0])
    else:
        _show_all(console, chosen)


def _show_all(console: Console, chosen: list[Preset]) -> None:
    by_kind: dict[str, list[Preset]] = defaultdict(list)
    for preset in chosen:
        by_kind[preset.kind].append(preset)
    for kind, members in by_kind.items():
        table = Table(title=kind, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for column in ("preset", "headers", "idle", "restarted by", "total"):
            table.add_column(column, no_wrap=True)
        for preset in members:
            table.add_row(preset.id, *_limits(preset))
        console.print(table)
        console.print()
    console.print(Text("canary presets NAME shows every timer of one, with sources", style="dim"))


def _limits(preset: Preset) -> tuple[str, str, str, str]:
    acting = [timer for timer in preset.timers if timer.in_preset]

    def shortest(phase: str) -> str:
        limits = [timer.limit_s for timer in acting if timer.phase == phase and timer.limit_s is not None]
        return format_duration(min(limits)) if limits else "-"

    idle = [timer.resets_on.value for timer in acting if timer.phase == "idle"]
    return shortest("headers"), shortest("idle"), idle[0] if idle else "-", shortest("total")


def _show_one(console: Console, preset: Preset) -> None:
    console.print(Text(f"{preset.id}: {preset.name}, {preset.kind}", style="bold"))
    if preset.version:
        console.print(Text(f"read in {preset.version}", style="dim"))
    if preset.aliases:
        console.print(Text(f"also known as {', '.join(preset.aliases)}", style="dim"))
    for timer in preset.timers:
        console.print()
        _show_timer(console, timer)


def _show_timer(console: Console, timer: PresetTimer) -> None:
    limit = "off by default" if timer.limit_s is None else format_duration(timer.limit_s)
    mark = "●" if timer.in_preset else "○"
    console.print(Text(f"{mark} {timer.setting}: {limit}", style="bold" if timer.in_preset else ""))
    comments = f"comments help: {_COMMENTS[timer.comments_reset]}"
    facts = [timer.phase.value, f"restarted by {timer.resets_on.value}", comments]
    if timer.outcome:
        facts.append(f"seen as {timer.outcome.value}")
    if timer.header_status:
        facts.append(f"{timer.header_status} before headers")
    facts.append(f"{'+'.join(evidence.value for evidence in timer.evidence)}, confidence {timer.confidence.value}")
    console.print(Text("  " + "; ".join(facts)))
    for source in timer.source:
        console.print(Text(f"  {source}", style="dim"), soft_wrap=True)
