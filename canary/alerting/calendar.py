"""When a cron expression is due, and whether a window of time is open. Pure: the time is an argument.

An expression means what crontab(5) says, computed by APScheduler's trigger, which differs from it in four points:

- It numbers weekdays from Monday = 0; crontab has Sunday = 0 and 7. Weekdays are translated one by one.
- With a day of the month and a weekday it wants both; crontab takes either, and many who write it think of the first.
  Such an expression is refused, so that nobody gets the other meaning.
- It takes words and fields of its own (`last`, `2nd fri`). What crontab does not know is refused.
- It loses times: its next day is 24 hours later, which after a change in spring is one o'clock, so what is due at
  midnight is left out, for a month where it comes once a month (seen in 3.11.3). So it is asked for times on the wall
  only, in a zone that never changes, and which moments those are is found out here.

A time that the clocks skip in spring is an hour later by the wall; one that they repeat in autumn comes twice. A window
lasts in real seconds from its start: one over a change of the clocks is not an hour longer or shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from canary.core.schedule import Cron, Once, Recurring, Window

_FIELDS = ("minute", "hour", "day of the month", "month", "weekday")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = re.compile(rf"(\*|(?:\d+|{_MONTHS})(?:-(?:\d+|{_MONTHS}))?)(?:/[1-9]\d*)?")
_WEEKDAY = rf"[0-7]|{'|'.join(_WEEKDAYS)}"
_WEEKDAY_PART = re.compile(rf"(?:(?P<any>\*)|(?P<first>{_WEEKDAY})(?:-(?P<last>{_WEEKDAY}))?)(?:/(?P<step>[1-9]\d*))?")


_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of a cron expression. `on_wall` takes and gives what a clock on a wall of `zone` shows, named UTC."""

    on_wall: CronTrigger
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime:
        """The first time later than `moment`, in UTC.

        Looked for under every offset of the day around: which one holds at that time is not known before it is found.
        """
        moment = moment.astimezone(UTC)
        around = ((moment + by).astimezone(self.zone).utcoffset() for by in (-_DAY, timedelta(0), _DAY))
        walls = {moment + offset for offset in around if offset is not None}
        return min(time for wall in walls for time in self._later(wall, moment))

    def _later(self, wall: datetime, moment: datetime) -> Iterator[datetime]:
        """The next ones on the wall that are later than `moment`; those behind a gap of the clocks may be earlier."""
        found = skipped = False
        while skipped or not found:
            wall = self.on_wall.get_next_fire_time(None, wall + timedelta(microseconds=1))
            first, second = (wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
            skipped = first > second
            for time in {first} if skipped else {first, second}:
                if time > moment:
                    found = True
                    yield time


@lru_cache(maxsize=1024)
def times_of(cron: Cron) -> Times:
    """The times of `cron`, without its jitter, which belongs to whoever runs something.

    Raises ValueError with a sentence that says which field is wrong, or that the zone is not known.
    """
    fields = cron.expression.lower().split()
    if len(fields) != len(_FIELDS):
        msg = f"{cron.expression!r} has {len(fields)} fields; a cron expression has five: {', '.join(_FIELDS)}"
        raise ValueError(msg)
    minute, hour, day, month, weekday = (_known(name, field) for name, field in zip(_FIELDS, fields, strict=True))
    if not day.startswith("*") and not weekday.startswith("*"):
        msg = f"{cron.expression!r} names a day of the month and a weekday; cron would take either, so name one of them"
        raise ValueError(msg)
    weekdays = ",".join(str((number - 1) % 7) for number in sorted(_weekdays(weekday)))
    zone = _zone(cron.timezone)
    try:
        trigger = CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=weekdays, second=0, timezone=UTC
        )
    except ValueError as error:
        msg = f"{cron.expression!r} is no cron expression: {error}"
        raise ValueError(msg) from None
    _refuse_never(cron, trigger)
    return Times(on_wall=trigger, zone=zone)


