"""Which of its earlier runs show how a hop usually is.

- Clean ones, if the two after them were clean too: a regression takes three runs to be seen, and the first two of them
  are recorded as clean.
- Of the same software, the newest 200, at least 20. Until a new one has 20 of its own, the ones before the change are
  the norm. A number with fewer than 20 examples is not judged.
- A new normal: where nothing was clean for 3 days (a weekend, and each time of day three times) over at least 20 runs,
  those runs are how this hop is now. They count, and what was before them only widens the limits. So an upgrade that
  stays slower is told for 3 days and then is the norm; so is a hop that always fails some other check.
- The norm rolls: it follows the time of day and a slow drift, and cannot show them. Limits of a probe can.

The few newest runs are no examples: they are compared with these, together with the present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from canary.analysis.fingerprint import changes, same_software
from canary.core.history import Past
from canary.core.measurement import Fingerprint

LEAST = 20  # examples
RECENT = 4  # runs before this one that are looked at with it
_LEAD_IN = 2  # runs of a regression that pass before it is seen
_NEW_NORMAL = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Newest last: of the answer's own software, of the one before it, and from before a new normal.

    `since`: what changed between the one before and its own; empty where that cannot be told.
    """

    own: tuple[Past, ...]
    before: tuple[Past, ...]
    earlier: tuple[Past, ...]
    since: tuple[str, ...]


def answers(history: Sequence[Past]) -> list[Past]:
    """The earlier runs that brought an answer, or some of it: the others have no numbers to compare."""
    return [row for row in history if "time_to_first_token_s" in row.values]


def examples_of(history: Sequence[Past], fingerprint: Fingerprint, now: datetime) -> Examples:
    """`history`: earlier answers of one hop and variant, newest last. The rules stand at the top."""
    rows = answers(history)
    end = max(0, len(rows) - RECENT)
    clean = [row.clean for row in rows]
    good = [index for index in range(end) if all(clean[index : index + 1 + _LEAD_IN])]
    start, stop = _new_normal(rows[:end], good, now)
    examples = [*rows[start:stop], *(rows[index] for index in good if index >= stop)]
    kinds = {row.fingerprint for row in examples}
    own_kinds = {kind for kind in kinds if same_software(kind, fingerprint)}
    others = [row for row in examples if row.fingerprint not in own_kinds]
    last = others[-1].fingerprint if others else fingerprint
    last_kinds = {kind for kind in kinds - own_kinds if same_software(kind, last)}
    of_last = [row for row in others if row.fingerprint in last_kinds]
    since = changes(last, fingerprint) if len(of_last) >= LEAST else ()
    return Examples(
        own=tuple(row for row in examples if row.fingerprint in own_kinds),
        before=tuple(of_last if since else others),
        earlier=tuple(rows[index] for index in good if index < start),
        since=since,
    )


def _new_normal(rows: Sequence[Past], good: Sequence[int], now: datetime) -> tuple[int, int]:
    """The last stretch of rows without a good one that is long enough, as [start, stop); empty where there is none."""
    for before, after in reversed(list(pairwise((-1, *good, len(rows))))):
        enough = after - before > LEAST
        if enough and (rows[after].at if after < len(rows) else now) - rows[max(before, 0)].at >= _NEW_NORMAL:
            return before + 1, after
    return 0, 0
