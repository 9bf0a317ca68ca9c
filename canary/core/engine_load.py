"""What an engine says of itself over the span of one request: its queue, its cache, its own idea of a first token."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLoad:
    """From two scrapes, just before and just after. Gauges: the higher of both. None: the engine does not say.

    `first_token_s`, `queue_s`: means over the requests that the engine finished (or began) in between, `requests` many.
    """

    running: float | None = None
    waiting: float | None = None
    kv_cache_use: float | None = None  # 0 to 1
    queue_s: float | None = None
    first_token_s: float | None = None
    requests: int | None = None
