"""When something is due, in single values: spans, moments, cron expressions and time zones."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, TypeAlias
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from canary.alerting.calendar import times_of
from canary.config.errors import did_you_mean
from canary.config.fields import DURATION_SCHEMA, Duration, Text, seconds_of, text_of, unfit
from canary.core.schedule import Cron

_SHORTEST_INTERVAL_S = 1.0
_FIRST_YEAR, _LAST_YEAR = 2000, 2200  # at the ends of the calendar another time zone is no date any more
_YEARS = f"a year from {_FIRST_YEAR} to {_LAST_YEAR}"
_CRON = 'a cron expression of five fields like "*/30 8-18 * * mon-fri"'


def _interval(seconds: float) -> float:
    if seconds < _SHORTEST_INTERVAL_S:
        raise unfit("an interval of at least 1s")
    return seconds


def _moment(value: object) -> datetime:
    """Python reads more forms of ISO 8601 than these; what has no offset would be another moment on another machine."""
    expected = "a date and time with an offset, like 2026-12-01T03:00:00+01:00 or 2026-12-01T02:00:00Z"
    text = text_of(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise unfit(expected) from None
    if moment.tzinfo is None:
        raise unfit(expected, suggestion="add an offset, or Z for UTC" if re.search(r"\d:?\d\d", text[10:]) else None)
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise unfit(_YEARS)
    return moment


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ValueError, OSError, KeyError):  # no such name; a name that leaves the folder; a folder among the names
        raise unknown_zone(name, available_timezones()) from None


def unknown_zone(name: str, names: set[str]) -> PydanticCustomError:
    if not names:
        return unfit("a time zone, and this system has none", suggestion="install tzdata")
    return unfit("a time zone like Europe/Berlin or UTC", suggestion=_similar_zone(name, names))


def _similar_zone(name: str, names: set[str]) -> str | None:
    """People write the city alone, or with a space."""
    plain = name.strip().replace(" ", "_")
    cities = {zone.rpartition("/")[2].lower(): zone for zone in sorted(names)}
    zone = cities.get(plain.lower())
    return f'did you mean "{zone}"?' if zone and zone != name else did_you_mean(plain, names)


def _expression(text: str) -> str:
    """The zone of the same section is judged by itself."""
    try:
        times_of(Cron(expression=text))
    except ValueError as error:
        raise unfit(_CRON, suggestion=str(error)) from None
    return text


Span: TypeAlias = Annotated[float, PlainValidator(seconds_of), WithJsonSchema(DURATION_SCHEMA)]  # 0 is one too
Interval: TypeAlias = Annotated[Duration, AfterValidator(_interval)]
Moment: TypeAlias = Annotated[
    datetime, PlainValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]
ZoneName: TypeAlias = Annotated[
    Text, AfterValidator(_zone), WithJsonSchema({"type": "string", "examples": ["UTC", "Europe/Berlin", "Asia/Seoul"]})
]
CronText: TypeAlias = Annotated[Text, AfterValidator(_expression)]
