"""Ids that follow from what they name: the same decision made twice, before and after a crash, has the same id."""

from __future__ import annotations

from hashlib import sha256


def id_of(*parts: str) -> str:
    """16 hexadecimal digits. The parts are kept apart, so that `ab, c` and `a, bc` differ."""
    return sha256("\x1f".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]
