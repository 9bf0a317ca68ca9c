"""Would a timer above this hop have cut the stream, and how near was it?

One verdict per timer, from the forecast of `analysis.forecast`. FAIL where it would have fired, WARN above 80 % of its
limit or within its early slack: one pass that close is luck, since the next answer thinks a little longer. A stream
that broke off with the timer still running is UNKNOWN: "not before t" is not "safe".

Of several that would have fired people meet one: the first to cut is `would_fire`, and the others say which it is
(`would_fire_later`), since a higher limit for one of them helps nobody while the first still cuts.

Each verdict names the remedy that helps, because the usual one often does not: a keepalive comment restarts byte timers
only, an event timer needs a real event, a token timer needs reasoning to be forwarded, and nothing restarts a total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from canary.analysis.forecast import first_cut, forecast
from canary.checks.evidence import Evidence, cannot_judge, prober_fault, ruler_error_s, unknown, unusable
from canary.core.observation import Observation
from canary.core.timeout import Clock, Fires, OpenUntil, Survives, Timeout, TimerPhase
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

NAME = "idle_timeout"
FIRES_LATER = "would_fire_later"
WARN_ABOVE = 0.8  # of the limit

REMEDIES: Mapping[Clock, str] = MappingProxyType(
    {
        Clock.BYTE: "keepalive comments from the hop below would help",
        Clock.EVENT: "comments do not help: only real events do (forward the reasoning), or a higher limit",
        Clock.TOKEN: "comments and empty events do not help: only text does (forward the reasoning), or a higher limit",
        Clock.VISIBLE: "only visible text helps (a smaller thinking budget), or a higher limit",
    }
)
_SEEN = {
    TimerPhase.HEADERS: "headers after",
    TimerPhase.TOTAL: "total",
}


def check(evidence: Evidence) -> list[Verdict]:
    reason = unusable(evidence)
    if reason:
        return [cannot_judge(NAME, reason, subject=label(timer)) for timer in evidence.timeouts]
    return _first_told([(timer, _judge(timer, evidence)) for timer in evidence.timeouts], evidence.observation)


def _first_told(judged: Sequence[tuple[Timeout, Verdict]], observation: Observation) -> list[Verdict]:
    found = first_cut((timer for timer, verdict in judged if verdict.status is Status.FAIL), observation)
    if found is None:
        return [verdict for _, verdict in judged]
    first, cut = found
    said = f"; {label(first)} would have cut it first, at {format_duration(cut.at)}"
    return [
        replace(verdict, reason=FIRES_LATER, message=verdict.message + said)
        if verdict.status is Status.FAIL and timer is not first
        else verdict
        for timer, verdict in judged
    ]


def label(timer: Timeout) -> str:
    return timer.label


def remedy(timer: Timeout) -> str:
    if timer.phase == TimerPhase.TOTAL:
        return "nothing restarts a total timer: only a higher limit or a shorter answer helps"
    if timer.phase == TimerPhase.HEADERS:
        return "only earlier response headers help, or a higher limit"
    return REMEDIES[timer.clock]


def _judge(timer: Timeout, evidence: Evidence) -> Verdict:
    found = forecast(timer, evidence.observation)
    if isinstance(found, OpenUntil):
        seen = f"{_describe(timer)} was still running when the stream broke off, {format_duration(found.seen_gap_s)} in"
        return unknown(NAME, "still_open", f"{seen}: not before {format_duration(found.at)}", subject=label(timer))
    if isinstance(found, Survives):
        return _survives(timer, found)
    error_s = ruler_error_s(evidence.measurement)
    if found.gap_s - error_s <= timer.limit_s:
        return prober_fault(NAME, error_s, subject=label(timer))
    return _fires(timer, found)


def _fires(timer: Timeout, found: Fires) -> Verdict:
    seen = _seen(timer, found.gap_s, found.gap_from)
    if found.certain:
        what = f"{_describe(timer)} would have cut the stream at {format_duration(found.at)}"
        return _verdict(timer, Status.FAIL, "would_fire", f"{what}: {seen}", found.gap_s)
    what = f"{_describe(timer)} may have cut the stream: it fires up to {format_duration(timer.late_slack_s)} late"
    return _verdict(timer, Status.WARN, "close", f"{what}; {seen}", found.gap_s)


def _survives(timer: Timeout, found: Survives) -> Verdict:
    seen = _seen(timer, found.worst_gap_s, found.gap_from)
    if found.certain and found.worst_gap_s <= WARN_ABOVE * timer.limit_s:
        return _verdict(timer, Status.PASS, "survives", f"{_describe(timer)}: {seen}", found.worst_gap_s)
    what = f"{_describe(timer)} was {format_duration(found.headroom_s)} from cutting"
    return _verdict(timer, Status.WARN, "close", f"{what}: {seen}", found.worst_gap_s)


def _describe(timer: Timeout) -> str:
    kind = timer.phase.value if timer.phase != TimerPhase.IDLE else f"{timer.clock.value} idle"
    return f"{label(timer)} ({kind} limit {format_duration(timer.limit_s)})"


def _seen(timer: Timeout, gap_s: float, gap_from: float) -> str:
    if timer.phase in _SEEN:
        return f"{_SEEN[timer.phase]} {format_duration(gap_s)}"
    return f"longest {timer.clock.value} silence {format_duration(gap_s)} from {format_duration(gap_from)}"


def _verdict(timer: Timeout, status: Status, reason: str, message: str, observed: float) -> Verdict:
    return Verdict(
        check=NAME,
        status=status,
        reason=reason,
        message=message if status == Status.PASS else f"{message}; {remedy(timer)}",
        subject=label(timer),
        observed=observed,
        limit=timer.limit_s,
        unit="s",
    )
