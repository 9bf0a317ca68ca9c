"""Times on a command line: how long ago, or when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from canary.cli.arguments import seconds
from canary.cli.errors import UsageError
from canary.core.units import parse_duration

# A day from the ends of the calendar, so that it is a date in every time zone.
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # the command line is where the wall clock is read


def instant(text: str, option: str) -> datetime:
    """`90s`, `2h` and `7d` are that long ago; else an ISO time, in this machine's zone unless it names one."""
    try:
        return max(now() - timedelta(seconds=parse_duration(text)), FIRST)
    except OverflowError:
        return FIRST
    except ValueError:
        pass
    try:
        return min(max(datetime.fromisoformat(text).astimezone(UTC), FIRST), LAST)
    except (ValueError, OverflowError):
        msg = f"{option} {text!r}: expected how long ago, like 90s, 2h or 7d, or a time like 2026-01-31T12:00+01:00"
        raise UsageError(msg) from None


def ahead(text: str, option: str) -> datetime:
    """The time that lies so far in the future; more than 0."""
    length_s = seconds(text, option)
    if length_s > (LAST - now()).total_seconds():
        msg = f"{option} {text!r}: that is beyond all calendars"
        raise UsageError(msg)
    return now() + timedelta(seconds=length_s)


def local(at: datetime) -> str:
    """As the clock on the wall shows it, to the second."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
