"""What a command leaves with; `--help` and the README say it in these words."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from canary.core.verdict import Status, Verdict, worst


class ExitCode(IntEnum):
    PASS = 0
    FAIL = 1
    UNKNOWN = 2
    USAGE = 3


MEANINGS = (
    "0 pass (WARN too), 1 a check failed, 2 could not tell (an UNKNOWN and no FAIL), 3 bad config or usage, or a "
    "result that could not be written, 130 interrupted, 141 its reader left."
)


def exit_code(verdicts: Iterable[Verdict]) -> ExitCode:
    """FAIL beats UNKNOWN: a gate that only asks "is it broken" sees 1. UNKNOWN is never 0: it is no proof of health."""
    match worst(verdicts):
        case Status.FAIL:
            return ExitCode.FAIL
        case Status.UNKNOWN:
            return ExitCode.UNKNOWN
        case _:
            return ExitCode.PASS
