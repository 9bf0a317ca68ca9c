"""The command line: thin commands over the layers below."""

from __future__ import annotations

import sys

import typer
from typer.exceptions import TyperException

from canary.cli.errors import UsageError
from canary.cli.exit_codes import ExitCode
from canary.cli.presets import presets
from canary.cli.probe import probe
from canary.cli.record import record
from canary.cli.replay import replay

app = typer.Typer(
    name="canary",
    help="Synthetic monitoring for LLM pipelines that serve reasoning models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 pass, 1 a check failed, 2 could not tell, 3 bad config or usage.",
)
app.command()(probe)
app.command()(record)
app.command()(replay)
app.command()(presets)


def main() -> None:
    """Run a command; every fault of the user's becomes one line on stderr and exit 3."""
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        typer.echo(f"canary: {error}", err=True)
        sys.exit(ExitCode.USAGE)
    except TyperException as error:
        typer.echo(f"canary: {error.format_message()} (canary --help lists the commands)", err=True)
        sys.exit(ExitCode.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    sys.exit(code)
