"""A timer that a hop holds over the stream it reads from the hop below it.

Four questions describe every timer that cuts streams: when does it start, what restarts it, how long may it run, and
what does the cut look like. `slack` is how much earlier or later than the limit the real thing fires.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TimerPhase(StrEnum):
    """Which part of the exchange a timer covers."""

    HEADERS = "headers"  # one shot: request sent to complete header block
    IDLE = "idle"  # restarts at each tick of its clock
    TOTAL = "total"  # nothing restarts it


class Clock(StrEnum):
    """What restarts an idle timer. Each clock ticks at a subset of the ticks of the one before it."""

    BYTE = "byte"  # any payload byte, headers and comments included
    EVENT = "event"  # a dispatched event or chunk; comments and half events do not count
    TOKEN = "token"  # noqa: S105  # non-empty text of any channel: reasoning, answer, tool call
    VISIBLE = "visible"  # answer text that is not only white space


class StartsAt(StrEnum):
    """When a timer starts for the first time."""

    REQUEST_SENT = "request_sent"
    HEADERS = "headers"  # only once the response headers are there
    REQUEST_START = "request_start"  # before connecting
    FIRST_TICK = "first_tick"  # only once its clock ticks in the body; another timer covers the wait for that


class Outcome(StrEnum):
    """What the listener above sees when the timer fires on a running body."""

    TRUNCATED = "truncated"  # closed without the last chunk
    CLEAN_END = "clean_end"  # HTTP calls it complete
    RESET = "reset"  # RST, HTTP/2 RST_STREAM
    ERROR_IN_STREAM = "error_in_stream"  # an error object inside the 200
    BLACK_HOLE = "black_hole"  # nobody is told
    CLIENT_ERROR = "client_error"  # the timer's owner is the client and raises


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """One timer. `hop` is its owner; `preset` and `source` say where the number comes from when nobody typed it."""

    name: str
    phase: TimerPhase
    clock: Clock
    limit_s: float
    starts: StartsAt = StartsAt.REQUEST_SENT
    early_slack_s: float = 0.0
    late_slack_s: float = 0.0
    outcome: Outcome | None = None  # None: not known, so any abnormal end fits
    header_status: int | None = None  # the status seen when it fires before the headers; None: not known
    hop: str | None = None
    preset: str | None = None
    setting: str | None = None
    source: str | None = None

    @property
    def label(self) -> str:
        """`edge/nginx proxy_read_timeout` where all is known, else the name that it was given."""
        return f"{self.hop}/{self.name}" if self.hop else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Fires:
    """The timer cuts the stream at `at`; the truth lies in [early, late]. `gap_from` is where the fatal gap began.

    `gap_s`: how long that gap was seen to last. `certain` is False where it was seen to end before `late`: the
    real timer may have been restarted in time.
    """

    at: float
    early: float
    late: float
    gap_from: float
    gap_s: float
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Survives:
    """The worst gap that the timer saw, and how much of the limit was left. Nothing was left open.

    `certain` is False where less than the timer's early slack was left: the real timer may have fired.
    """

    worst_gap_s: float
    gap_from: float
    headroom_s: float
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenUntil:
    """Still running when the observation broke off: it would not have fired before `at`; more is not known."""

    at: float
    seen_gap_s: float
    gap_from: float


Forecast = Fires | Survives | OpenUntil
