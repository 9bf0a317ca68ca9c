"""Did the stream end as its protocol ends? HTTP's own word for it is not enough.

Caddy, Fastly and every close-delimited leg end a cut stream cleanly, so the stream's last words count: the finish
reason, the terminator, and no error object before them. A cut is matched with the timers that could have made it
(`attribution`); the silence before it is part of the verdict either way.
"""

from __future__ import annotations

from collections.abc import Mapping

from canary.analysis.ticks import answer_over, ends_whole
from canary.checks.attribution import names, suspects
from canary.checks.echo import without_prompt
from canary.checks.evidence import Evidence, cannot_judge, quoted, unknown, unusable
from canary.checks.idle_timeout import label
from canary.checks.visible_content import max_tokens
from canary.core.measurement import Measurement
from canary.core.observation import (
    BYTE_CAP,
    Completed,
    DeadlineExceeded,
    Disconnected,
    Json,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    HeadersReceived,
    KeepAlive,
    Violation,
    ViolationKind,
)
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

NAME = "complete"
STALLED_S = 12.0  # a healthy model is never silent this long after a token: 3-8 s from its last thought to its answer
HELD_OPEN_S = 2.0  # a client that waits for the end of the connection waits this much for nothing
_BYTES_PER_TOKEN = 2048  # of a stream: hosted services spend some 400, and twice that with details beside the text
_LEAST_BYTES = 16 * 2**20
MOST_BYTES = 64 * 2**20  # that we read of one answer; a run keeps about three times as much for each hop
_OF_ANY_STREAM = (HeadersReceived, BytesReceived, EventReceived, KeepAlive, Violation)  # whatever its protocol
ABORTED = ("error", "abort", "insufficient_system_resource")  # finish reasons that are not an end of the answer


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    measurement = evidence.measurement
    if measurement.error is not None:
        return [_error_in_stream(evidence)]
    if measurement.finish_reason in ABORTED:
        message = f"the model's server gave up: finish_reason={measurement.finish_reason}"
        return [_verdict(Status.FAIL, "aborted", message)]
    match measurement.end:
        case StoppedByUs(reason=reason):
            return [_stopped(evidence, reason)]
        case DeadlineExceeded():
            return [_deadline(evidence)]
        case Completed() if ends_whole(evidence.observation):
            return [_last_words(measurement, streamed=evidence.observation.exchange.asked.get("stream") is True)]
        case Truncated() | Disconnected() if answer_over(evidence.observation):
            message = "the answer is whole, but the connection broke instead of ending"
            return [_verdict(Status.WARN, "unclean_end", message)]
    return [_cut(evidence)]


def _error_in_stream(evidence: Evidence) -> Verdict:
    measurement = evidence.measurement
    code = f" (code {quoted(measurement.error_code)})" if measurement.error_code else ""
    told = plural(measurement.reasoning_chars + measurement.visible_chars, "character")
    said = without_prompt(measurement.error or "", evidence.observation.exchange)
    message = f"an error object{code} in the stream after {told}: {quoted(said)}"
    found = suspects(evidence)
    if found and found[0].configured:
        message += f"; {names(found)}"
    return _verdict(Status.FAIL, "error_in_stream", message)


def longest_answer(asked: Mapping[str, Json]) -> int | None:
    """Bytes of body that no honest answer to that request exceeds; None where it sets no cap on tokens.

    At some hops reasoning does not count against the cap: hence the least.
    """
    allowed = max_tokens(asked)
    return None if allowed is None else max(_BYTES_PER_TOKEN * allowed, _LEAST_BYTES)


def _stopped(evidence: Evidence, why: str) -> Verdict:
    """By our own choice; but whoever sends more than any answer can take is in a loop, and people wait for its end."""
    most = longest_answer(evidence.observation.exchange.asked)
    if not why.startswith(BYTE_CAP) or most is None or most > MOST_BYTES:
        return unknown(NAME, "stopped", f"not judged: we stopped reading, {quoted(why)}")
    message = f"the answer was still going on after {most:,} bytes, more than any answer to this request can take"
    return _verdict(Status.FAIL, "oversized", message)


