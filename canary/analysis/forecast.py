"""Would this timer have cut this stream, and when? One rule for every timer.

A timer starts, is restarted by each tick of its clock, and cuts at the start of the first gap *longer* than its limit,
plus that limit; a gap of exactly the limit lives. A header timer is the case of one gap, to the header block; a total
timer the case of one gap, to the end. What follows from it:

- A last gap that the observation's own end broke off is a lower bound. Past the limit the timer fires; short of it all
  we can say is "not before": never "safe".
- A real timer fires a little early or late. Where a gap ended inside that slack, the answer could as well have been the
  other one: `certain=False`.
- A timer with an infinite late slack is looked at only when its clock ticks again (a write deadline in Go, a forgotten
  NAT entry). It expires at `at`, and the cut is seen at `late`: the next tick, the end, or never.
- For whoever counts events the exchange is over at the terminator. For whoever counts bytes it is over at HTTP's end.

Of several timers that expire at the same instant one is seen. A gap that began with the request began earlier the
further out its owner is, so the outermost wins; one that began with a byte began earlier further in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from canary.analysis.ticks import ends_whole, ticks
from canary.core.observation import ConnectFailed, Observation
from canary.core.stream import BytesReceived, HeadersReceived, Terminator
from canary.core.timeout import Clock, Fires, Forecast, OpenUntil, StartsAt, Survives, Timeout, TimerPhase

FLOAT_NOISE_S = 1e-9  # gaps are differences of floats: 64.4 - 4.4 is more than 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time in which nothing restarted the timer. `censored`: it was still open when the observation broke off."""

    began: float
    ended: float
    censored: bool = False

    @property
    def length_s(self) -> float:
        return self.ended - self.began


def forecast(timeout: Timeout, observation: Observation) -> Forecast:
    """What `timeout` would have done to this stream, if its owner had read it."""
    gaps = _gaps(timeout, observation)
    fatal = next((gap for gap in gaps if gap.length_s - timeout.limit_s > FLOAT_NOISE_S), None)
    if fatal is not None:
        return _fires(timeout, fatal, observation)
    last = gaps[-1]
    if last.censored:
        return OpenUntil(at=last.began + timeout.limit_s, seen_gap_s=last.length_s, gap_from=last.began)
    worst = max(gaps, key=lambda gap: gap.length_s)
    headroom_s = timeout.limit_s - worst.length_s
    return Survives(
        worst_gap_s=worst.length_s,
        gap_from=worst.began,
        headroom_s=headroom_s,
        certain=headroom_s >= timeout.early_slack_s,
    )


def first_cut(timeouts: Iterable[Timeout], observation: Observation) -> tuple[Timeout, Fires] | None:
    """The timer whose cut would be seen first. `timeouts` are in the order of the path, from the user down."""
    cuts = [
        ((_seen_at(timeout, cut), index if cut.gap_from <= 0 else -index), (timeout, cut))
        for index, timeout in enumerate(timeouts)
        if isinstance(cut := forecast(timeout, observation), Fires)
    ]
    return min(cuts, key=lambda cut: cut[0])[1] if cuts else None


def _seen_at(timeout: Timeout, cut: Fires) -> float:
    return cut.late if math.isinf(timeout.late_slack_s) else cut.at


def _fires(timeout: Timeout, gap: Gap, observation: Observation) -> Fires:
    at = gap.began + timeout.limit_s
    late = at + timeout.late_slack_s
    if math.isinf(late):
        late = _next_look(timeout, at, observation)
    return Fires(
        at=at,
        early=at - timeout.early_slack_s,
        late=late,
        gap_from=gap.began,
        gap_s=gap.length_s,
        certain=math.isinf(timeout.late_slack_s) or gap.ended >= late,
    )


def _next_look(timeout: Timeout, at: float, observation: Observation) -> float:
    """When somebody next has to do with the stream. A whole end is a write too: the last chunk."""
    later = [tick for tick in ticks(observation, timeout.clock) if tick > at]
    if later:
        return later[0]
    return observation.end.at if ends_whole(observation) else math.inf


def _gaps(timeout: Timeout, observation: Observation) -> tuple[Gap, ...]:
    """The gaps that the timer ran through, in order; never none."""
    if isinstance(observation.end, ConnectFailed):
        return (Gap(began=0.0, ended=0.0, censored=True),)
    ended, censored = _end(timeout, observation)
    headers_at = _headers_at(observation)
    began = _start(timeout, observation, headers_at)
    if began is None:  # it was never armed, and may be as soon as the observation broke off
        return (Gap(began=ended, ended=ended, censored=censored),)
    if timeout.phase is TimerPhase.HEADERS and headers_at is not None:
        return (Gap(began=began, ended=headers_at),)
    restarts = ticks(observation, timeout.clock) if timeout.phase is TimerPhase.IDLE else ()
    borders = [began, *(tick for tick in restarts if began < tick <= ended)]
    closed = [Gap(began=before, ended=after) for before, after in pairwise(borders)]
    return (*closed, Gap(began=borders[-1], ended=max(ended, borders[-1]), censored=censored))


def _end(timeout: Timeout, observation: Observation) -> tuple[float, bool]:
    """Where the exchange ends for the timer's owner, and whether that end is only where our knowledge ends."""
    last_word = next((event.at for event in observation.events if isinstance(event, Terminator)), None)
    if timeout.phase is TimerPhase.IDLE and timeout.clock is not Clock.BYTE and last_word is not None:
        return last_word, False
    return observation.end.at, not ends_whole(observation)


def _body_ticks(timeout: Timeout, observation: Observation) -> tuple[float, ...]:
    if timeout.clock is Clock.BYTE:
        return tuple(event.at for event in observation.events if isinstance(event, BytesReceived))
    return ticks(observation, timeout.clock)


def _headers_at(observation: Observation) -> float | None:
    return next((event.at for event in observation.events if isinstance(event, HeadersReceived)), None)


def _start(timeout: Timeout, observation: Observation, headers_at: float | None) -> float | None:
    """Before zero for a timer that runs while connecting; None if it was never armed."""
    if timeout.starts is StartsAt.HEADERS:
        return headers_at
    if timeout.starts is StartsAt.FIRST_TICK:
        return next(iter(_body_ticks(timeout, observation)), None)
    if timeout.starts is StartsAt.REQUEST_START:
        exchange = observation.exchange
        return -sum(part for part in (exchange.dns_s, exchange.connect_s, exchange.tls_s) if part is not None)
    return 0.0
