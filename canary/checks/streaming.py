"""Does this hop pass on at once what the hop below streams? Judged against the same request at the hop below.

Two subjects, because they fail apart and for different reasons:

- `visible`: `buffered` where the visible text comes in a burst (span under 20 % of what the hop below took for as much
  text) that begins only when the hop below would be past the middle of it; `coalesced` where it comes in a few lumps.
- `reasoning`: `reasoning_stripped` where the hop below shows reasoning and this hop none, which matters as much as the
  hop's `forwards_reasoning` says; `field_renamed`, a fault only where clients do not know the new name; `coalesced`
  where many deltas became one or two and the wait for them is silence.

Two things need no hop below. Reasoning and answer together in one burst, faster than any engine writes and after a wait
in which one could have written it, were held back. And a hop that is to show reasoning, reports some and shows none,
strips it. The middle, and not the end, because every hop answers a request of its own: times are compared as durations
since each request, spans and deltas are scaled to the amount of text, and no two answers take equally long. Where there
is too little to compare (under 5 visible deltas, under 0.25 s, under 200 characters of reasoning) there is no verdict:
small answers cannot show buffering, and that is no blindness. One JSON document was never to be streamed.
"""

from __future__ import annotations

from canary.analysis.ticks import ends_whole, ticks
from canary.checks.evidence import Evidence, cannot_judge, prober_fault, ruler_error_s, unknown, unusable
from canary.core.measurement import CountSource, Measurement
from canary.core.stream import ReasoningDelta, ReasoningForm
from canary.core.timeout import Clock
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

NAME = "streaming"
VISIBLE = "visible"
REASONING = "reasoning"

BURST = 0.2  # of the span that the hop below takes for as much text
LEAST_SPAN_S = 0.25
LEAST_DELTAS = 5
LEAST_REASONING_CHARS = 200
_FASTEST_CHARS_PER_S = 24_000  # of one stream: wafer-scale services reach 3000 tokens of 4 to 6 characters, with room
_TIMES_SOONER = 3.0
_LEAST_SOONER_S = 0.05  # three times a millisecond is noise
_LUMPS = 0.1  # of the deltas that the hop below takes for as much text
_KNOWN_FIELDS = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks"})


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        subjects = () if evidence.below is None else (VISIBLE, REASONING)
        return [cannot_judge(NAME, reason, subject=subject) for subject in subjects]
    verdicts = (_visible(evidence), _reasoning(evidence))
    return [verdict for verdict in verdicts if verdict is not None]


def _visible(evidence: Evidence) -> Verdict | None:
    if not _as_stream(evidence):
        return None
    if held_back := _held_back(evidence):
        return held_back
    return _alone(evidence) if evidence.below is None else _beside(evidence, evidence.below)


def _as_stream(evidence: Evidence) -> bool:
    return evidence.observation.exchange.asked.get("stream") is not False


def _held_back(evidence: Evidence) -> Verdict | None:
    """Reasoning and answer at once, too fast for any engine, after a wait in which one could have written it all."""
    here = evidence.measurement
    stamps = ticks(evidence.observation, Clock.TOKEN)
    if here.reasoning_chars < LEAST_REASONING_CHARS or not here.visible_chars:
        return None
    chars = here.reasoning_chars + here.visible_chars
    span_s, writing_s = stamps[-1] - stamps[0], chars / _FASTEST_CHARS_PER_S
    if span_s >= writing_s or stamps[0] < max(writing_s, LEAST_SPAN_S):
        return None
    if span_s + ruler_error_s(here) >= writing_s:
        return prober_fault(NAME, ruler_error_s(here), subject=VISIBLE)
    message = (
        f"{plural(chars, 'character')}, reasoning and answer, came within {format_duration(span_s)}, the first after"
        f" {format_duration(stamps[0])}: no engine writes that fast, so they were held back"
    )
    return _verdict(VISIBLE, Status.FAIL, "buffered", message, observed=span_s, limit=writing_s)


