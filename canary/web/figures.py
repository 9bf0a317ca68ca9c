"""Numbers, times and texts as a page writes them, in its language.

Whatever targets said is hostile: cut, and without control signs. Times and dates are ISO 8601 in UTC in every language.
"""

from __future__ import annotations

import math
import re
from datetime import datetime

from canary.core.units import format_duration
from canary.web.words import Words

_LONGEST = 400  # characters of one text
_DASH = "\N{EN DASH}"
_UNIT = re.compile(r" (ms|s|min|h|d)\b")


def plain(text: str) -> str:
    """One line of limited length; what has no shape, directs text or controls a terminal becomes a mark."""
    return _legible(text, _LONGEST, keep="")


def prose(text: str, most: int = 8000) -> str:
    """The same over many lines."""
    return _legible(text, most, keep="\n\t")


def _legible(text: str, most: int, *, keep: str) -> str:
    mark = "\N{REPLACEMENT CHARACTER}"
    shown = "".join(char if char.isprintable() or char in keep else mark for char in text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]}…"


def seconds(value: float | None, t: Words) -> str:
    return _DASH if value is None else in_units(value, t)


def in_units(seconds_: float, t: Words) -> str:
    """Rounded as everywhere, with the units of the language."""
    return _translated(format_duration(seconds_), t)


def _translated(duration: str, t: Words) -> str:
    return _UNIT.sub(lambda unit: t(f"unit_{unit[1]}"), duration)


def percent(share: float | None, t: Words) -> str:
    """`73 %`; `99.7 %` where a whole number would hide what is missing."""
    if share is None:
        return _DASH
    per_cent = 100.0 * share
    if 99.0 <= per_cent < 100.0:
        return t("percent", number=f"{math.floor(per_cent * 100) / 100:g}")
    return t("percent", number=f"{per_cent:.0f}")


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def clock(at: datetime, now: datetime) -> str:
    """With its date only where that is not today."""
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"


def length(began: datetime, until: datetime, t: Words) -> str:
    """Whole minutes, so that a page does not change with every second."""
    minutes = int((until - began).total_seconds() // 60)
    if minutes < 1:
        return t("less_than_minute")
    if minutes < 60:
        return _translated(f"{minutes} min", t)
    days, rest = divmod(minutes, 24 * 60)
    return _translated(f"{days} d {rest // 60} h" if days else format_duration(minutes * 60.0), t)
