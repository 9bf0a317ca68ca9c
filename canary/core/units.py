"""How durations, sizes and counts are written and read, in one place.

Inside the program a duration is a float of seconds in a name that ends in `_s`. People write `30s`, `5m`, `1h30m`
and read `0.31 s`, `97.4 s`, `4 min 10 s`.
"""

from __future__ import annotations

import re

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(|k|M|G|T|Ki|Mi|Gi|Ti)B?", re.IGNORECASE)
_SIZE_UNITS = "BkMGT"
_TOO_LARGE = 2.0**63  # for a database, and for anybody


def parse_duration(text: str) -> float:
    """Seconds of `90`, `1.5s`, `250ms`, `5m` or `1h30m`. Raises ValueError that says what a duration looks like."""
    stripped = text.strip()
    try:
        seconds = float(stripped)
    except ValueError:
        if not re.fullmatch(f"(?:{_PART.pattern})+", stripped):
            msg = f"{text!r} is not a duration; write it like 30s, 250ms, 5m or 1h30m"
            raise ValueError(msg) from None
        seconds = sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(stripped))
    if not 0 <= seconds < float("inf"):
        msg = f"{text!r} is not a duration; it must be finite and not negative"
        raise ValueError(msg)
    return seconds


def format_duration(seconds: float) -> str:
    """Three significant figures for people: `3.2 ms`, `0.31 s`, `97.4 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds < 0.0995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 119.95:
        return f"{seconds:.1f} s"
    minutes, rest_s = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s" if rest_s else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def plural(count: int, noun: str) -> str:
    """`1 token`, `12 tokens`, `0 tokens`: for nouns that take an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def parse_size(text: str) -> int:
    """Bytes of `2GB` (2 * 1000**3), `2GiB` (2 * 1024**3), `500 MB` or `4096`. Raises ValueError with examples."""
    match = _SIZE.fullmatch(text.strip())
    unit = match[2].lower() if match else ""
    base, exponent = 1024 if unit.endswith("i") else 1000, "bkmgt".index(unit[:1] or "b")
    size = float(match[1]) * float(base**exponent) if match else float("nan")
    if not size < _TOO_LARGE:
        msg = f"{text!r} is not a size; write it like 500MB, 2GB or 2GiB"
        raise ValueError(msg)
    return round(size)


def format_size(size: int) -> str:
    """Three significant figures for people: `512 B`, `2.5 MB`, `2 GB`."""
    value, units = float(size), list(_SIZE_UNITS)
    while value >= 999.5 and len(units) > 1:
        value = value / 1000
        units.pop(0)
    return f"{value:.3g} {units[0].removesuffix('B')}B"
