"""When runs are due: an interval's beats on the monotonic clock, and cron's times on the wall's. Pure.

Beat n is due at `start_s + n * seconds`, plus a jitter of its own that a hash of name and n gives: the same in every
process, so a reload or a test finds the same beats, and two canaries with the same config do not knock at once only if
their names differ. A beat that went by while nobody looked is not caught up with: the next one is soon enough.

The first beat comes early, so that a new daemon says something within seconds and no restart starves a rare probe:

1. The first probe of each pipeline within `FIRST_WITHIN_S`.
2. One that ran before, when its interval since then is over; if it is over already, within `OVERDUE_WITHIN_S`.
3. Any other one at its own place in its interval, of which the first `SPREAD_OVER_S` are enough: a daemon that is
   started anew every few hours would never come to a daily probe's place in the evening.

The place is a hash of the names: many probes spread evenly, however they were written down.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from canary.alerting.calendar import Times
from canary.core.schedule import Every

FIRST_WITHIN_S = 5.0
OVERDUE_WITHIN_S = 30.0
SPREAD_OVER_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    name: str
    every: Every
    start_s: float

    @property
    def tolerance_s(self) -> float:
        """How much too early a timer may ring: it still means the beat that it was set for."""
        return min(1.0, self.every.seconds / 10)

    def beat(self, number: int) -> float:
        jitter_s = min(self.every.jitter_s, self.every.seconds / 2)  # beats keep their order
        late_s = jitter_s * _fraction(f"{self.name}/{number}") if number else 0.0
        return self.start_s + number * self.every.seconds + late_s

    def number_after(self, at_s: float) -> int:
        """The first beat that is still to come at `at_s`; one that is due within the tolerance counts as there."""
        number = max(0, math.floor((at_s - self.start_s) / self.every.seconds) - 1)
        while self.beat(number) <= at_s + self.tolerance_s:
            number += 1
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class CronTimes:
    """The times of a cron expression, each late by a jitter of its own."""

    name: str
    times: Times
    jitter_s: float

    def next_after(self, now: datetime) -> datetime:
        """In UTC."""
        fire = now.astimezone(UTC) - timedelta(seconds=self.jitter_s)
        while True:
            fire = self.times.after(fire)
            late_s = self.jitter_s * _fraction(f"{self.name}/{fire.timestamp()}")
            due = fire + timedelta(seconds=late_s)
            if due > now:
                return due

    def count(self, after: datetime, until: datetime) -> int:
        """How many are due in (after, until]."""
        number = 0
        while (after := self.next_after(after)) <= until:
            number += 1
        return number


def first_beat_s(name: str, every: Every, *, age_s: float | None, opens: bool) -> float:
    """Seconds from now to the first beat. `age_s`: since its last run; `opens`: it is the first of its pipeline."""
    place = _fraction(name)
    if opens:
        return place * min(FIRST_WITHIN_S, every.seconds)
    if age_s is None or age_s < 0:  # a run in the future: the wall clock was wrong then, or is now
        return place * min(SPREAD_OVER_S, every.seconds)
    return max(every.seconds - age_s, place * min(OVERDUE_WITHIN_S, every.seconds))


def _fraction(text: str) -> float:
    """In [0, 1), spread evenly and equal in every process."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48