def _deadline(evidence: Evidence) -> Verdict:
    measurement = evidence.measurement
    total = format_duration(measurement.total_s)
    if answer_over(evidence.observation):
        message = f"the answer was whole, but the connection was still open after {total}"
        return _verdict(Status.WARN, "held_open", message, observed=measurement.held_open_s)
    reason, last = _last_sign(measurement)
    message = f"no end within the probe's deadline of {total}: {last}"
    return _verdict(Status.FAIL, reason, message, observed=measurement.total_s, limit=measurement.total_s)


def _last_sign(measurement: Measurement) -> tuple[str, str]:
    """Hung from the start, stalled on the way, or only slow."""
    token, byte = measurement.silence.token, measurement.silence.byte
    bytes_ago = f"the last byte {format_duration(byte.tail_s)} ago"
    if not token.ticks:
        return "hung", f"headers came, and then no token; {bytes_ago}"
    tokens_ago = f"the last token came {format_duration(token.tail_s)} ago"
    if token.tail_s <= STALLED_S:
        return "deadline", f"it was still streaming, {tokens_ago}"
    kind = "answer" if measurement.time_to_first_visible_content_s is not None else "reasoning"
    return "stalled", f"{tokens_ago} and was {kind}, {bytes_ago}"


def _last_words(measurement: Measurement, *, streamed: bool) -> Verdict:
    """`streamed`: a stream was asked for."""
    held_s = measurement.held_open_s
    if measurement.finish_reason is None:
        came = "a terminator came" if measurement.terminator_seen else "a whole JSON document came"
        return _verdict(Status.WARN, "unterminated", f"{came}, but no finish reason")
    if not measurement.terminator_seen and streamed and not _as_document(measurement):
        return _verdict(Status.WARN, "no_terminator", "a finish reason came, but no terminator")
    if held_s is not None and held_s > HELD_OPEN_S:
        message = f"the connection stayed open for {format_duration(held_s)} after the stream's last word"
        return _verdict(Status.WARN, "held_open", message, observed=held_s, limit=HELD_OPEN_S)
    ended = f"{_finish(measurement)} after {format_duration(measurement.total_s)}"
    return _verdict(Status.PASS, "ended", ended, observed=measurement.total_s)


def _as_document(measurement: Measurement) -> bool:
    return any(violation.kind is ViolationKind.JSON_FOR_STREAM for violation in measurement.violations)


def _cut(evidence: Evidence) -> Verdict:
    measurement = evidence.measurement
    how = "ended cleanly in HTTP's eyes" if isinstance(measurement.end, Completed) else "was broken off"
    silent_s = measurement.silence.byte.tail_s
    silent = f"{format_duration(silent_s)} after the last byte" if measurement.reads else "without one byte of body"
    base = f"the stream {how} after {format_duration(measurement.total_s)}, {silent}, {_lacks(evidence)}"
    found = suspects(evidence)
    if not found:
        return _verdict(Status.FAIL, "truncated", base, observed=silent_s)
    timer = found[0].timer if found[0].configured else None
    return Verdict(
        check=NAME,
        status=Status.FAIL,
        reason="cut",
        message=f"{base}; {names(found)}",
        subject=label(timer) if timer else None,
        observed=found[0].gap_s,
        limit=timer.limit_s if timer else None,
        unit="s",
    )


def _finish(measurement: Measurement) -> str:
    return f"finish_reason={quoted(str(measurement.finish_reason))}"


def _lacks(evidence: Evidence) -> str:
    measurement = evidence.measurement
    if measurement.events and all(isinstance(event, _OF_ANY_STREAM) for event in evidence.observation.events):
        return f"and none of its {plural(measurement.events, 'event')} is a chat completion chunk: another protocol?"
    if measurement.finish_reason is not None:
        return f"after {_finish(measurement)} and without a terminator"
    return "without a finish reason" if measurement.terminator_seen else "with neither finish reason nor terminator"


def _verdict(
    status: Status, reason: str, message: str, *, observed: float | None = None, limit: float | None = None
) -> Verdict:
    unit = None if observed is None else "s"
    return Verdict(check=NAME, status=status, reason=reason, message=message, observed=observed, limit=limit, unit=unit)
