"""`canary incident note|override|overrides|end`: what a person says to everybody, beside or against what was measured.

It stands on the status page, in its feeds and badges. Nobody is paged by it, and measuring and paging go on.
"""

from __future__ import annotations

import secrets
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from canary.cli import options, stored
from canary.cli.errors import UsageError
from canary.cli.screen import plain
from canary.cli.when import ahead, local, now
from canary.core.status import Level, Note, Override
from canary.store import Store

_LONGEST = 1000  # characters of a note; as over HTTP

Author = Annotated[
    str | None,
    typer.Option("--author", metavar="NAME", help="Who; the user of this shell by default. It is not shown."),
]

incident = typer.Typer(
    name="incident",
    help="Tell everybody who reads the status page; nobody is paged.",
    no_args_is_help=True,
    add_completion=False,
)


@incident.command()
def note(
    page: Annotated[str, typer.Argument(metavar="PAGE", help="A page's id, as `canary incidents` shows it.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One line, for everybody to read.")],
    *,
    author: Author = None,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """Add a public update to a page's incident."""
    made = Note(page_id=page, at=now(), text=_line(text), author=author or stored.user())

    async def add(store: Store) -> None:
        await _known_page(store, page)
        await store.add_note(made)

    stored.change(stored.storage_of(config, storage), add)


@incident.command()
def override(
    subject: Annotated[str, typer.Argument(metavar="PAGE|PIPELINE", help="A page's id or a pipeline's name.")],
    status: Annotated[Level, typer.Argument(metavar="STATUS", help=f"One of {', '.join(Level)}.")],
    *,
    lasting: Annotated[str, typer.Option("--for", metavar="DURATION", help="How long: 30m, 2h, 1d.")],
    author: Author = None,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """Say how a page or a pipeline fares, whatever was measured, for a time. Print the override's id."""
    begins, ends = now(), ahead(lasting, "--for")
    name = _line(subject)

    async def add(store: Store) -> str:
        is_page = await store.page(name) is not None
        if not is_page:
            await _known_pipeline(store, name)
        made = Override(
            id=secrets.token_hex(6),
            level=status,
            at=begins,
            ends_at=ends,
            author=author or stored.user(),
            page_id=name if is_page else None,
            pipeline=None if is_page else name,
        )
        await store.add_override(made)
        return made.id

    typer.echo(stored.change(stored.storage_of(config, storage), add))


@incident.command()
def overrides(
    *,
    config: stored.Config = None,
    storage: stored.Url = None,
    as_json_lines: options.AsJson = False,
) -> None:
    """List the overrides that hold now."""
    moment = now()
    found = stored.look(stored.storage_of(config, storage), lambda store: store.overrides(moment))
    stored.say_list(found, "no override holds now", _said, as_json_lines=as_json_lines)


@incident.command()
def end(
    override_id: Annotated[str, typer.Argument(metavar="ID", help="An override's id, or how it begins.")],
    *,
    config: stored.Config = None,
    storage: stored.Url = None,
) -> None:
    """End an override now."""
    moment = now()

    async def ended(store: Store) -> Override:
        one = stored.the_one("override", await store.overrides(moment), override_id)
        await store.end_override(one.id, moment)
        return one

    one = stored.change(stored.storage_of(config, storage), ended)
    Console(highlight=False).print(Text(f"ended {plain(one.id)}: {plain(_said(one))}"))


async def _known_page(store: Store, page_id: str) -> None:
    if await store.page(page_id) is None:
        there = ", ".join(page.id for page in await store.pages()) or "none"
        msg = f"there is no page {page_id!r}; open or just closed are {there}"
        raise UsageError(msg)


async def _known_pipeline(store: Store, name: str) -> None:
    """By what was run: a misspelt name would change nothing, and nobody would know."""
    if not await store.runs(pipeline=name, most=1):
        msg = f"{name!r} is neither the id of a page nor a pipeline of which a run is kept"
        raise UsageError(msg)


def _line(text: str) -> str:
    """What everybody reads is one line of text that can be printed."""
    line = text.strip()
    if not line or not line.isprintable() or len(line) > _LONGEST:
        msg = f"a text must be one line of at most {_LONGEST} printable characters"
        raise UsageError(msg)
    return line


def _said(override: Override) -> str:
    subject = f"page {override.page_id}" if override.page_id else f"pipeline {override.pipeline}"
    return f"{subject} {override.level.value} until {local(override.ends_at)}, by {override.author}"
