"""The numbers of one observation.

Each number is a plain reading of the events; no threshold and no judgement is in here. Two readings need care:

- "Visible" is answer text that a person can see (`VisibleDelta.legible`). Tags, empty deltas, tool calls and refusals
  are not visible.
- The span over which tokens per second are counted is the span in which *those* tokens came: hidden reasoning never
  stretches the denominator of an answer's rate, and reasoning tokens are never divided by the answer's span.
"""

from __future__ import annotations

from collections.abc import Iterable

from canary.analysis.silence import silence
from canary.analysis.ticks import ends_whole, ticks
from canary.analysis.tokens import TokenCounts, count_tokens, last_usage
from canary.core.measurement import Fingerprint, Measurement, Silence, Silences, TokenCount
from canary.core.observation import Observation
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    Identity,
    KeepAlive,
    ReasoningDelta,
    ReasoningPresent,
    RefusalDelta,
    ServerError,
    StreamEvent,
    Terminator,
    ToolCallDelta,
    UsageReport,
    Violation,
    VisibleDelta,
)
from canary.core.timeout import Clock


def measure(observation: Observation, *, chars_per_token: float | None = None) -> Measurement:
    """All of section "measurement" of the README for one observation: one table, so one function."""
    exchange, events = observation.exchange, observation.events
    counts = count_tokens(observation, chars_per_token=chars_per_token)
    visible_ticks = ticks(observation, Clock.VISIBLE)
    token_ticks = ticks(observation, Clock.TOKEN)
    reasoning = [event for event in events if isinstance(event, ReasoningDelta)]
    error = next((event for event in events if isinstance(event, ServerError)), None)
    return Measurement(
        time_to_headers_s=exchange.head.at if exchange.head else None,
        time_to_first_byte_s=_first(event.at for event in events if isinstance(event, BytesReceived)),
        time_to_first_token_s=_first(token_ticks),
        time_to_first_reasoning_token_s=_first(
            event.at for event in events if isinstance(event, ReasoningDelta | ReasoningPresent)
        ),
        time_to_first_visible_content_s=_first(visible_ticks),
        total_s=observation.end.at,
        silence=_silences(observation),
        keepalives=_count(events, KeepAlive),
        reasoning_tokens=counts.reasoning,
        visible_tokens=counts.visible,
        reasoning_chars=sum(len(event.text) for event in reasoning),
        visible_chars=_chars(events, VisibleDelta),
        reasoning_to_output_ratio=_ratio(counts, reasoning, visible_ticks, _chars(events, VisibleDelta)),
        reasoning_forms=frozenset(event.form for event in reasoning),
        reasoning_blocks=_blocks(events),
        finish_reason=_last(event.reason for event in events if isinstance(event, FinishReason)),
        terminator_seen=_count(events, Terminator) > 0,
        end=observation.end,
        usage=last_usage(observation),
        usage_reports=_count(events, UsageReport),
        tool_call_chars=_chars(events, ToolCallDelta),
        refusal_chars=_chars(events, RefusalDelta),
        error=error.message if error else None,
        error_code=error.code if error else None,
        violations=tuple(event for event in events if isinstance(event, Violation)),
        reads=_count(events, BytesReceived),
        events=_count(events, EventReceived),
        visible_span_s=visible_ticks[-1] - visible_ticks[0] if visible_ticks else None,
        held_open_s=_held_open_s(observation),
        tokens_per_s=_tokens_per_s(counts, bool(reasoning), token_ticks, visible_ticks),
        fingerprint=_fingerprint(observation),
        stamps=exchange.stamps,
        loop_lag_s=exchange.loop_lag_s,
        dns_s=exchange.dns_s,
        connect_s=exchange.connect_s,
        tls_s=exchange.tls_s,
        stamp_uncertainty_s=max((read.at - read.after for read in exchange.reads if read.after is not None), default=0),
    )


def _first(stamps: Iterable[float]) -> float | None:
    return next(iter(stamps), None)


def _last(values: Iterable[str]) -> str | None:
    value = None
    for value in values:  # noqa: B007  # the last one is what we want
        pass
    return value


def _count(events: Iterable[StreamEvent], kind: type) -> int:
    return sum(isinstance(event, kind) for event in events)


def _chars(events: Iterable[StreamEvent], kind: type[VisibleDelta | ToolCallDelta | RefusalDelta]) -> int:
    return sum(len(event.text) for event in events if isinstance(event, kind))


def _silences(observation: Observation) -> Silences:
    def of(clock: Clock) -> Silence:
        return silence(ticks(observation, clock), end_at=observation.end.at, censored=not ends_whole(observation))

    return Silences(byte=of(Clock.BYTE), event=of(Clock.EVENT), token=of(Clock.TOKEN), visible=of(Clock.VISIBLE))


def _ratio(
    counts: TokenCounts, reasoning: list[ReasoningDelta], visible_ticks: tuple[float, ...], visible_chars: int
) -> float | None:
    """Reasoning over all that was generated; by characters where tokens are not known and the text is all there."""
    if reasoning and not visible_ticks:
        return 1.0
    if counts.reasoning is not None and counts.visible is not None:
        return _share(counts.reasoning, counts.visible)
    reasoning_chars = sum(len(event.text) for event in reasoning)
    return reasoning_chars / (reasoning_chars + visible_chars) if reasoning_chars else None


def _share(reasoning: TokenCount, visible: TokenCount) -> float | None:
    total = reasoning.value + visible.value
    return reasoning.value / total if total else None


def _blocks(events: Iterable[StreamEvent]) -> int:
    """Runs of reasoning that other text separates: a budget per block caps each of them, not their sum."""
    blocks, inside = 0, False
    for event in events:
        if isinstance(event, ReasoningDelta):
            blocks += not inside
            inside = True
        elif isinstance(event, ToolCallDelta) or (isinstance(event, VisibleDelta) and event.legible):
            inside = False
    return blocks


def _held_open_s(observation: Observation) -> float | None:
    last_words = [event.at for event in observation.events if isinstance(event, Terminator | FinishReason)]
    return observation.end.at - last_words[-1] if last_words else None


def _tokens_per_s(
    counts: TokenCounts, reasoning_shown: bool, token_ticks: tuple[float, ...], visible_ticks: tuple[float, ...]
) -> float | None:
    reasoning_hidden = counts.reasoning is not None and counts.reasoning.value > 0 and not reasoning_shown
    span = visible_ticks if reasoning_hidden else token_ticks
    tokens = counts.visible.value if counts.visible else 0
    if counts.reasoning and not reasoning_hidden:
        tokens += counts.reasoning.value
    if not tokens or len(span) < 2 or span[-1] <= span[0]:
        return None
    return tokens / (span[-1] - span[0])


def _fingerprint(observation: Observation) -> Fingerprint:
    headers = observation.exchange.head.headers if observation.exchange.head else {}
    identities = [event for event in observation.events if isinstance(event, Identity)]
    fields = [event.source for event in observation.events if isinstance(event, ReasoningDelta | ReasoningPresent)]
    return Fingerprint(
        model=_last(event.model for event in identities if event.model),
        system_fingerprint=_last(event.system_fingerprint for event in identities if event.system_fingerprint),
        server=headers.get("server"),
        litellm_version=headers.get("x-litellm-version"),
        reasoning_field=fields[0] if fields else None,
    )
