"""What is usual for one hop, from its own earlier answers, and how far an answer may be from it.

A number is unusual when it is worse than all of these, in its own scale (times and tokens on a log scale, because their
noise multiplies; shares as log odds):

- 5 robust standard deviations (1.4826 times the median absolute deviation) from the median. Three of five runs beyond a
  limit is a median of five beyond it, so the deviation is that of the medians of five neighbours. Noise is 0.54 of
  itself in those; what moves slowly, like the load of a day, is all there. Never less than 0.6 of the single runs',
  because few medians are no measure. Where more than half of the runs are equal it is 0, and the other limits decide.
- A relative change of 50 %: a ratio of 1.5 either way, so that half the speed is as much as twice the time.
- An absolute floor: nobody waits for 40 ms that became 80 ms.
- What a few of the earlier runs did themselves (1 %, at least 3). This holds two-humped and heavy-tailed numbers: what
  happens now and then is usual, whatever the deviation says.

Which runs count, of those before the few that are compared with them:

- Clean ones, if the two after them were clean too: a regression takes three runs to be seen, and the first two of them
  are recorded as clean.
- Of the same software, the newest 200, at least 20. Until a new one has 20 of its own, the ones before the change are
  the norm. A number with fewer than 20 examples is not judged.
- A new normal: where nothing was clean for 3 days (a weekend, and each time of day three times) over at least 20 runs,
  those runs are how this hop is now. They count, and what was before them only widens the limits. So an upgrade that
  stays slower is told for 3 days and then is the norm; so is a hop that always fails some other check.
- The norm rolls: it follows the time of day and a slow drift, and cannot show them. Limits of a probe can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median
from types import MappingProxyType

from canary.analysis.fingerprint import changes, same_software
from canary.core.history import Past
from canary.core.measurement import Fingerprint

LEAST = 20  # examples
MOST = 200
RECENT = 4  # runs before this one that are looked at with it
_DEVIATIONS = 5.0
_RATIO = math.log(1.5)
_SIGMA_PER_MAD = 1.4826  # of a normal distribution
_OF_SINGLE_RUNS = 0.6
_NOW_AND_THEN = 0.01  # of the examples
_LEAST_NOW_AND_THEN = 3
_LEAD_IN = 2  # runs of a regression that pass before it is seen
_NEW_NORMAL = timedelta(days=3)
_SMALLEST = 1e-3  # s or tokens/s; a share is kept this far from 0 and 1


class Worse(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"
    EITHER = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`name` as in `analysis.remember`. `floor`: the least change that matters, in `unit`. `words`: what it is."""

    name: str
    worse: Worse
    floor: float
    unit: str
    words: str
    scale: Callable[[float], float]
    unscale: Callable[[float], float]


def _log(value: float) -> float:
    return math.log(max(value, _SMALLEST))


def _log_odds(share: float) -> float:
    kept = min(max(share, _SMALLEST), 1 - _SMALLEST)
    return math.log(kept / (1 - kept))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def _log_count(count: float) -> float:
    return math.log1p(count)


def _time(name: str, words: str, *, floor: float) -> Metric:
    return Metric(name=name, worse=Worse.HIGHER, floor=floor, unit="s", words=words, scale=_log, unscale=math.exp)


SPEED = "speed"
REASONING = "reasoning"

