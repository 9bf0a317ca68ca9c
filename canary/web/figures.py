"""Numbers, times and texts as a page writes them. Whatever targets said is hostile: cut, and without control signs."""

from __future__ import annotations

import math
from datetime import datetime

from canary.core.units import format_duration

_LONGEST = 400  # characters of one text
_DASH = "\N{EN DASH}"


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


def seconds(value: float | None) -> str:
    return _DASH if value is None else format_duration(value)


def percent(share: float | None) -> str:
    """`73 %`; `99.7 %` where a whole number would hide what is missing."""
    if share is None:
        return _DASH
    per_cent = 100.0 * share
    if 99.0 <= per_cent < 100.0:
        return f"{math.floor(per_cent * 100) / 100:g} %"
    return f"{per_cent:.0f} %"


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def clock(at: datetime, now: datetime) -> str:
    """With its date only where that is not today."""
    return f"{at:%H:%M:%S} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"


def length(began: datetime, until: datetime) -> str:
    """Whole minutes, so that a page does not change with every second."""
    minutes = int((until - began).total_seconds() // 60)
    if minutes < 1:
        return "< 1 min"
    if minutes < 60:
        return f"{minutes} min"
    days, rest = divmod(minutes, 24 * 60)
    return f"{days} d {rest // 60} h" if days else format_duration(minutes * 60.0)
