"""The command line: thin commands over the layers below."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from canary import __version__
from canary.cli.check import check, probes, schema
from canary.cli.demo import demo
from canary.cli.drill import drill
from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.explain import explain
from canary.cli.history import history
from canary.cli.incidents import incidents
from canary.cli.notify_test import notify_test
from canary.cli.presets import presets
from canary.cli.probe import probe
from canary.cli.record import record
from canary.cli.replay import replay
from canary.cli.report import report
from canary.cli.run import run
from canary.cli.screen import shown
from canary.cli.show import show
from canary.cli.silence import silence

INTERRUPTED = 130  # 128 + SIGINT, as shells say it

app = typer.Typer(
    name="canary",
    help="Synthetic monitoring for LLM pipelines that serve reasoning models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 pass, 1 a check failed, 2 could not tell, 3 bad config or usage.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reasoning-canary {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command()(demo)
app.command()(run)
app.command()(probe)
app.command()(record)
app.command()(replay)
app.command()(check)
app.command()(schema)
app.command()(probes)
app.command()(presets)
app.command()(history)
app.command()(show)
app.command()(report)
app.command()(incidents)
app.add_typer(silence)
app.command()(explain)
app.command("notify-test")(notify_test)
app.command()(drill)


def console() -> int:
    r"""What the `canary` command starts: SIGTERM ends it like Ctrl-C, also as process 1 of a container.

    The kernel drops a signal that process 1 has no handler for, and Python has none for SIGTERM. What the encoding of
    stdout cannot express (the byte FF in a file's name) is written as `\udcff`, as JSON has it too.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    return main()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every fault of the user's becomes one line on stderr and code 3."""
    try:
        return int(app(argv, standalone_mode=False) or 0)
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
    for number, line in enumerate(message.split("\n")):
        typer.echo(shown(line if number else f"canary: {line}"), err=True)
