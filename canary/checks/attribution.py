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
from canary.core.measurement import Measurement
from canary.core.observation import Completed, Disconnected, End, HttpRejected, Truncated
from canary.core.timeout import Clock, Outcome, TimerPhase, Timeout

LEAST_TOLERANCE_S = 0.25
TOLERANCE = 0.02  # of the limit

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
    headers_came = measurement.time_to_headers_s is not None and not isinstance(measurement.end, HttpRejected)
    if timer.phase == TimerPhase.TOTAL:
        return measurement.total_s
    if timer.phase == TimerPhase.HEADERS:
        return None if headers_came else measurement.total_s
    tails = {
        Clock.BYTE: measurement.silence.byte,
        Clock.EVENT: measurement.silence.event,
        Clock.TOKEN: measurement.silence.token,
        Clock.VISIBLE: measurement.silence.visible,
    }
    return tails[timer.clock].tail_s if headers_came else measurement.total_s


def _fits_limit(timer: Timeout, gap_s: float) -> bool:
    """A timer that nobody looks at before the next write (infinite late slack) is matched at its limit only."""
    tolerance_s = max(LEAST_TOLERANCE_S, TOLERANCE * timer.limit_s)
    late_s = timer.late_slack_s if math.isfinite(timer.late_slack_s) else 0.0
    return timer.limit_s - timer.early_slack_s - tolerance_s <= gap_s <= timer.limit_s + late_s + tolerance_s


def _fits_end(timer: Timeout, measurement: Measurement) -> bool:
    if isinstance(measurement.end, HttpRejected):
        return timer.header_status in (None, measurement.end.status)
    if measurement.error is not None:
        return timer.outcome in (None, Outcome.ERROR_IN_STREAM, Outcome.CLIENT_ERROR)
    return timer.outcome is None or timer.outcome in _LOOKS_LIKE.get(type(measurement.end), frozenset())