def _alone(evidence: Evidence) -> Verdict | None:
    """The lowest hop: what it shows is what the hop above is held against."""
    stamps = set(ticks(evidence.observation, Clock.VISIBLE))
    span_s = evidence.measurement.visible_span_s
    if span_s is None or span_s < LEAST_SPAN_S or len(stamps) < LEAST_DELTAS or not ends_whole(evidence.observation):
        return None
    message = f"visible text over {format_duration(span_s)}"
    return _verdict(VISIBLE, Status.PASS, "streams", message, observed=span_s, limit=LEAST_SPAN_S)


def _beside(evidence: Evidence, below: Measurement) -> Verdict | None:
    here = evidence.measurement
    first_s, span_s = here.time_to_first_visible_content_s, here.visible_span_s
    below_first_s, below_span_s = below.time_to_first_visible_content_s, below.visible_span_s
    if first_s is None or span_s is None or below_first_s is None or below_span_s is None:
        return None  # `visible_content` says it
    share = min(1.0, here.visible_chars / below.visible_chars)
    expected_s = below_span_s * share
    if expected_s < LEAST_SPAN_S or below.silence.visible.ticks * share < LEAST_DELTAS:
        return None
    if not ends_whole(evidence.observation):
        return unknown(NAME, "cut", "not judged: the stream broke off", subject=VISIBLE)
    middle_s, through_s = below_first_s + below_span_s / 2, below_first_s + below_span_s
    if span_s < BURST * expected_s and first_s > middle_s:
        if first_s - ruler_error_s(here) <= middle_s:
            return prober_fault(NAME, ruler_error_s(here), subject=VISIBLE)
        message = (
            f"{plural(here.visible_chars, 'visible character')} came within {format_duration(span_s)}, the first after"
            f" {format_duration(first_s)}; the hop below streams as much over {format_duration(expected_s)}"
            f" and is through after {format_duration(through_s)}"
        )
        return _verdict(VISIBLE, Status.FAIL, "buffered", message, observed=span_s, limit=BURST * expected_s)
    return _lumps(evidence, below, share) or _streams(span_s, expected_s)


def _streams(span_s: float, expected_s: float) -> Verdict:
    message = f"visible text over {format_duration(span_s)}, at the hop below over {format_duration(expected_s)}"
    return _verdict(VISIBLE, Status.PASS, "streams", message, observed=span_s, limit=BURST * expected_s)


def _lumps(evidence: Evidence, below: Measurement, share: float) -> Verdict | None:
    """Instants, not deltas: what one read held arrived at once. Below, reads bound what deltas could be told apart."""
    lumps = len(set(ticks(evidence.observation, Clock.VISIBLE)))
    expected = min(below.silence.visible.ticks, below.reads) * share
    if lumps >= _LUMPS * expected:
        return None
    message = f"visible text came in {plural(lumps, 'lump')}, at the hop below in {expected:.0f}"
    return Verdict(
        check=NAME,
        status=Status.WARN,
        reason="coalesced",
        message=message,
        subject=VISIBLE,
        observed=lumps,
        limit=expected,
        unit="lumps",
    )


def _reasoning(evidence: Evidence) -> Verdict | None:
    here, below = evidence.measurement, evidence.below
    if below is None:
        return _own_reasoning(evidence)
    if below.reasoning_chars < LEAST_REASONING_CHARS:
        return None
    if not here.reasoning_chars:
        return _none_shown(evidence, below)
    return _renamed(here, below) or _aggregated(evidence, below) or _forwarded(here)


def _own_reasoning(evidence: Evidence) -> Verdict | None:
    """Of the lowest hop: nobody but itself says that there is any."""
    here = evidence.measurement
    if here.reasoning_chars:
        return _forwarded(here) if here.reasoning_chars >= LEAST_REASONING_CHARS else None
    reported = _reported(here)
    if not reported or evidence.forwards_reasoning is not True:
        return None
    message = f"no reasoning is shown, {plural(reported, 'token')} of it are reported; this hop is to show it"
    return _verdict(REASONING, Status.FAIL, "reasoning_stripped", message)


