"""What one answer is made of: a closed set of stamped facts, the same for every wire protocol.

`at` is seconds since the request was sent. A decoder turns bytes into these and nothing else; everything above reads
these and never bytes. Three rules keep them honest:

- Absent, null, zero and empty are four different facts (`Usage.nulls`, `tokens=None`, `text=""` never emitted).
- A piece of text belongs to exactly one channel: reasoning, visible, tool call or refusal.
- What a timer might count is data too: keepalives and events that carry nothing are recorded, not skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

# White space, controls, and signs without a shape: zero-width and direction marks, fillers, a byte order mark.
_SHAPELESS = r"\s\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufeff"
_LEGIBLE = re.compile(f"[^{_SHAPELESS}]")


class KeepAliveForm(StrEnum):
    """How a sign of life without content is framed; each form reaches different timers."""

    COMMENT = "comment"  # `: ping`; resets byte timers, no event timer
    EMPTY_EVENT = "empty_event"  # `event: ping` without data; a conforming parser never dispatches it
    PING_EVENT = "ping_event"  # an event with data that says ping; event timers count it
    WRAPPED_COMMENT = "wrapped_comment"  # `data: : ping`; a protocol violation that breaks JSON clients
    BLANK = "blank"  # white space between or before events or ahead of a JSON body


class ViolationKind(StrEnum):
    """What a stream did against its protocol without failing; some clients break on it."""

    KEEPALIVE_AS_DATA = "keepalive_as_data"
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    EVENT_WITHOUT_DATA = "event_without_data"
    MISSING_FINAL_BLANK_LINE = "missing_final_blank_line"
    INVALID_UTF8 = "invalid_utf8"
    DATA_AFTER_TERMINATOR = "data_after_terminator"
    JSON_FOR_STREAM = "json_for_stream"  # a stream was asked for, one JSON document came
    EVENT_TOO_LONG = "event_too_long"


class ReasoningForm(StrEnum):
    """Where reasoning text was found."""

    FIELD = "field"  # a field of its own: `reasoning`, `reasoning_content`, a thinking block
    INLINE_TAGS = "inline_tags"  # between an opening and a closing mark inside the visible channel
    UNOPENED_TAG = "unopened_tag"  # before a closing mark whose opener stood in the prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as reported. None = the key was absent; a name in `nulls` = the key was there and null."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    text_tokens: int | None = None  # its presence betrays a count made up by a gateway
    nulls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadersReceived:
    at: float
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesReceived:
    """One network read of body bytes."""

    at: float
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReceived:
    """One dispatched event or chunk, whatever it carried: what SDK watchdogs count."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive:
    at: float
    form: KeepAliveForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    at: float
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """Hidden reasoning text. `tokens`: how many it holds where the wire tells, else None; a delta is not a token."""

    at: float
    text: str
    source: str  # the field's name on the wire, or the opening mark
    form: ReasoningForm = ReasoningForm.FIELD
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPresent:
    """Reasoning that exists but cannot be read: encrypted, redacted, summarised away."""

    at: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleDelta:
    """Answer text as a person would see it, white space included."""

    at: float
    text: str
    tokens: int | None = None

    @property
    def legible(self) -> bool:
        """Whether any of it can be seen: gateways keep a connection alive with white space and zero-width signs."""
        return _LEGIBLE.search(self.text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSeen:
    """A reasoning mark that stood in the visible channel; `stray` = it closed nothing."""

    at: float
    tag: str
    stray: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabelled:
    """All visible text so far was reasoning: its opening mark stood in the prompt and only `tag` closed it."""

    at: float
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    at: float
    text: str  # the name or a piece of the arguments
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalDelta:
    at: float
    text: str
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Token counts so far; a later report replaces an earlier one and is never added to it."""

    at: float
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What the answer says of who made it; emitted when first seen and whenever it changes."""

    at: float
    model: str | None = None
    system_fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishReason:
    at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerError:
    """An error object where an answer should be, whatever the status. `code` as sent, number or text."""

    at: float
    message: str
    code: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    at: float
    kind: ViolationKind
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminator:
    """The protocol's own last word: `[DONE]`, `message_stop`, `response.completed`."""

    at: float


StreamEvent: TypeAlias = (
    HeadersReceived
    | BytesReceived
    | EventReceived
    | KeepAlive
    | Role
    | ReasoningDelta
    | ReasoningPresent
    | VisibleDelta
    | TagSeen
    | Relabelled
    | ToolCallDelta
    | RefusalDelta
    | UsageReport
    | Identity
    | FinishReason
    | ServerError
    | Violation
    | Terminator
)
