"""What a check may look at, for one request at one hop. A check reads nothing else: no config, no clock, no store.

It also owns the rule that keeps checks from shouting over each other: where there was no usable answer, `reachable`
says why, and every other check says UNKNOWN with the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from canary.core.engine_load import EngineLoad
from canary.core.history import Past
from canary.core.measurement import Measurement
from canary.core.observation import ConnectFailed, HttpRejected, Interrupted, Observation, StampSource
from canary.core.timeout import Timeout
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

MOST_QUOTED_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One observation, its measurement, and what this hop is expected to do.

    `timeouts` are the timers that watch this stream, from the user down; `catalogue` are well-known ones, to name a cut
    that none of them explains. `below` is the same request at the hop below, where there is one.
    """

    observation: Observation
    measurement: Measurement
    timeouts: tuple[Timeout, ...] = ()
    catalogue: tuple[Timeout, ...] = ()
    below: Measurement | None = None
    first_visible_limit_s: float | None = None
    inline_reasoning: bool = False
    forwards_reasoning: bool | None = None
    expected_answer: str | None = None  # the known result, a number as text; None: nobody knows it
    history: tuple[Past, ...] = ()  # earlier answers of the same hop and variant, newest last
    load: EngineLoad | None = None


def said_anything(measurement: Measurement) -> bool:
    """Whether any token of any kind came."""
    return measurement.time_to_first_token_s is not None


def status(evidence: Evidence) -> int:
    """The HTTP status; 0 where no headers came."""
    head = evidence.observation.exchange.head
    return head.status if head else 0


def unusable(evidence: Evidence) -> str | None:
    """Why there is no answer to judge, as a verdict's reason; None when there is one, whole or in part."""
    measurement = evidence.measurement
    match measurement.end:
        case Interrupted():
            return "interrupted"
        case ConnectFailed():
            return "unreachable"
        case HttpRejected(status=429):
            return "rate_limited"
        case HttpRejected():
            return "rejected"
    if measurement.time_to_headers_s is None:
        return "no_response"
    if 300 <= status(evidence) < 400:
        return "redirected"
    if measurement.error is not None and not said_anything(measurement):
        return "error_in_stream"
    return None


def quoted(text: str) -> str:
    """Somebody else's text as one printable line that is no longer than a message can bear."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * MOST_QUOTED_CHARS]).split())
    return line if len(line) <= MOST_QUOTED_CHARS else f"{line[: MOST_QUOTED_CHARS - 1]}…"


def unknown(check: str, reason: str, message: str, *, subject: str | None = None) -> Verdict:
    return Verdict(check=check, status=Status.UNKNOWN, reason=reason, message=message, subject=subject)


def cannot_judge(check: str, reason: str, *, subject: str | None = None) -> Verdict:
    """The verdict of every check but `reachable` where `unusable` gave a reason."""
    return unknown(check, reason, f"not judged: {reason.replace('_', ' ')}", subject=subject)


def ruler_error_s(measurement: Measurement) -> float:
    """How far one of our stamps may be off, in seconds: our own loop's lag unless the kernel stamped the reads.

    Recordings that do not say are taken at their word.
    """
    lag_s = measurement.loop_lag_s or 0.0
    return measurement.stamp_uncertainty_s if measurement.stamps != StampSource.LOOP else lag_s


def prober_fault(check: str, error_s: float, *, subject: str | None = None) -> Verdict:
    """The verdict where our own lateness is large enough to turn it round."""
    message = f"our own stamps may be {format_duration(error_s)} late, which could change the verdict"
    return unknown(check, "prober_fault", message, subject=subject)
