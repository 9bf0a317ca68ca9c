"""What is usual for one hop, from its own earlier answers, and how far an answer may be from it.

A number is unusual when it is worse than all of these, in its own scale (times and tokens on a log scale, because their
noise multiplies; shares as log odds):

- 5 robust standard deviations (1.4826 times the median absolute deviation) from the median. Three of five runs beyond a
  limit is a median of five beyond it, so the deviation is that of the medians of five neighbours. Noise is 0.54 of
  itself in those; what moves slowly, like the load of a day, is all there. Never less than 0.6 of the single runs',
  because few medians are no measure. Where more than half of the runs are equal it is 0, and the other limits decide.
- Or, if that is nearer and 50 runs or more show a whole week: the furthest of these medians, and beyond it 5 deviations
  of the noise alone, or 3.5 of theirs (the furthest of many is 2 from the middle by chance). What comes and goes with
  the hours was seen by then as far as it goes: to allow 5 deviations of it would never find half the speed where noon
  and night differ by a half. (200 runs five minutes apart are no week. There such a day still hides a doubling; a limit
  of the probe does not.)
- A relative change of 50 %: a ratio of 1.5 either way, so that half the speed is as much as twice the time.
- An absolute floor: nobody waits for 40 ms that became 80 ms.
- What a tenth of the earlier runs were beyond themselves: the second hump of two is usual, whatever the deviation says.

One run beyond the limit is nothing; three of five are a regression. Three by chance come with the third power of how
often one does: where more than 1 % of the earlier runs were beyond the limit it takes four, above 4 % all five, which
keeps chance near one in 100,000 runs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from statistics import median
from types import MappingProxyType

from canary.analysis.examples import LEAST, RECENT, Examples
from canary.core.history import Past

_MOST = 200  # examples
_DEVIATIONS = 5.0
_RATIO = math.log(1.5)
_SIGMA_PER_MAD = 1.4826  # of a normal distribution
_OF_SINGLE_RUNS = 0.6
_SIGMA_PER_STEP = 2.04  # of a normal distribution: to the median distance from the median of five around it
_BEYOND_THE_FURTHEST = 3.5  # deviations of medians
_ALL_SEEN, _MANY = timedelta(days=7), 50
_SECOND_HUMP = 0.1  # of the examples
_NEEDED = ((3, 0.01, 1), (4, 0.04, 2))  # of five runs, where at most this share of the examples, or so many, are beyond
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
    """What is usual of one metric over `count` examples; what is beyond `low` or `high` (None: no limit) is not.

    `needed`: how many of the last runs must be.
    """

    usual: float
    low: float | None
    high: float | None
    needed: int
    count: int

    def passed(self, values: Sequence[float]) -> float | None:
        """The limit that enough of the last runs are beyond; None where there is none."""
        if self.high is not None and sum(value > self.high for value in values) >= self.needed:
            return self.high
        if self.low is not None and sum(value < self.low for value in values) >= self.needed:
            return self.low
        return None

    def beyond(self, value: float) -> bool:
        return (self.high is not None and value > self.high) or (self.low is not None and value < self.low)

    def halfway(self, value: float) -> bool:
        """Whether it is nearer to a limit than to what is usual."""
        high, low = self.high, self.low
        return (high is not None and value > (self.usual + high) / 2) or (
            low is not None and value < (self.usual + low) / 2
        )


def norm_of(metric: Metric, examples: Examples) -> tuple[Norm | None, tuple[str, ...]]:
    """What is usual, and what changed since then; None where there are too few examples."""
    own, before, earlier = (_telling(rows, metric) for rows in (examples.own, examples.before, examples.earlier))
    chosen, since = (own, ()) if len(own) >= LEAST else (before, examples.since)
    if len(chosen) < LEAST:
        return None, ()
    norm = _norm(metric, chosen)
    return (_wider(norm, _norm(metric, earlier)) if len(earlier) >= LEAST else norm), since


def _wider(norm: Norm, other: Norm) -> Norm:
    """What either of them lets pass: a hop that is as it was before its new normal has got better, not worse."""
    low = None if norm.low is None or other.low is None else min(norm.low, other.low)
    high = None if norm.high is None or other.high is None else max(norm.high, other.high)
    return replace(norm, low=low, high=high)


def _telling(rows: Sequence[Past], metric: Metric) -> list[Past]:
    return [row for row in rows if metric.name in row.values][-_MOST:]


def _norm(metric: Metric, rows: Sequence[Past]) -> Norm:
    """Of `rows` in the order in which they came; each has the metric."""
    values = [row.values[metric.name] for row in rows]
    scaled = [metric.scale(value) for value in values]
    ordered = sorted(scaled)
    middle = median(ordered)
    usual = metric.unscale(middle)
    least, most = _reach(scaled, ordered, all_seen=_all_seen(rows))
    few = int(len(scaled) * _SECOND_HUMP)
    high = max(metric.unscale(max(most, middle + _RATIO, ordered[-1 - few])), usual + metric.floor)
    low = min(metric.unscale(min(least, middle - _RATIO, ordered[few])), usual - metric.floor)
    norm = Norm(
        usual=usual,
        low=None if metric.worse is Worse.HIGHER else low,
        high=None if metric.worse is Worse.LOWER else high,
        needed=RECENT + 1,
        count=len(values),
    )
    return replace(norm, needed=_needed(sum(norm.beyond(value) for value in values), len(values)))


def _needed(beyond: int, count: int) -> int:
    enough = (runs for runs, share, least in _NEEDED if beyond <= max(share * count, least))
    return next(enough, RECENT + 1)


def _all_seen(rows: Sequence[Past]) -> bool:
    return len(rows) >= _MANY and rows[-1].at - rows[0].at >= _ALL_SEEN


def _reach(scaled: Sequence[float], ordered: Sequence[float], *, all_seen: bool) -> tuple[float, float]:
    """How far down and up chance and the hours of the day may take a value: see the top."""
    fives = [sorted(scaled[index : index + 5])[2] for index in range(len(scaled) - 4)]
    middle, of_fives = median(ordered), _SIGMA_PER_MAD * _mad(sorted(fives))
    deviation = max(of_fives, _OF_SINGLE_RUNS * _SIGMA_PER_MAD * _mad(ordered))
    least, most = middle - _DEVIATIONS * deviation, middle + _DEVIATIONS * deviation
    if not all_seen:
        return least, most
    steps = [abs(value - around) for value, around in zip(scaled[2:], fives, strict=False)]
    noise = _DEVIATIONS * _OF_SINGLE_RUNS * _SIGMA_PER_STEP * median(steps)
    further = min(noise, _BEYOND_THE_FURTHEST * of_fives)
    return max(least, min(fives) - further), min(most, max(fives) + further)


def _mad(ordered: Sequence[float]) -> float:
    middle = median(ordered)
    split = bisect_left(ordered, middle)
    return median([middle - value for value in ordered[:split]] + [value - middle for value in ordered[split:]])
