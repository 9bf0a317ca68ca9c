"""How many tokens were reasoning and how many were answer, and how well we know it.

Events are not tokens: one delta may carry several, and tokens of a closing mark make no delta at all. So, best first:

1. The server's own report, unless it is contradicted: a reported 0 beside reasoning text, or a report that a gateway
   made up (LiteLLM tokenises what it saw when the engine reports nothing, and betrays it by `text_tokens`).
2. Counts on the wire: token ids, or running usage in every chunk.
3. The reported total, split by the events of each channel where there is about one event a token (engines send an
   event a step, if only an empty one), else by characters; exact where only one channel has text.
4. Characters over a ratio learned from earlier answers of the same hop.
Otherwise None. Hidden reasoning (no text, no report) is not zero reasoning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from canary.core.measurement import CountSource, TokenCount
from canary.core.observation import Observation
from canary.core.stream import (
    EventReceived,
    KeepAlive,
    ReasoningDelta,
    Role,
    ServerError,
    StreamEvent,
    Terminator,
    Usage,
    UsageReport,
    VisibleDelta,
)

_LEAST_TOKENS = 50  # fewer teach no ratio
_STEPS_PER_TOKEN = 0.8  # below it, events hold several tokens each, and not the same number in each channel


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCounts:
    """None = not known."""

    reasoning: TokenCount | None = None
    visible: TokenCount | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Characters of each channel, its events (empty ones too), and tokens where every one of its deltas told them."""

    reasoning_chars: int
    visible_chars: int
    reasoning_counted: int | None
    visible_counted: int | None
    reasoning_steps: int
    visible_steps: int


def last_usage(observation: Observation) -> Usage | None:
    """The last report: running reports are cumulative, so the last one holds all."""
    reports = [event.usage for event in observation.events if isinstance(event, UsageReport)]
    return reports[-1] if reports else None


def channels(observation: Observation) -> Channels:
    reasoning = [event for event in observation.events if isinstance(event, ReasoningDelta)]
    visible = [event for event in observation.events if isinstance(event, VisibleDelta)]
    steps = _steps(observation.events)
    return Channels(
        reasoning_chars=sum(len(delta.text) for delta in reasoning),
        visible_chars=sum(len(delta.text) for delta in visible),
        reasoning_counted=_counted(reasoning),
        visible_counted=_counted(visible),
        reasoning_steps=steps[ReasoningDelta],
        visible_steps=steps[VisibleDelta],
    )


def made_up_by_gateway(usage: Usage) -> bool:
    """LiteLLM 1.110.2 adds `text_tokens` to counts that it made itself, and to no others."""
    return usage.text_tokens is not None


def contradicted(usage: Usage, reasoning_chars: int) -> bool:
    """A reported 0 beside more than a few characters of reasoning text (a lone mark or newline is no contradiction)."""
    return usage.reasoning_tokens == 0 and reasoning_chars > 16


def count_tokens(observation: Observation, *, chars_per_token: float | None = None) -> TokenCounts:
    """Reasoning and visible tokens of one answer. `chars_per_token`: learned from this hop's earlier answers."""
    usage = last_usage(observation) or Usage()
    text = channels(observation)
    trusted = not made_up_by_gateway(usage) and not contradicted(usage, text.reasoning_chars)
    if trusted and usage.reasoning_tokens is not None:
        return _reported(usage, CountSource.USAGE)
    if text.reasoning_counted is not None or text.visible_counted is not None:
        return TokenCounts(
            reasoning=_count(text.reasoning_counted, CountSource.COUNTED),
            visible=_count(text.visible_counted, CountSource.COUNTED),
        )
    if text.reasoning_chars and usage.completion_tokens is not None:
        return _split(usage.completion_tokens, text)
    if made_up_by_gateway(usage) and usage.reasoning_tokens is not None:
        return _reported(usage, CountSource.ESTIMATED)
    if chars_per_token:
        return _by_ratio(text, chars_per_token)
    return TokenCounts()


def chars_per_token(counts: TokenCounts, reasoning_chars: int) -> float | None:
    """The ratio that one answer teaches: reasoning characters over tokens, where those are counted and enough."""
    known = counts.reasoning
    if known is None or known.source is CountSource.ESTIMATED or known.value < _LEAST_TOKENS or not reasoning_chars:
        return None
    return reasoning_chars / known.value


def _counted(deltas: Iterable[ReasoningDelta | VisibleDelta]) -> int | None:
    tokens = [delta.tokens for delta in deltas]
    known = [count for count in tokens if count is not None]
    return sum(known) if known and len(known) == len(tokens) else None


def _count(value: int | None, source: CountSource) -> TokenCount | None:
    return None if value is None else TokenCount(value=value, source=source)


def _reported(usage: Usage, source: CountSource) -> TokenCounts:
    reasoning = usage.reasoning_tokens or 0
    completion = usage.completion_tokens
    visible = None if completion is None else max(completion - reasoning, 0)
    return TokenCounts(reasoning=_count(reasoning, source), visible=_count(visible, source))


def _steps(events: Iterable[StreamEvent]) -> Counter[type]:
    """Events by the channel of their text; an event without any counts to the channel that spoke last."""
    steps: Counter[type] = Counter()
    channel, empty = None, False
    for event in events:
        if isinstance(event, EventReceived):
            steps[channel or EventReceived] += empty
            empty = True
        elif isinstance(event, ReasoningDelta | VisibleDelta):
            steps[type(event)] += empty
            channel, empty = type(event), False
        elif isinstance(event, UsageReport | Role | Terminator | ServerError | KeepAlive):
            empty = False
    return steps


def _split(completion_tokens: int, text: Channels) -> TokenCounts:
    steps = text.reasoning_steps + text.visible_steps
    by_steps = steps >= _STEPS_PER_TOKEN * completion_tokens
    part, whole = (
        (text.reasoning_steps, steps) if by_steps else (text.reasoning_chars, text.reasoning_chars + text.visible_chars)
    )
    reasoning = round(completion_tokens * part / whole)
    return TokenCounts(
        reasoning=_count(reasoning, CountSource.ESTIMATED),
        visible=_count(completion_tokens - reasoning, CountSource.ESTIMATED),
    )


def _by_ratio(text: Channels, chars_per_token: float) -> TokenCounts:
    """Reasoning without text stays unknown: it may be hidden."""
    reasoning = round(text.reasoning_chars / chars_per_token) if text.reasoning_chars else None
    visible = round(text.visible_chars / chars_per_token)
    return TokenCounts(
        reasoning=_count(reasoning, CountSource.ESTIMATED), visible=_count(visible, CountSource.ESTIMATED)
    )