def open_until(window: Window, now: datetime) -> datetime | None:
    """When the window closes that is open now; None: it is not open. Of several overlapping ones, the last to close."""
    if isinstance(window, Once):
        return window.ends_at if window.starts_at <= now < window.ends_at else None
    return _open_until(window, now.astimezone(UTC))  # in any other zone, differences would be those on a wall


@lru_cache(maxsize=1024)
def _open_until(window: Recurring, now: datetime) -> datetime | None:
    """Asked of every incident at the same moment, and up to some milliseconds of work. `now` in UTC."""
    lasting = timedelta(seconds=window.duration_s)
    started = max(_starts(times_of(window.cron), now - lasting, now), default=None)
    return None if started is None else started + lasting


def occurrences(window: Window, now: datetime, until: datetime, most: int) -> tuple[Once, ...]:
    """The one that is open, and the next ones that begin before `until`, at most so many in all."""
    if isinstance(window, Once):
        return (window,) if now < window.ends_at and window.starts_at < until else ()
    lasting = timedelta(seconds=window.duration_s)
    times = times_of(window.cron)
    found: list[Once] = []
    closes = open_until(window, now)
    at = now.astimezone(UTC) if closes is None else closes - lasting - timedelta(microseconds=1)
    while len(found) < most and (at := times.after(at)) < until:
        found.append(Once(starts_at=at, ends_at=at + lasting))
    return tuple(found)


def _starts(times: Times, after: datetime, until: datetime) -> Iterator[datetime]:
    """The latest times in (after, until], in UTC: at least the last one, found without walking through all of them."""
    span = timedelta(minutes=1)
    while span < until - after and times.after(until - span) > until:
        span *= 2
    time = times.after(max(after, until - span))
    while time <= until:
        yield time
        time = times.after(time)


def _known(name: str, field: str) -> str:
    pattern = _WEEKDAY_PART if name == "weekday" else _PART
    for part in field.split(","):
        if not pattern.fullmatch(part):
            msg = f"{part!r} is no {name}; cron takes numbers, names of months and weekdays, * , - and /"
            raise ValueError(msg)
    return field


def _weekdays(field: str) -> set[int]:
    """Sunday = 0 to Saturday = 6, each day that the field names."""
    days: set[int] = set()
    for part in field.split(","):
        found = _WEEKDAY_PART.fullmatch(part)
        assert found is not None  # noqa: S101  # `_known` looked at it
        step = int(found["step"] or 1)
        first = 0 if found["any"] else _weekday(found["first"])
        last = 6 if found["any"] else _weekday(found["last"] or found["first"])
        if found["last"] and last == 0:
            last = 7  # a week that ends with Sunday: sat-sun
        if found["step"] and not found["last"]:
            last = 6
        if last < first:
            msg = f"{part!r} is no weekday range: it ends before it begins; write both parts, like fri,sat,sun"
            raise ValueError(msg)
        days |= {day % 7 for day in range(first, last + 1, step)}
    return days


def _weekday(text: str) -> int:
    return _WEEKDAYS.index(text) if text in _WEEKDAYS else int(text)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone; a name that leaves the folder; a folder among the names
        msg = f"the time zone {name!r} is not known"
        raise ValueError(msg) from None


def _refuse_never(cron: Cron, trigger: CronTrigger) -> None:
    """The 30th of February: the trigger would look for it through eight thousand years, at every call."""
    first_day = min(_values(trigger, "day"))
    if first_day > max(_MONTH_LENGTHS[month - 1] for month in _values(trigger, "month")):
        msg = f"{cron.expression!r} is never due: none of its months has {first_day} days"
        raise ValueError(msg)


def _values(trigger: CronTrigger, name: str) -> set[int]:
    """All that the trigger's own reading of a field allows, looked at in a month of 31 days."""
    number = {"month": 1, "day": 2}[name]
    dates = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 32)]
    if name == "month":
        dates = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 13)]
    return {value for date in dates if (value := trigger.fields[number].get_next_value(date)) is not None}
