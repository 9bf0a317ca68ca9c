"""The numbers of one observation. What could not be measured is None and never a stand-in value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from canary.core.observation import End, StampSource
from canary.core.stream import ReasoningForm, Usage, Violation


class CountSource(StrEnum):
    """How good a token count is, best first."""

    USAGE = "usage"  # reported by the server, and not contradicted by the text
    COUNTED = "counted"  # token ids, or running usage in every chunk
    ESTIMATED = "estimated"  # from characters, or made up by a gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    value: int
    source: CountSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The longest gap of one clock, from the request to the end.

    `censored`: the gap was still open when the observation broke off, so the real one is at least this long.
    `tail_s`: from the last tick to the end, whichever gap was longest.
    """

    longest_s: float
    began_at: float
    censored: bool
    tail_s: float
    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Silences:
    """One silence per clock."""

    byte: Silence
    event: Silence
    token: Silence
    visible: Silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What tells which software answered."""

    model: str | None = None
    system_fingerprint: str | None = None
    server: str | None = None
    litellm_version: str | None = None
    reasoning_field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Seconds since the request was sent; characters and tokens per channel; how it ended.

    `visible_span_s`: first to last visible text. `held_open_s`: from the stream's last word (terminator or finish
    reason) to the end of the connection. `stamp_uncertainty_s`: the widest interval in which a read may have arrived.
    """

    time_to_headers_s: float | None
    time_to_first_byte_s: float | None
    time_to_first_token_s: float | None
    time_to_first_reasoning_token_s: float | None
    time_to_first_visible_content_s: float | None
    total_s: float
    silence: Silences
    keepalives: int
    reasoning_tokens: TokenCount | None
    visible_tokens: TokenCount | None
    reasoning_chars: int
    visible_chars: int
    reasoning_to_output_ratio: float | None
    reasoning_forms: frozenset[ReasoningForm]
    reasoning_blocks: int
    finish_reason: str | None
    terminator_seen: bool
    end: End
    usage: Usage | None
    usage_reports: int
    tool_call_chars: int
    refusal_chars: int
    error: str | None
    error_code: str | None
    violations: tuple[Violation, ...]
    reads: int
    events: int
    visible_span_s: float | None
    held_open_s: float | None
    tokens_per_s: float | None
    fingerprint: Fingerprint
    stamps: StampSource
    loop_lag_s: float | None
    dns_s: float | None
    connect_s: float | None
    tls_s: float | None
    stamp_uncertainty_s: float
