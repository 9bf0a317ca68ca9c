"""What to ask, before it has the shape of a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from canary.core.observation import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question in one user message. `extra` is merged into the body last and wins."""

    model: str
    text: str
    max_tokens: int | None = None
    temperature: float | None = None
    stream: bool = True
    extra: Mapping[str, Json] = field(default_factory=dict)
