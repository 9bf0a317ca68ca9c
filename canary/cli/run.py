"""`canary run`: the daemon in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from canary.cli.errors import UsageError
from canary.cli.output import OutputError
from canary.config.errors import ConfigError
from canary.config.load import load_plan
from canary.config.references import files_in
from canary.config.service_fields import parse_address
from canary.core.spec import Plan
from canary.daemon import Config, run_daemon
from canary.store import StoreError
from canary.web.serve import ListenError

_YAML = (".yaml", ".yml")
Seen: TypeAlias = tuple[int, int, int]  # when it was changed, its size, and which file it is


def run(
    *,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", "-c", metavar="FILE", help="Config files or folders; canary.yaml by default."),
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Serve here, whatever the config says.")
    ] = None,
) -> None:
    """Probe on schedule, remember, alert, and serve metrics and pages. SIGHUP reads the config again."""
    paths = config or [Path("canary.yaml")]
    place = place_of(listen) if listen else None

    def load() -> Plan:
        plan = load_plan(paths, env=os.environ)
        return listening_at(plan, *place) if place else plan

    async def daemon() -> None:
        await run_daemon(Config(load=load, stamp=lambda: stamp(paths)), stop=asyncio.Event())

    begin(daemon())


def begin(daemon: Coroutine[None, None, None]) -> None:
    """Run a daemon until it is told to stop. Raises UsageError where it cannot begin.

    A SIGHUP that comes before it listens asks for what it is about to do anyway, and must not end it.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def ended() -> OutputError | None:
        """Whoever read its output and left has ended the loop; asyncio would complain that nobody caught it there."""
        try:
            await daemon
        except OutputError as error:
            return error
        return None

    try:
        lost = asyncio.run(ended())
    except (ConfigError, StoreError, ListenError) as error:
        raise UsageError(str(error)) from None
    if lost is not None:
        raise lost


def place_of(text: str) -> tuple[str, int]:
    """What the config takes as `listen: {address: ...}`. Raises UsageError."""
    try:
        return parse_address(text)
    except ValueError as error:
        msg = f"--listen {error}"
        raise UsageError(msg) from None


def listening_at(plan: Plan, host: str, port: int) -> Plan:
    listen = replace(plan.service.listen, host=host, port=port)
    return replace(plan, service=replace(plan.service, listen=listen))


def stamp(paths: Sequence[Path]) -> object:
    """Differs once a YAML file that was named, or lies beside one, was changed, came or went, or a secret's file did.

    What is included or used from elsewhere is read again on SIGHUP. A ConfigMap that is swapped through a link shows
    in the files behind it.
    """
    files = {file for path in paths for file in _yaml_beside(path)}
    seen = {file: found for file in files if (found := _seen(file))}
    secrets = {secret for file, found in seen.items() for secret in _secrets_of(file, found)}
    return frozenset(seen.items()), frozenset((secret, _seen(secret)) for secret in secrets)


def _yaml_beside(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    try:
        return [file for file in folder.iterdir() if file.suffix in _YAML]
    except OSError:
        return []


def _seen(file: Path) -> Seen | None:
    """None where it is not there: gone in this moment is a change, too."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=1024)
def _secrets_of(file: Path, _seen: Seen) -> tuple[Path, ...]:
    """Read again only once the file was changed."""
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return ()
    return tuple(file.parent / name for name in files_in(text))
