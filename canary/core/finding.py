"""The root cause that several failing verdicts share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canary.core.verdict import Verdict


class Severity(StrEnum):
    CRITICAL = "critical"  # the hop nearest the user is affected: people feel it
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class HopVerdict:
    """One verdict, and where and with which form of the request it was reached."""

    hop: str
    variant: str
    verdict: Verdict


def never_reached(check: str, reason: str) -> bool:
    """Whether it says that nobody got as far as to the hop: whatever is the matter there, no hop below it is why."""
    return check == "reachable" and reason in {"dns", "connect", "tls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`origin` is the hop at fault; `edge` the pair (hop above, hop below) where good turned bad, if there is one.

    `affected` are the failing hops above the origin, nearest first: consequences, not causes of their own.
    `at_or_below`: the hop below the origin could not be judged, so the fault may be further down.
    """

    check: str
    reason: str
    origin: str
    severity: Severity
    message: str
    variant: str
    subject: str | None = None
    edge: tuple[str, str] | None = None
    affected: tuple[str, ...] = ()
    at_or_below: bool = False
    evidence: tuple[HopVerdict, ...] = ()