def _none_shown(evidence: Evidence, below: Measurement) -> Verdict | None:
    here = evidence.measurement
    if here.time_to_first_visible_content_s is None and not ends_whole(evidence.observation):
        return unknown(NAME, "cut", "not judged: the stream broke off before any text", subject=REASONING)
    if _reported(here) == 0 and _reported(below):
        return unknown(NAME, "no_reasoning", "this answer is reported to hold no reasoning", subject=REASONING)
    if too_soon := _too_soon(here, below):
        return unknown(NAME, "no_reasoning", too_soon, subject=REASONING)
    shown = plural(below.reasoning_chars, "character")
    message = f"no reasoning is shown here, {shown} at the hop below"
    match evidence.forwards_reasoning:
        case True:
            return _verdict(REASONING, Status.FAIL, "reasoning_stripped", f"{message}; this hop is to forward it")
        case False:
            return _verdict(REASONING, Status.PASS, "reasoning_stripped", f"{message}, as it should be")
    said = "; set `forwards_reasoning` to say which it should be"
    return _verdict(REASONING, Status.WARN, "reasoning_stripped", f"{message}{said}")


def _too_soon(here: Measurement, below: Measurement) -> str | None:
    """Stripping takes the text away and not the time: an answer at once, as from a cache, holds no reasoning."""
    if here.time_to_first_visible_content_s is None:
        return None
    began = (here.time_to_first_visible_content_s, below.time_to_first_visible_content_s, "the first visible text came")
    ended = (here.total_s, below.total_s, "the whole answer came")
    for here_s, below_s, what in (began, ended):
        if below_s is not None and _TIMES_SOONER * here_s < below_s and below_s - here_s >= _LEAST_SOONER_S:
            times = f"{format_duration(here_s)}, at the hop below after {format_duration(below_s)}"
            return f"{what} after {times}: too soon to have reasoned as long"
    return None


def _reported(measurement: Measurement) -> int | None:
    count = measurement.reasoning_tokens
    return count.value if count is not None and count.source is CountSource.USAGE else None


def _renamed(here: Measurement, below: Measurement) -> Verdict | None:
    """A mark in content is no field: `reasoning_leak` judges that."""
    name, below_name = here.fingerprint.reasoning_field, below.fingerprint.reasoning_field
    fields = here.reasoning_forms | below.reasoning_forms == {ReasoningForm.FIELD}
    if name is None or below_name is None or name == below_name or not fields:
        return None
    known = name in _KNOWN_FIELDS
    message = f"reasoning comes as `{name}` here and as `{below_name}` at the hop below"
    status = Status.PASS if known else Status.WARN
    return _verdict(
        REASONING, status, "field_renamed", message if known else f"{message}; common clients do not read it"
    )


def _aggregated(evidence: Evidence, below: Measurement) -> Verdict | None:
    deltas = [event.at for event in evidence.observation.events if isinstance(event, ReasoningDelta)]
    below_deltas = below.silence.token.ticks - below.silence.visible.ticks
    expected = min(below_deltas, below.reads) * min(1.0, evidence.measurement.reasoning_chars / below.reasoning_chars)
    lumps = len(set(deltas))
    if not _as_stream(evidence) or lumps > 2 or lumps >= _LUMPS * expected:
        return None
    after = format_duration(deltas[0])
    message = f"reasoning came in {plural(lumps, 'lump')} after {after}, at the hop below in {expected:.0f}"
    return _verdict(REASONING, Status.WARN, "coalesced", message)


def _forwarded(here: Measurement) -> Verdict:
    message = f"{plural(here.reasoning_chars, 'character')} of reasoning passed on"
    return _verdict(REASONING, Status.PASS, "forwarded", message)


def _verdict(
    subject: str,
    status: Status,
    reason: str,
    message: str,
    *,
    observed: float | None = None,
    limit: float | None = None,
) -> Verdict:
    unit = None if observed is None else "s"
    return Verdict(
        check=NAME,
        status=status,
        reason=reason,
        message=message,
        subject=subject,
        observed=observed,
        limit=limit,
        unit=unit,
    )
