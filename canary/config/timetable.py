"""How often a schedule is due, and how it is said. A cron is looked at over a week; a rarer one over four years.

The week begins at a fixed Monday, so that the same config has the same estimate whenever it is read, and has eight
days, because from Sunday to Monday is a gap too. Four years hold every day that there is, the 29th of February too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise

from canary.alerting.calendar import times_of
from canary.core.schedule import Cron, Every, Schedule
from canary.core.units import format_duration

_MONDAY = datetime(2026, 3, 2, tzinfo=UTC)  # of days on which hardly any clock changes
_WEEK, _FOUR_YEARS = timedelta(days=8), timedelta(days=4 * 366)
_DAY_S = 86_400.0
_MOST_RARE = 500  # times in four years that are looked at: those of one day are among them


def runs_on_a_busy_day(schedule: Schedule | None) -> float:
    """0 without a schedule. Of a cron, the day of its own time zone on which it is due most often."""
    match schedule:
        case None:
            return 0.0
        case Every():
            return _DAY_S / schedule.seconds
        case Cron():
            return float(max(Counter(time.date() for time in _times(schedule)).values(), default=0))


def shortest_gap_s(schedule: Schedule) -> float:
    """Between two times; infinite where there are not two of them."""
    if isinstance(schedule, Every):
        return schedule.seconds
    times = [time.astimezone(UTC) for time in _times(schedule)]
    return min(((later - earlier).total_seconds() for earlier, later in pairwise(times)), default=float("inf"))


def describe_schedule(schedule: Schedule | None) -> str:
    if schedule is None:
        return "on demand"
    jitter = f" ± {format_duration(schedule.jitter_s)}" if schedule.jitter_s else ""
    if isinstance(schedule, Every):
        return f"every {format_duration(schedule.seconds)}{jitter}"
    return f"at {schedule.expression} in {schedule.timezone}{jitter}"


@lru_cache(maxsize=64)
def _times(cron: Cron) -> tuple[datetime, ...]:
    """In the cron's own time zone. Kept, because a minute's cron is due 11,520 times and is asked for twice."""
    return tuple(_within(cron, _WEEK)) or tuple(islice(_within(cron, _FOUR_YEARS), _MOST_RARE))


def _within(cron: Cron, span: timedelta) -> Iterator[datetime]:
    times = times_of(cron)
    time = times.after(_MONDAY - timedelta(microseconds=1))
    while time < _MONDAY + span:
        yield time.astimezone(times.zone)
        time = times.after(time)
