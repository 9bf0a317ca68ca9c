"""What makes every prompt new from its first characters on.

Engines and gateways cache by prefix, in blocks whose hashes are chained, and some cache whole answers. A warm prefix
makes the second hop of a run look faster than the first, so each request opens with a mark of its own. It stands before
everything else, since whatever precedes it could be shared; and it looks like a log line's tag, which models pass over.
"""

from __future__ import annotations

import hashlib

_HEX_DIGITS = 12  # 48 bits: no two alike in years of probing


def nonce(*, seed: int, arm: str) -> str:
    """The mark of one request of a run; `arm` tells its requests apart, for instance `litellm/control/1`."""
    return hashlib.sha256(f"nonce/{seed}/{arm}".encode()).hexdigest()[:_HEX_DIGITS]


def opening(mark: str) -> str:
    """The first line of a prompt."""
    return f"[probe {mark}]\n"
