"""How many tokens each delta holds, where the wire tells. Events are not tokens.

Two sources: `token_ids` beside the text (vLLM with `return_token_ids`), and running usage in every chunk (vLLM with
`continuous_usage_stats`), of which the growth belongs to the text that came since. Tokens without text, such as a mark
that the engine's parser swallowed or text held back, go to the next delta, so that the sum is the server's sum.

Nothing is counted where that would be a guess: a report that does not come with every text is a final report and no
running one; one that a gateway made up (`text_tokens`) or that stays 0 beside text is no count; and a chunk with text
of two channels says nothing of either unless reasoning is reported apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from canary.core.stream import ReasoningDelta, RefusalDelta, StreamEvent, ToolCallDelta, Usage, VisibleDelta

_Delta = ReasoningDelta | VisibleDelta | ToolCallDelta | RefusalDelta
_DELTAS = (ReasoningDelta, VisibleDelta, ToolCallDelta, RefusalDelta)


class TokenCounts:
    """The running totals of one stream."""

    def __init__(self) -> None:
        self._ids: int | None = None  # token ids that no delta has yet; None = the stream has shown none
        self._running = True  # every text so far came with usage
        self._given = 0  # of the running total, what earlier chunks accounted for
        self._reasoning_given = 0

    def add(self, events: Sequence[StreamEvent], *, ids: int | None, usage: Usage | None) -> list[StreamEvent]:
        """The events of one chunk, their deltas with `tokens` where it is known."""
        if ids is not None:
            self._ids = (self._ids or 0) + ids
        deltas = [event for event in events if isinstance(event, _DELTAS)]
        if not deltas:
            return list(events)
        kinds = {type(delta) for delta in deltas}
        shares = self._by_usage(kinds, usage)
        if self._ids is not None:
            shares = {kinds.pop(): self._ids} if len(kinds) == 1 else {}
            self._ids = 0
        return _with_tokens(events, shares)

    def _by_usage(self, kinds: set[type[_Delta]], usage: Usage | None) -> dict[type[_Delta], int]:
        total = usage.completion_tokens if usage and usage.text_tokens is None else None
        if not total or total < self._given:
            self._running = False
        if not self._running or not total or not usage:
            return {}
        reasoning = usage.reasoning_tokens
        shares = self._apart(kinds, total, reasoning) if reasoning else self._together(kinds, total)
        if any(share < 0 for share in shares.values()):
            self._running = False
            return {}
        return shares

    def _apart(self, kinds: set[type[_Delta]], total: int, reasoning: int) -> dict[type[_Delta], int]:
        """Reasoning is reported by itself; the rest belongs to the other channel, if there is only one."""
        shares: dict[type[_Delta], int] = {}
        others = kinds - {ReasoningDelta}
        other_given = self._given - self._reasoning_given
        if ReasoningDelta in kinds:
            shares[ReasoningDelta] = reasoning - self._reasoning_given
            self._reasoning_given = reasoning
        if others:
            share = total - reasoning - other_given
            other_given = total - reasoning
            if len(others) == 1:
                shares[others.pop()] = share
        self._given = self._reasoning_given + other_given
        return shares

    def _together(self, kinds: set[type[_Delta]], total: int) -> dict[type[_Delta], int]:
        """Only a total is reported: its growth belongs to the only channel that has text."""
        share, self._given = total - self._given, total
        if len(kinds) > 1:
            self._running = False  # from here on, nobody can tell what belongs to whom
            return {}
        kind = next(iter(kinds))
        if kind is ReasoningDelta:
            self._reasoning_given += share
        return {kind: share}


def _with_tokens(events: Sequence[StreamEvent], shares: dict[type[_Delta], int]) -> list[StreamEvent]:
    """The first delta of a channel gets its whole share, further ones of the same chunk 0."""
    left = dict(shares)
    counted: list[StreamEvent] = []
    for event in events:
        if isinstance(event, _DELTAS) and type(event) in left:
            counted.append(replace(event, tokens=left[type(event)]))
            left[type(event)] = 0
        else:
            counted.append(event)
    return counted
