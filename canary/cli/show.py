"""`canary show RUN`: a stored run, as it looked when it was made.

Numbers and verdicts are those of that time: a newer program judges streams with `canary replay`. Pictures are drawn
from kept transcripts. Of an answer whose transcript was not kept, or is pruned, the numbers and verdicts remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from canary.analysis.picture import top_down
from canary.cli import options, stored
from canary.cli.drawing import draw
from canary.cli.errors import UsageError
from canary.cli.screen import STYLES, plain, show_numbers, show_result, show_verdicts
from canary.cli.waterfall import (
    repeat,
    request_name,
    show_findings,
    show_verdicts_by_hop,
    show_waterfall,
)
from canary.cli.when import local
from canary.core.jsonable import as_json
from canary.core.observation import Json, StoppedByUs
from canary.core.run import HopResult, Run
from canary.core.units import format_duration
from canary.core.verdict import worst
from canary.store import AmbiguousIdError, Store, StoredResult, StoredRun
from canary.wire.kept import result_of, run_of


def show(  # noqa: PLR0913  # one parameter an option
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or how it begins; see canary history.")],
    *,
    hop: Annotated[str | None, typer.Option("--hop", metavar="HOP", help="Only this hop, stream by stream.")] = None,
    config: stored.Config = None,
    storage: stored.Url = None,
    as_json_object: options.AsJson = False,
    every_verdict: options.EveryVerdict = False,
    picture: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also draw it: FILE.svg, or FILE.png (png extra).")
    ] = None,
) -> None:
    """Show a stored run: its streams, findings and verdicts, and the commands that repeat its requests."""
    found = stored.look(stored.storage_of(config, storage), lambda store: _found(store, run_id))
    chosen = _at(found, hop)
    if picture is not None:
        draw(run_of(replace(found, results=tuple(chosen))), picture)
    if as_json_object:
        stored.say_json(record(found, chosen))
        return
    console = Console(highlight=False)
    if hop is None:
        _show_run(console, found, every_verdict=every_verdict)
    else:
        for result in chosen:
            _show_one(console, result, title=f"{found.row.pipeline}  run {found.row.id}  {request_name(result)}")
            console.print()


async def _found(store: Store, prefix: str) -> StoredRun:
    """Raises UsageError, which says what there is instead."""
    try:
        run = await store.run(prefix)
    except AmbiguousIdError as error:
        msg = f"several runs begin with {prefix!r}: {', '.join(error.ids)}"
        raise UsageError(msg) from None
    if run is None:
        newest = [row.id for row in await store.runs(most=5)]
        there = f"the newest are {', '.join(newest)}" if newest else "the store holds none yet"
        msg = f"there is no run {prefix!r}; {there}"
        raise UsageError(msg)
    return run


def _at(found: StoredRun, hop: str | None) -> Sequence[StoredResult]:
    if hop is None:
        return found.results
    chosen = [result for result in found.results if result.hop == hop]
    if not chosen:
        hops = ", ".join(dict.fromkeys(result.hop for result in top_down(found.results))) or "no hop"
        msg = f"run {found.row.id} did not ask {hop!r}; it asked {hops}"
        raise UsageError(msg)
    return chosen


def _show_run(console: Console, found: StoredRun, *, every_verdict: bool) -> None:
    row, run = found.row, run_of(found)
    console.print(Text(plain(f"{row.pipeline}, {row.probe}, run {row.id}, {local(row.started_at)}"), style="bold"))
    if row.cut_short:
        console.print(Text(f"cut short ({row.cut_short.value}): nothing follows from it"))
    console.print()
    if run.results:
        show_waterfall(console, run)
    for note in _notes(found, run):
        console.print(Text(plain(note), style="dim"))
    if len(run.results) < len(found.results):
        console.print(_numbers([result for result in found.results if result.transcript is None]))
        console.print()
    show_findings(console, run)
    show_verdicts_by_hop(console, found.results, every_verdict=every_verdict)
    console.print()


def _notes(found: StoredRun, run: Run) -> list[str]:
    """What the picture does not show."""
    notes = [f"{request_name(each)}: {why}" for each in top_down(run.results) if (why := _missing(each))]
    without = [request_name(each) for each in top_down(found.results) if each.transcript is None]
    if without:
        notes.append(f"streams not kept, numbers only: {', '.join(without)}")
    return notes


def _missing(result: HopResult) -> str | None:
    """A long transcript is stored without its last part, and then says so in its own end."""
    end = result.observation.end
    return end.reason if isinstance(end, StoppedByUs) and end != result.measurement.end else None


def _numbers(results: Sequence[StoredResult]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("hop", style="bold", overflow="fold")
    table.add_column("worst", no_wrap=True)
    for name in ("first token", "first visible", "longest silence", "total"):
        table.add_column(name, justify="right")
    for result in top_down(results):
        status, numbers = worst(result.verdicts), result.measurement
        silence = numbers.silence.visible
        table.add_row(
            Text(plain(request_name(result))),
            Text(status.value, style=STYLES[status]),
            _seconds(numbers.time_to_first_token_s),
            _seconds(numbers.time_to_first_visible_content_s),
            ("≥ " if silence.censored else "") + format_duration(silence.longest_s),
            format_duration(numbers.total_s),
        )
    return table


def _seconds(value: float | None) -> str:
    return "never" if value is None else format_duration(value)


def _show_one(console: Console, result: StoredResult, *, title: str) -> None:
    with_stream = result_of(result)
    if with_stream is None:
        console.print(Text(plain(title), style="bold"))
        console.print(Text("its stream was not kept", style="dim"))
        console.print()
        show_numbers(console, result.measurement)
        show_verdicts(console, result.verdicts)
        return
    show_result(console, with_stream, title=title)
    if why := _missing(with_stream):
        console.print(Text(plain(f"\nthe picture is not all: {why}"), style="dim"))


def record(found: StoredRun, results: Sequence[StoredResult]) -> dict[str, Json]:
    """The object of `canary probe --json`, and what the store knows besides."""
    row, run = found.row, run_of(found)
    return {
        "run": row.id,
        "pipeline": row.pipeline,
        "probe": row.probe,
        "started_at": row.started_at.isoformat(),
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
        "status": row.status.value,
        "cut_short": row.cut_short.value if row.cut_short else None,
        "hops": [
            {
                "hop": result.hop,
                "variant": result.variant,
                "engine_version": result.engine_version,
                "measurement": as_json(result.measurement),
                "verdicts": as_json(result.verdicts),
                "load": as_json(result.load),
                "stream_kept": result.transcript is not None,
            }
            for result in results
        ],
        "findings": [as_json(finding) | {"curl": repeat(finding, run)} for finding in row.findings],
    }
