"""`canary silence add|list|end`: nobody is told of what fits, for a time. Measuring goes on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from canary.alerting.incidents import BLIND
from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.cli import options, stored
from canary.cli.errors import UsageError
from canary.cli.grouped import grouped
from canary.cli.screen import plain
from canary.cli.when import ahead, local, now
from canary.core.finding import Severity
from canary.core.route import Match, Silence
from canary.core.units import format_duration
from canary.store import Store

_CHECKS = (*CHECKS, BUDGET, BLIND)  # the last two are no rows there: of several answers, and of the monitor itself

silence = typer.Typer(
    name="silence", help="Mute messages for a time; measuring goes on.", no_args_is_help=True, add_completion=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """What is muted, as typed."""

    pipeline: Annotated[str | None, typer.Option("--pipeline", metavar="NAME", help="Only this one.")] = None
    probe: Annotated[str | None, typer.Option("--probe", metavar="NAME", help="Only this one.")] = None
    check: Annotated[str | None, typer.Option("--check", metavar="NAME", help="Only what this check finds.")] = None
    hop: Annotated[str | None, typer.Option("--hop", metavar="NAME", help="Only what begins at this hop.")] = None
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="Only pipelines with this label.")
    ] = None
    severity: Annotated[
        Severity | None, typer.Option("--severity", case_sensitive=False, help="Only what is so severe.")
    ] = None

    def match(self) -> Match:
        """Raises UsageError for what fits nothing, or everything."""
        match = Match(
            labels=dict(map(_label, self.label or ())),
            pipeline=self.pipeline,
            probe=self.probe,
            check=None if self.check is None else known_check(self.check, "--check"),
            hop=self.hop,
            severity=self.severity,
        )
        if match == Match():
            msg = "this would silence everything; name a pipeline, probe, check, hop, label or severity"
            raise UsageError(msg)
        return match


@silence.command()
@grouped
def add(
    *,
    lasting: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long: 30m, 2h, 1d.")],
    fitting: Fitting,
    comment: Annotated[str, typer.Option("--comment", metavar="TEXT", help="Why, for those who wonder.")] = "",
    author: Annotated[
        str | None, typer.Option("--author", metavar="NAME", help="Who; the user of this shell by default.")
    ] = None,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """Mute what fits all that is given, from now on. Print the silence's id."""
    made = Silence(
        id=secrets.token_hex(4),
        match=fitting.match(),
        starts_at=now(),
        ends_at=ahead(lasting, "--for"),
        author=author or stored.user(),
        comment=comment,
    )
    stored.change(stored.storage_of(config, storage), lambda store: store.add_silence(made))
    typer.echo(made.id)


@silence.command("list")
def list_(
    *,
    config: stored.Config = None,
    storage: stored.Url = None,
    as_json_lines: options.AsJson = False,
) -> None:
    """The silences that hold now."""
    moment = now()
    found = stored.look(stored.storage_of(config, storage), lambda store: store.silences(moment))
    stored.say_list(
        found,
        "no silence holds now",
        lambda each: f"{matched(each.match)}, {_why(each, moment)}",
        as_json_lines=as_json_lines,
    )


@silence.command()
def end(
    silence_id: Annotated[str, typer.Argument(metavar="ID", help="A silence's id, or how it begins.")],
    *,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """End a silence now."""
    moment = now()

    async def ended(store: Store) -> Silence:
        one = stored.the_one("silence", await store.silences(moment), silence_id)
        await store.end_silence(one.id, moment)
        return one

    one = stored.change(stored.storage_of(config, storage), ended)
    Console(highlight=False).print(Text(f"ended {plain(one.id)}: {plain(matched(one.match))}"))


def known_check(name: str, where: str) -> str:
    """A misspelt check would mute nothing, and nobody would know before the next page."""
    if name not in _CHECKS:
        msg = f"{where}: there is no check {name!r}; there are {', '.join(_CHECKS)}"
        raise UsageError(msg)
    return name


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        msg = f"--label {text!r}: expected NAME=VALUE, like env=prod"
        raise UsageError(msg)
    return name, value


def matched(match: Match) -> str:
    """`pipeline chat, check budget, env=prod`."""
    named = {
        "pipeline": match.pipeline,
        "probe": match.probe,
        "check": match.check,
        "hop": match.hop,
        "severity": match.severity,
    }
    parts = [f"{name} {value}" for name, value in named.items() if value is not None]
    parts += [f"{name}={value}" for name, value in match.labels.items()]
    return ", ".join(parts) or "everything"


def _why(silence: Silence, moment: datetime) -> str:
    left = format_duration((silence.ends_at - moment).total_seconds())
    about = f": {silence.comment}" if silence.comment else ""
    return f"until {local(silence.ends_at)} (for {left}), by {silence.author}{about}"