# What is compared, by subject; what people feel first.
METRICS: Mapping[str, tuple[Metric, ...]] = MappingProxyType(
    {
        SPEED: (
            _time("time_to_first_visible_content_s", "first visible text after", floor=1.0),
            _time("silence_visible_s", "nothing visible for", floor=1.0),
            _time("time_to_first_token_s", "first token after", floor=0.5),
            _time("time_to_first_reasoning_token_s", "first reasoning after", floor=0.5),
            _time("total_s", "whole answer after", floor=2.0),
            Metric(
                name="tokens_per_s",
                worse=Worse.LOWER,
                floor=2.0,
                unit="tokens/s",
                words="speed",
                scale=_log,
                unscale=math.exp,
            ),
        ),
        REASONING: (
            Metric(
                name="reasoning_tokens",
                worse=Worse.EITHER,
                floor=100.0,
                unit="tokens",
                words="reasoning of",
                scale=_log_count,
                unscale=math.expm1,
            ),
            Metric(
                name="reasoning_to_output_ratio",
                worse=Worse.EITHER,
                floor=0.15,
                unit="share",
                words="share of reasoning",
                scale=_log_odds,
                unscale=_share,
            ),
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Norm:
    """What is usual of one metric over `count` examples; beyond `low` or `high` it is not. None: no limit that way."""

    usual: float
    low: float | None
    high: float | None
    count: int

    def passed(self, value: float) -> float | None:
        """The limit that `value` is beyond; None where it is within."""
        if self.high is not None and value > self.high:
            return self.high
        return self.low if self.low is not None and value < self.low else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """The examples for one answer: of its own software, of the one before, and from before a new normal.

    `since`: what changed between the one before and its own; empty where that cannot be told.
    """

    own: tuple[Past, ...]
    before: tuple[Past, ...]
    earlier: tuple[Past, ...]
    since: tuple[str, ...]

    def norm(self, metric: Metric) -> tuple[Norm | None, tuple[str, ...]]:
        """What is usual, and what changed since then; None where there are too few examples."""
        own, before, earlier = (_values(rows, metric) for rows in (self.own, self.before, self.earlier))
        chosen, since = (own, ()) if len(own) >= LEAST else (before, self.since)
        if len(chosen) < LEAST:
            return None, ()
        norm = _norm(metric, chosen)
        return (_wider(norm, _norm(metric, earlier)) if len(earlier) >= LEAST else norm), since


def answers(history: Sequence[Past]) -> list[Past]:
    """The earlier runs that brought an answer, or some of it: the others have no numbers to compare."""
    return [row for row in history if "time_to_first_token_s" in row.values]


def usual(history: Sequence[Past], fingerprint: Fingerprint, now: datetime) -> Usual:
    """`history`: earlier answers of one hop and variant, newest last. The rules stand at the top."""
    rows = answers(history)
    end = max(0, len(rows) - RECENT)
    good = [index for index in range(end) if all(row.clean for row in rows[index : index + 1 + _LEAD_IN])]
    start, stop = _new_normal(rows[:end], good, now)
    examples = [*rows[start:stop], *(rows[index] for index in good if index >= stop)]
    own_kinds = {each for each in {row.fingerprint for row in examples} if same_software(each, fingerprint)}
    others = [row for row in examples if row.fingerprint not in own_kinds]
    last = others[-1].fingerprint if others else fingerprint
    of_last = [row for row in others if row.fingerprint == last]
    since = changes(last, fingerprint) if len(of_last) >= LEAST else ()
    return Usual(
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


def _wider(norm: Norm, other: Norm) -> Norm:
    """What either of them lets pass: a hop that is as it was before its new normal has got better, not worse."""
    low = None if norm.low is None or other.low is None else min(norm.low, other.low)
    high = None if norm.high is None or other.high is None else max(norm.high, other.high)
    return replace(norm, low=low, high=high)


def _values(rows: Sequence[Past], metric: Metric) -> list[float]:
    return [row.values[metric.name] for row in rows if metric.name in row.values][-MOST:]


def _norm(metric: Metric, values: Sequence[float]) -> Norm:
    """Of `values` in the order in which they came."""
    scaled = [metric.scale(value) for value in values]
    ordered = sorted(scaled)
    middle = median(ordered)
    usual = metric.unscale(middle)
    reach = max(_DEVIATIONS * _SIGMA_PER_MAD * _deviation(scaled, ordered), _RATIO)
    few = max(_LEAST_NOW_AND_THEN, int(len(scaled) * _NOW_AND_THEN))
    high = max(metric.unscale(max(middle + reach, ordered[-1 - few])), usual + metric.floor)
    low = min(metric.unscale(min(middle - reach, ordered[few])), usual - metric.floor)
    return Norm(
        usual=usual,
        low=None if metric.worse is Worse.HIGHER else low,
        high=None if metric.worse is Worse.LOWER else high,
        count=len(values),
    )


def _deviation(scaled: Sequence[float], ordered: Sequence[float]) -> float:
    """The larger of the two median absolute deviations: see the top."""
    fives = sorted(sorted(scaled[index : index + 5])[2] for index in range(len(scaled) - 4))
    return max(_mad(fives), _OF_SINGLE_RUNS * _mad(ordered))


def _mad(ordered: Sequence[float]) -> float:
    middle = median(ordered)
    return median(abs(value - middle) for value in ordered)
