"""How often something may be done: a bucket that fills slowly and holds a few."""

from __future__ import annotations


class Bucket:
    """`burst` at once, then one every `every_s`. Time is given, in seconds of any steady clock."""

    __slots__ = ("_burst", "_every_s", "_full_at")

    def __init__(self, *, burst: int, every_s: float) -> None:
        self._burst = burst
        self._every_s = every_s
        self._full_at = 0.0

    def take(self, now: float) -> float | None:
        """None if one was taken; else the seconds until one can be."""
        full_at = max(self._full_at, now) + self._every_s
        over_s = full_at - now - self._burst * self._every_s
        if over_s > 1e-9:
            return over_s
        self._full_at = full_at
        return None
