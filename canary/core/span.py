"""History in spans of time: what all answers of a hop within one of them come to.

A page that shows a day and one that shows a quarter of a year are drawn from about as many spans, because each range
has its own grain; so what it costs to look back does not grow with how often anything is probed, nor with how long we
have run. An extreme survives the merging and a mean is exact; a percentile would be neither, so there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from canary.core.measurement import Fingerprint
from canary.core.verdict import Status

WHOLE_RUN = ""  # stands for the hop where a count is of runs and not of one hop's answers
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """How far back a page looks, and the spans that it sees; both divide a UTC day or are a number of them."""

    name: str
    length: timedelta
    grain: timedelta

    def starts(self, now: datetime) -> tuple[datetime, ...]:
        """When its spans begin, oldest first; `now` lies within the last one."""
        last = floor(now, self.grain)
        count = self.length // self.grain
        return tuple(last - self.grain * back for back in reversed(range(count)))


RANGES: Mapping[str, Range] = MappingProxyType(
    {
        each.name: each
        for each in (
            Range(name="24h", length=timedelta(days=1), grain=timedelta(minutes=15)),
            Range(name="7d", length=timedelta(days=7), grain=timedelta(hours=2)),
            Range(name="30d", length=timedelta(days=30), grain=timedelta(hours=8)),
            Range(name="90d", length=timedelta(days=90), grain=timedelta(days=1)),
        )
    }
)
DAYS = RANGES["90d"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Of runs, by the worst verdict in each."""

    passed: int = 0
    warned: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.warned + self.failed + self.unknown

    @property
    def worst(self) -> Status | None:
        """UNKNOWN only where nothing else is known: it is no change for the worse. None: there was no run."""
        found = (
            (self.failed, Status.FAIL),
            (self.warned, Status.WARN),
            (self.passed, Status.PASS),
            (self.unknown, Status.UNKNOWN),
        )
        return next((status for count, status in found if count), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One hop of one pipeline on one UTC day, all probes together; `hop` may be `WHOLE_RUN`."""

    pipeline: str
    hop: str
    at: datetime
    counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Of the answers that have the number; at least one."""

    count: int
    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One hop under one probe from `at` on. Numbers are of whole answers only, not of those that prove budgets.

    `never`: answers without any visible text. `silences`: the longest by clock, in seconds. `fingerprint`: the latest.
    """

    hop: str
    at: datetime
    counts: Counts
    never: int = 0
    first_reasoning: Spread | None = None
    first_visible: Spread | None = None
    reasoning_share: Spread | None = None
    silences: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    fingerprint: Fingerprint | None = None


def floor(moment: datetime, grain: timedelta) -> datetime:
    """When the span began that `moment` lies in."""
    return moment - (moment - _EPOCH) % grain
