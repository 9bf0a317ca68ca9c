"""The one message that a chat completion builds up: chunks in, stamped facts out."""

from __future__ import annotations

from canary.core.stream import (
    FinishReason,
    Identity,
    ReasoningDelta,
    ReasoningPresent,
    RefusalDelta,
    Role,
    StreamEvent,
    ToolCallDelta,
    UsageReport,
)
from canary.wire.chat_delta import Channel, Piece, pieces
from canary.wire.loose_json import Object, PairJoiner, object_of, objects_of, whole_text_of
from canary.wire.think_tags import ThinkTagSplitter
from canary.wire.token_counts import TokenCounts
from canary.wire.usage import usage_in

_NO_REASON = ("", "null")  # some servers send the word


class ChatMessage:
    """State across the chunks of one answer. `last_finish` is the finish reason of the chunk read last, or ""."""

    def __init__(self) -> None:
        self.last_finish = ""
        self._tags = ThinkTagSplitter()
        self._tokens = TokenCounts()
        self._pairs = {channel: PairJoiner() for channel in Channel}
        self._identity: tuple[str | None, str | None] = (None, None)
        self._said_anything = False

    def read(self, document: Object, at: float, *, whole: bool) -> list[StreamEvent]:
        """The facts of one chunk, or of a `whole` completion that came as one document."""
        choice = _first_choice(document)
        usage = usage_in(document, choice)
        events = self._who(document, at)
        self.last_finish = ""
        if choice is not None:
            said = self._said(choice, at, whole=whole)
            ids = choice.get("token_ids")
            count = len(ids) if isinstance(ids, list) and not whole else None
            events += said if whole else self._tokens.add(said, ids=count, usage=usage)
        if usage is not None:
            events.append(UsageReport(at=at, usage=usage))
        return events

    def flush(self, at: float) -> list[StreamEvent]:
        """Text held back as a possible mark, now that the message is over."""
        return [*self._tags.flush(at)]

    def _who(self, document: Object, at: float) -> list[StreamEvent]:
        model, fingerprint = self._identity
        seen = (
            whole_text_of(document.get("model")) or model,
            whole_text_of(document.get("system_fingerprint")) or fingerprint,
        )
        if seen == self._identity:
            return []
        self._identity = seen
        return [Identity(at=at, model=seen[0], system_fingerprint=seen[1])]

    def _said(self, choice: Object, at: float, *, whole: bool) -> list[StreamEvent]:
        """A `message` at the end of a stream repeats the deltas, so it counts only where they said nothing."""
        delta = object_of(choice.get("delta")) or {}
        said = [] if whole else pieces(delta)
        if not said and not self._said_anything:
            message = object_of(choice.get("message")) or delta
            delta, said = {**message, **delta}, pieces(message)
        self._said_anything = self._said_anything or bool(said)
        events: list[StreamEvent] = []
        if role := whole_text_of(delta.get("role")):
            events.append(Role(at=at, role=role))
        for piece in said:
            events += self._piece(piece, at)
        finish = whole_text_of(choice.get("finish_reason"))
        if finish not in _NO_REASON:
            self.last_finish = finish
            events += [*self._tags.flush(at), FinishReason(at=at, reason=finish)]
        return events

    def _piece(self, piece: Piece, at: float) -> list[StreamEvent]:
        if piece.channel is Channel.HIDDEN:
            self._tags.reasoning_came_by_field()
            return [ReasoningPresent(at=at, source=piece.source)]
        text = self._pairs[piece.channel].join(piece.text)
        if not text:
            return []
        match piece.channel:
            case Channel.REASONING:
                self._tags.reasoning_came_by_field()
                return [ReasoningDelta(at=at, text=text, source=piece.source)]
            case Channel.CONTENT:
                return [*self._tags.split(text, at)]
            case Channel.TOOL_CALL:
                flushed = self._tags.flush(at)
                self._tags.tool_call()
                return [*flushed, ToolCallDelta(at=at, text=text)]
        return [RefusalDelta(at=at, text=text)]


def _first_choice(document: Object) -> Object | None:
    """The choice with index 0; one without a number counts if it stands first."""
    for place, choice in enumerate(objects_of(document.get("choices"))):
        index = choice.get("index")
        if isinstance(index, bool) or not isinstance(index, int):
            index = place
        if index == 0:
            return choice
    return None
