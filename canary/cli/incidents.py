"""`canary incidents`: what is wrong now, and what changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from canary.alerting.diagram import as_mermaid, as_text
from canary.cli import options, stored
from canary.cli.history import in_brief
from canary.cli.screen import plain
from canary.cli.waterfall import SEVERITY_STYLES
from canary.cli.when import instant, local, now
from canary.core.incident import Incident, IncidentKey, Page, State, Transition
from canary.core.jsonable import as_json
from canary.core.units import format_duration
from canary.store import Store

_STATE_STYLES = {State.OK: "green", State.PENDING: "yellow", State.FIRING: "bold red", State.RECOVERING: "cyan"}


def incidents(
    *,
    only_open: Annotated[bool, typer.Option("--open", help="Only what is wrong now, not what changed.")] = False,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="Changes since: 90s, 2h, 7d, or a time.")
    ] = "24h",
    diagram: Annotated[
        bool, typer.Option("--diagram", help="Print the state machine: as a table, and for Mermaid.")
    ] = False,
    config: stored.Config = None,
    storage: stored.Url = None,
    as_json_object: options.AsJson = False,
) -> None:
    """List open incidents, worst first, and the changes of late."""
    if diagram:
        typer.echo(f"{as_text()}\n\n{as_mermaid()}")
        return
    begin = instant(since, "--since")

    async def asked(store: Store) -> tuple[tuple[Incident, ...], tuple[Page, ...], tuple[Transition, ...]]:
        changes = () if only_open else await store.transitions(begin)
        return await store.incidents(), await store.pages(), changes

    found, pages, changes = stored.look(stored.storage_of(config, storage), asked)
    if as_json_object:
        told = {"incidents": as_json(found), "pages": as_json(pages)}
        stored.say_json(told if only_open else told | {"transitions": as_json(changes)})
        return
    console = Console(highlight=False)
    _show_open(console, found, pages)
    if not only_open:
        console.print()
        _show_changes(console, changes, since=begin)


def _show_open(console: Console, found: Iterable[Incident], pages: Iterable[Page]) -> None:
    page_of = {member: page for page in pages for member in page.members}
    order = [State.FIRING, State.RECOVERING, State.PENDING]
    ranked = sorted(found, key=lambda each: (order.index(each.state), each.severity.value, each.since))
    if not ranked:
        console.print(Text("no incident is open", style="green"))
    for each in ranked:
        line = Text.assemble(
            (each.state.value.upper(), _STATE_STYLES[each.state]),
            (f" {each.severity.value.upper()}", SEVERITY_STYLES[each.severity]),
            (f" {plain(in_brief(each.finding))}", "bold"),
        )
        console.print(line)
        console.print(Padding(Text(plain(each.finding.message)), (0, 0, 0, 2), expand=False))
        console.print(Text(f"  {plain(_place(each, page_of.get(each.id)))}", style="dim"), soft_wrap=True)


def _place(incident: Incident, page: Page | None) -> str:
    begun = incident.first_seen_at
    lasting = format_duration(max((now() - begun).total_seconds(), 0.0))
    parts = [
        f"{incident.key.pipeline}, {incident.key.probe}",
        f"since {local(begun)} ({lasting})",
        f"incident {incident.id}",
        f"run {incident.run_id}",
    ]
    if page:
        acked = f", acknowledged by {page.acked_by}" if page.acked_by else ""
        parts.append(f"page {page.id}{acked}")
    return "; ".join(parts)


def _show_changes(console: Console, changes: Iterable[Transition], *, since: datetime) -> None:
    console.print(Text(f"changes since {local(since)}:", style="dim"))
    for change in changes:
        run = f", run {change.run_id}" if change.run_id else ""
        line = Text.assemble(
            (f"{local(change.at)}  ", "dim"),
            (change.before.value, _STATE_STYLES[change.before]),
            " → ",
            (change.after.value, _STATE_STYLES[change.after]),
            f"  {plain(_named(change.key))}{plain(run)}",
        )
        console.print(line, soft_wrap=True)


def _named(key: IncidentKey) -> str:
    subject = f" {key.subject}" if key.subject else ""
    return f"{key.pipeline}, {key.probe}: {key.check}{subject} at {key.origin}"
