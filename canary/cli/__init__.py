"""The command line: thin commands over the layers below.

Each command brings its part of the program along: the store's libraries, the HTTP server, the config's schema. Together
they take two seconds of CPU to import, so only the command that was asked for is imported.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Annotated

import typer
from typer.exceptions import TyperException

from canary import __version__
from canary.cli.errors import UsageError
from canary.cli.exit_codes import MEANINGS, ExitCode
from canary.cli.output import OutputError, give_up, guard

INTERRUPTED = 130  # 128 + SIGINT, as shells say it

# In the order of `canary --help`: where each command is, below this package.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "demo:demo",
        "run": "run:run",
        "probe": "probe:probe",
        "record": "record:record",
        "replay": "replay:replay",
        "check": "check:check",
        "schema": "check:schema",
        "probes": "check:probes",
        "presets": "presets:presets",
        "history": "history:history",
        "show": "show:show",
        "report": "report:report",
        "incidents": "incidents:incidents",
        "incident": "incident:incident",
        "silence": "silence:silence",
        "explain": "explain:explain",
        "notify-test": "notify_test:notify_test",
        "drill": "drill:drill",
    }
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reasoning-canary {__version__}")
        raise typer.Exit


def _options(
    *,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def app(commands: Sequence[str] = tuple(COMMANDS)) -> typer.Typer:
    """The command line with these commands, imported."""
    made = typer.Typer(
        name="canary",
        help="Synthetic monitoring for LLM pipelines that serve reasoning models.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=f"Exit codes: {MEANINGS}",
    )
    made.callback()(_options)
    for name in commands:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"canary.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(command)
    return made


def _asked(argv: Sequence[str]) -> Sequence[str]:
    """The command that is asked for; help, and a word that is none, need all of them."""
    if argv[:1] == ["--version"]:
        return ()
    return argv[:1] if argv and argv[0] in COMMANDS else tuple(COMMANDS)


def console() -> int:
    """What the `canary` command starts: SIGTERM ends it like Ctrl-C, also as process 1 of a container.

    The kernel drops a signal that process 1 has no handler for, and Python has none for SIGTERM.
    """
    guard()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        code = main()
        if sys.stdout is not None:
            sys.stdout.flush()  # as long as we can still say that it failed
    except OutputError as error:
        give_up()
        if error.why is not None:
            _complain(f"standard output: {error.why}")
        return int(error.code or 0)
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every fault of the user's becomes one line on stderr and code 3."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        return int(app(_asked(words))(words, standalone_mode=False) or 0)
    except UsageError as error:
        _complain(str(error))
    except TyperException as error:
        if error.format_message():  # without arguments the help was printed, and there is nothing to add
            _complain(f"{error.format_message()} (try canary --help)")
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return ExitCode.USAGE


def _complain(message: str) -> None:
    """File names and what stands in files come from anywhere: no terminal obeys them."""
    from canary.cli.screen import shown  # noqa: PLC0415  # with it come streams and their pictures

    for number, line in enumerate(message.split("\n")):
        typer.echo(shown(line if number else f"canary: {line}"), err=True)
