"""Numbers drawn from a seed: the same seed and purpose give the same numbers on every machine and Python version.

Hashes, not a generator with state: what one draw gives does not depend on which draws came before it.
"""

from __future__ import annotations

import hashlib


def integer(seed: int, purpose: str, low: int, high: int) -> int:
    """One integer in `low`..`high`, both included. 128 bits make the bias of the modulus too small to see."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return low + int.from_bytes(digest[:16], "big") % (high - low + 1)


def stream(seed: int, purpose: str, size: int) -> bytes:
    """`size` bytes in one go, for whoever needs many small numbers."""
    return hashlib.shake_256(f"{seed}/{purpose}".encode()).digest(size)
