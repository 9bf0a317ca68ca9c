"""What an answer cost: for limits of tokens, which must count the same before and after a restart."""

from __future__ import annotations

import json

from canary.analysis.remember import values_of
from canary.core.measurement import Measurement
from canary.core.observation import Exchange

_CHARS_PER_TOKEN = 4  # of a prompt, where nobody reports its tokens; English text by the usual tokenizers


def tokens_spent(measurement: Measurement, exchange: Exchange) -> int:
    """In and out: as reported, else by what was sent and seen. A request that was refused cost no input."""
    values = values_of(measurement)
    seen = values.get("reasoning_tokens", 0) + values.get("visible_tokens", 0)
    came = exchange.head is not None and exchange.head.status < 400
    sent = len(json.dumps(exchange.request, ensure_ascii=False)) / _CHARS_PER_TOKEN if came else 0
    return round(values.get("input_tokens", sent) + max(values.get("output_tokens", 0), seen))
