"""Standard output and standard error where they cannot be written: the disk is full, or the reader has left.

What a command prints is its result. Where nobody gets it, the command has neither passed nor failed, and must not leave
with a code that says so: Python's own end of such a program is 1, which means here that a check failed. Complaints,
progress and logs stand beside the result, and everything goes on without them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from canary.cli.exit_codes import ExitCode

READER_LEFT = 141  # 128 + SIGPIPE, as shells say it


class OutputError(SystemExit):
    """The program ends, also from within tasks that outlive an error. `why` None: the reader left and wants no more."""

    def __init__(self, error: OSError) -> None:
        left = isinstance(error, BrokenPipeError)
        super().__init__(READER_LEFT if left else int(ExitCode.USAGE))
        self.why = None if left else error.strerror or str(error)


class Result(TextIOWrapper):
    """Raises OutputError for what cannot be written."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OutputError(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise OutputError(error) from None


class Beside(TextIOWrapper):
    """What cannot be written is lost."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def guard() -> None:
    r"""From here on both are as above; None, where one was closed before we began, stays None.

    What the encoding cannot express (the byte FF in a file's name) is written as `\udcff`, as JSON has it too.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout = as_kind(Result, sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr = as_kind(Beside, sys.stderr)


def as_kind(kind: type[TextIOWrapper], stream: TextIOWrapper) -> TextIOWrapper:
    """As prompt as before: unbuffered where PYTHONUNBUFFERED says so."""
    encoding, by_line, at_once = stream.encoding, stream.line_buffering, stream.write_through
    raw = stream.detach()
    return kind(raw, encoding=encoding, errors="backslashreplace", line_buffering=by_line, write_through=at_once)


def give_up() -> None:
    """Python flushes standard output once more at its end, and must find somebody who takes it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
