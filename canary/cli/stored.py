"""The daemon's store, for the commands that look back.

Looking is read only: it works while the daemon writes, and it neither makes nor migrates a database. A store that is
not there is a question to the person who asked, not a reason to create an empty one and report that nothing failed.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from canary.cli.check import read
from canary.cli.errors import UsageError
from canary.cli.screen import plain
from canary.config.look_back import load_storage
from canary.core.jsonable import as_json
from canary.core.observation import Json
from canary.core.route import Silence
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.status import Override
from canary.store import Store, StoreError, open_store

_Found = TypeVar("_Found")


class Named(Protocol):
    @property
    def id(self) -> str: ...


_Named = TypeVar("_Named", bound=Named)
Held = TypeVar("Held", Silence, Override)

Config = Annotated[
    list[Path] | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The daemon's config, for its storage; canary.yaml by default."
    ),
]
Url = Annotated[
    str | None,
    typer.Option("--storage", metavar="URL", help="The store itself, like sqlite:///canary-data/canary.db: no config."),
]


def storage_of(config: list[Path] | None, url: str | None) -> Storage:
    """Where the daemon keeps what it finds. Raises UsageError."""
    if url is None:
        return _said_by(config)
    if config:
        msg = "--config and --storage exclude each other"
        raise UsageError(msg)
    return Storage(url=Secret(url))


def _said_by(config: list[Path] | None) -> Storage:
    try:
        return read(config, load_storage)
    except UsageError as error:
        msg = f"{error}\nor name the store itself: --storage URL"
        raise UsageError(msg) from None


def look(storage: Storage, ask: Callable[[Store], Awaitable[_Found]]) -> _Found:
    """What the store answers. Raises UsageError where there is none, or none that can be read."""

    async def asked() -> _Found:
        async with open_store(storage, read_only=True) as store:
            found = await ask(store)
            _say_what_is_left_out(store)
            return found

    try:
        return asyncio.run(asked())
    except StoreError as error:
        raise UsageError(str(error)) from None


def _say_what_is_left_out(store: Store) -> None:
    for row in store.aside.rows:
        line = f"canary: {row.key} of {row.table} is left out: {row.why}"
        typer.echo(plain(line), err=True)


def change(storage: Storage, do: Callable[[Store], Awaitable[_Found]]) -> _Found:
    """Writes into a store that is there already and as new as this program. Raises UsageError."""

    async def nothing(_: Store) -> None:
        pass

    async def done() -> _Found:
        async with open_store(storage) as store:
            return await do(store)

    look(storage, nothing)
    try:
        return asyncio.run(done())
    except StoreError as error:
        raise UsageError(str(error)) from None


def the_one(kind: str, found: Sequence[_Named], prefix: str) -> _Named:
    """The one that has this id, or the only one whose id begins so; nothing fits nothing: it is an unset variable.

    Raises UsageError with what there is. `kind` is what to call it.
    """
    fitting = [each for each in found if prefix and each.id.startswith(prefix)]
    exact = [each for each in fitting if each.id == prefix]
    if len(exact or fitting) != 1:
        there = ", ".join(each.id for each in fitting or found) or "none"
        msg = f"no single {kind} {prefix!r} holds now; there are {there}"
        raise UsageError(msg)
    return (exact or fitting)[0]


def say_list(found: Sequence[Held], none: str, line: Callable[[Held], str], *, as_json_lines: bool) -> None:
    """What holds now: an id and a line each, or an object each for programs. `none`: what to say where nothing does."""
    if as_json_lines:
        for each in found:
            say_json(as_json(each))
        return
    console = Console(highlight=False)
    if not found:
        console.print(Text(none, style="dim"))
    for each in found:
        console.print(Text.assemble((plain(each.id), "bold"), f"  {plain(line(each))}"), soft_wrap=True)


def user() -> str:
    return user_name(os.environ, os.getuid())


def user_name(env: Mapping[str, str], uid: int) -> str:
    """As the shell says it, else as the machine knows them; a container may run as a user without a name."""
    said = next((env[name] for name in ("LOGNAME", "USER") if env.get(name)), None)
    try:
        return said or pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def say_json(value: Json) -> None:
    """One line, in ASCII: what models and servers said may hold more than the controls that JSON itself escapes."""
    typer.echo(json.dumps(value))
