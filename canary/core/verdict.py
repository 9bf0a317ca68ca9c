"""The answer of one check for one subject. UNKNOWN is an answer: what we could not tell never opens an incident."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    PASS = "PASS"  # noqa: S105
    WARN = "WARN"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`message` is one sentence with the numbers in it; `observed` and `limit` are the same numbers, in `unit`.

    `subject` names what the check looked at where it looks at several things: a timeout, a parameter.
    """

    check: str
    status: Status
    reason: str
    message: str
    subject: str | None = None
    observed: float | None = None
    limit: float | None = None
    unit: str | None = None


_WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS)


def worst(verdicts: Iterable[Verdict]) -> Status:
    """FAIL before UNKNOWN before WARN before PASS; no verdicts at all is UNKNOWN."""
    seen = {verdict.status for verdict in verdicts}
    return next((status for status in _WORST_FIRST if status in seen), Status.UNKNOWN)
