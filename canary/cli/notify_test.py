"""`canary notify-test`: does a message arrive? The one question that no other test can answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import aiohttp
import typer
from rich.console import Console
from rich.text import Text

from canary.cli import options
from canary.cli.check import load
from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.screen import plain
from canary.core.notification import Delivery, Rejected, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.spec import Plan
from canary.notify import notify_test as send_test


def notify_test(
    receiver: Annotated[
        str | None, typer.Argument(metavar="RECEIVER", help="A receiver of the config; all of them if none is named.")
    ] = None,
    *,
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", metavar="FILE", help="Config files; canary.yaml by default.")
    ] = None,
    as_json_lines: options.AsJson = False,
) -> None:
    """Send a message, marked as a test, to a receiver. Exit code 1 if one was not taken."""
    receivers = chosen_receivers(load(config), receiver)
    outcomes = asyncio.run(_send(receivers))
    console = Console(highlight=False)
    for each, outcome in zip(receivers, outcomes, strict=True):
        word, why, style = _said(outcome)
        if as_json_lines:
            typer.echo(json.dumps({"receiver": each.name, "kind": each.kind, "outcome": word, "why": why}))
            continue
        line = Text(word, style=style).append(f"  {plain(each.name)} ({each.kind})", style="bold")
        console.print(line.append(f": {plain(why)}" if why else "", style="not bold"), soft_wrap=True)
    raise typer.Exit(ExitCode.PASS if all(isinstance(each, Sent) for each in outcomes) else ExitCode.FAIL)


def chosen_receivers(plan: Plan, name: str | None) -> Sequence[Receiver]:
    """Raises UsageError where there is nobody to tell."""
    found = [each for each in plan.receivers if name in (None, each.name)]
    if found:
        return found
    known = ", ".join(each.name for each in plan.receivers)
    msg = f"there is no receiver {name!r}; there are {known}" if known else "the config has no receivers"
    raise UsageError(msg)


async def _send(receivers: Sequence[Receiver]) -> list[Delivery]:
    now = datetime.now(UTC)  # noqa: TID251  # the command line is where the wall clock is read
    async with aiohttp.ClientSession() as session:
        return [await send_test(each, session=session, now=now) for each in receivers]


def _said(outcome: Delivery) -> tuple[str, str, str]:
    match outcome:
        case Sent(note=note):
            return "sent", note, "green"
        case RetryLater(why=why):
            return "not now", why, "yellow"
        case Rejected(why=why):
            return "rejected", why, "red"
