"""Who cut the stream? A stream that broke off after a silence is matched with the timers on its path.

A timer matches when its gap was as long as its limit, within its slack and at least 0.25 s or 2 %, and when the way the
stream ended is the way this timer's cut looks: a 504 is not a truncated body, and a clean end is not a reset. Timers of
the path are tried first; only if none matches, the catalogue of well-known defaults is asked, and then the answer is a
list of suspects and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from canary.checks.evidence import Evidence
from canary.checks.idle_timeout import label
from canary.core.measurement import Measurement, Silence
from canary.core.observation import Completed, Disconnected, End, HttpRejected, Truncated
from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase
from canary.core.units import format_duration, plural

LEAST_TOLERANCE_S = 0.25
TOLERANCE = 0.02  # of the limit
FLUSH_S = 0.1  # nginx with its default buffering: headers, what it held, and the end within milliseconds
TIMER_STATUSES = (408, 502, 503, 504, 524)  # what proxies say when a timer fires before the headers

_LOOKS_LIKE: Mapping[type[End], frozenset[Outcome]] = MappingProxyType(
    {
        Truncated: frozenset({Outcome.TRUNCATED, Outcome.CLIENT_ERROR}),
        Disconnected: frozenset({Outcome.RESET, Outcome.TRUNCATED, Outcome.CLIENT_ERROR}),
        Completed: frozenset({Outcome.CLEAN_END, Outcome.CLIENT_ERROR}),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A timer that could have made this cut, and the gap that it would have seen."""

    timer: Timeout
    gap_s: float
    configured: bool


def suspects(evidence: Evidence) -> tuple[Suspect, ...]:
    """Timers of the path that match, nearest to their limit first; else the catalogue's; else none."""
    return _matching(evidence.timeouts, evidence, configured=True) or _matching(
        evidence.catalogue, evidence, configured=False
    )


def names(found: tuple[Suspect, ...]) -> str:
    """Which timer did it, or which well-known ones could have; never more than three of those."""
    first = found[0].timer
    if found[0].configured:
        kind = first.phase.value if first.phase != TimerPhase.IDLE else f"{first.clock.value} idle"
        return f"cut by {label(first)}, {kind} limit {format_duration(first.limit_s)}"
    known = list(dict.fromkeys(_known_as(suspect) for suspect in found))
    more = f" and {plural(len(known) - 3, 'other')}" if len(known) > 3 else ""
    return f"as would {', '.join(known[:3])}{more}"


def _known_as(suspect: Suspect) -> str:
    timer = suspect.timer
    return " ".join(part for part in (timer.preset, timer.setting or timer.name) if part)


def _matching(timers: Iterable[Timeout], evidence: Evidence, *, configured: bool) -> tuple[Suspect, ...]:
    found = [
        Suspect(timer=timer, gap_s=gap_s, configured=configured)
        for timer in timers
        if (gap_s := _gap_s(timer, evidence.measurement)) is not None
        and _fits_limit(timer, gap_s)
        and _fits_end(timer, evidence.measurement)
    ]
    return tuple(sorted(found, key=lambda suspect: abs(suspect.gap_s - suspect.timer.limit_s)))


def _gap_s(timer: Timeout, measurement: Measurement) -> float | None:
    """How long this timer had been running when the stream broke off; None if it was not running."""
    rejected = isinstance(measurement.end, HttpRejected)
    headers_at = None if rejected else measurement.time_to_headers_s
    if timer.phase == TimerPhase.HEADERS:
        return measurement.total_s if headers_at is None else None
    if timer.starts in (StartsAt.HEADERS, StartsAt.FIRST_TICK) and headers_at is None:
        return None
    began_at = (headers_at or 0.0) if timer.starts == StartsAt.HEADERS else 0.0
    running_s = measurement.total_s - began_at
    if timer.phase == TimerPhase.TOTAL or headers_at is None:
        return running_s
    return _tail_s(timer, measurement, running_s)


def _tail_s(timer: Timeout, measurement: Measurement, running_s: float) -> float | None:
    silence = {
        Clock.BYTE: measurement.silence.byte,
        Clock.EVENT: measurement.silence.event,
        Clock.TOKEN: measurement.silence.token,
        Clock.VISIBLE: measurement.silence.visible,
    }[timer.clock]
    body_ticks = measurement.reads if timer.clock == Clock.BYTE else silence.ticks
    if timer.starts == StartsAt.FIRST_TICK and not body_ticks:
        return None
    return min(_silent_before_end_s(silence, measurement.total_s), running_s)


def _silent_before_end_s(silence: Silence, total_s: float) -> float:
    """The tail; or the gap before the last burst, where a buffering proxy hands over what it held with the cut."""
    at_the_end = silence.began_at + silence.longest_s >= total_s - FLUSH_S
    return silence.longest_s if silence.tail_s < FLUSH_S and at_the_end else silence.tail_s


def _fits_limit(timer: Timeout, gap_s: float) -> bool:
    """A timer that nobody looks at before the next write (infinite late slack) is matched at its limit only."""
    tolerance_s = max(LEAST_TOLERANCE_S, TOLERANCE * timer.limit_s)
    late_s = timer.late_slack_s if math.isfinite(timer.late_slack_s) else 0.0
    return timer.limit_s - timer.early_slack_s - tolerance_s <= gap_s <= timer.limit_s + late_s + tolerance_s


def _fits_end(timer: Timeout, measurement: Measurement) -> bool:
    if isinstance(measurement.end, HttpRejected):
        status = measurement.end.status
        return status in TIMER_STATUSES if timer.header_status is None else status == timer.header_status
    if measurement.error is not None:
        return timer.outcome in (None, Outcome.ERROR_IN_STREAM, Outcome.CLIENT_ERROR)
    return timer.outcome is None or timer.outcome in _LOOKS_LIKE.get(type(measurement.end), frozenset())
