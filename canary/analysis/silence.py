"""Silence: the longest time that a clock did not tick.

The gap from the request to the first tick counts, and so does the tail from the last tick to the end: a stream that
says nothing for 31 s and then answers at once has a silence of 31 s, whatever its later rhythm. A gap that the
observation's end broke off is a lower bound and says so (`censored`); it must never calm a percentile down.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from canary.core.measurement import Silence


def silence(ticks: Sequence[float], *, end_at: float, censored: bool) -> Silence:
    """The longest gap over [0, end_at] with `ticks` in order. `censored`: the end cut the last gap short."""
    borders = [0.0, *ticks, max(end_at, ticks[-1] if ticks else 0.0)]
    gaps = [(after - before, before) for before, after in pairwise(borders)]
    tail_s, tail_began_at = gaps[-1]
    longest_s, began_at = max(gaps, key=lambda gap: gap[0])
    if censored and tail_s >= longest_s:
        began_at = tail_began_at
    return Silence(
        longest_s=longest_s,
        began_at=began_at,
        censored=censored and tail_s >= longest_s,
        tail_s=tail_s,
        ticks=len(ticks),
    )
