"""What a stretch of history looks like, in one row per pipeline, probe, hop and variant.

Three rules keep the table honest:

- An answer that never came is not left out of a percentile: it counts as later than all that came, so a percentile can
  be infinite, "never". A mean has no place for it and is over the answers that came; `never` stands beside it.
- A refusal within a millisecond is no fast answer. Without a single token there was no first token and no end of an
  answer; with reasoning and nothing visible there was an end, but no first visible text.
- Where nothing came and nothing could be told of it either (the verdict is UNKNOWN: rate limit, our own network), the
  answer is counted in `requests` and `unknown` and in nothing else. Nor is a stream that we stopped ourselves ended.

Variants are different questions (another budget, a stream that we stop): they have rows of their own. A percentile is
the nearest rank: the smallest time that at least that share of the answers kept to. Interpolation would make up times
that nobody measured, between a number and never too.

Memory is bounded. Up to MOST_EXACT times of a kind are kept as they are; beyond that they are counted in buckets each
1 % wider than the one before (the sketch of Masson, Rim and Lee, "DDSketch", VLDB 2019), and a percentile is then
within 0.5 % of the exact one and says `exact=False`.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from canary.core.history import Answer
from canary.core.verdict import Status

MOST_EXACT = 20_000  # 160 kB of numbers; more than two months of a probe every five minutes
SLOW_S = 10.0  # what people still wait for with their attention on it (Nielsen, "Response Times", 1993)
_GROWTH = 1.01
_LOG_GROWTH = math.log(_GROWTH)
_SHORTEST_S = 1e-6  # what is shorter is counted as this: no clock here tells less apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds from the request, over `counted` answers of which `never` did not come; infinity: never.

    `slow_share`: 0 to 1, those that took more than SLOW_S or never came. None: no answer to tell it from.
    """

    counted: int
    never: int
    mean_s: float | None
    p95_s: float | None
    p99_s: float | None
    slow_share: float | None
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All answers of one place. Tokens and the share of reasoning (0 to 1) are means over the answers that tell them.

    `failed` and `unknown` count answers by their worst verdict.
    """

    pipeline: str
    probe: str
    variant: str
    hop: str
    requests: int
    failed: int
    unknown: int
    zero_visible: int
    input_tokens: float | None
    output_tokens: float | None
    reasoning_share: float | None
    first_token: Times
    first_visible: Times
    end_to_end: Times


class _Times:
    """Times of one kind as they come in."""

    def __init__(self) -> None:
        self._exact: array[float] | None = array("d")
        self._buckets: Counter[int] = Counter()
        self._sum_s = 0.0
        self._came = 0
        self._slow = 0
        self._never = 0

    def take(self, seconds: float | None, *, told: bool) -> None:
        """`seconds` None: it never came, or, where that was not told, nothing."""
        if seconds is None:
            self._never += told
            return
        self._came += 1
        self._sum_s += seconds
        self._slow += seconds > SLOW_S
        if self._exact is None:
            self._buckets[_bucket(seconds)] += 1
            return
        self._exact.append(seconds)
        if len(self._exact) > MOST_EXACT:
            self._buckets.update(map(_bucket, self._exact))
            self._exact = None

    def times(self) -> Times:
        counted = self._came + self._never
        return Times(
            counted=counted,
            never=self._never,
            mean_s=self._sum_s / self._came if self._came else None,
            p95_s=self._quantile(0.95),
            p99_s=self._quantile(0.99),
            slow_share=(self._slow + self._never) / counted if counted else None,
            exact=self._exact is not None,
        )

    def _quantile(self, share: float) -> float | None:
        counted = self._came + self._never
        if not counted:
            return None
        rank = math.ceil(round(share * counted, 6))  # from 1; 0.95 * 20 is a hair more than 19
        if rank > self._came:
            return math.inf
        if self._exact is not None:
            return sorted(self._exact)[rank - 1]
        return self._bucketed(rank)

    def _bucketed(self, rank: int) -> float:
        """The middle of the bucket with that rank: no value in it is further away than 0.5 %."""
        for index in sorted(self._buckets):
            rank -= self._buckets[index]
            if rank <= 0:
                break
        return float(2 * _GROWTH**index / (_GROWTH + 1))


def _bucket(seconds: float) -> int:
    """Bucket i holds ]growth^(i-1), growth^i]."""
    return math.ceil(math.log(max(seconds, _SHORTEST_S)) / _LOG_GROWTH)


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    count: int = 0

    def take(self, value: float | None) -> None:
        if value is not None:
            self.total += value
            self.count += 1

    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(slots=True)
class _Place:
    """One row in the making."""

    statuses: Counter[Status] = field(default_factory=Counter)
    input_tokens: _Mean = field(default_factory=_Mean)
    output_tokens: _Mean = field(default_factory=_Mean)
    reasoning_share: _Mean = field(default_factory=_Mean)
    first_token: _Times = field(default_factory=_Times)
    first_visible: _Times = field(default_factory=_Times)
    end_to_end: _Times = field(default_factory=_Times)

    def take(self, answer: Answer) -> None:
        values = answer.past.values
        told = answer.status is not Status.UNKNOWN and values.get("zero_visible") == 1.0
        first_token_s = values.get("time_to_first_token_s")
        nothing = told and first_token_s is None
        self.statuses[answer.status] += 1
        self.input_tokens.take(values.get("input_tokens"))
        self.output_tokens.take(values.get("output_tokens"))
        self.reasoning_share.take(values.get("reasoning_to_output_ratio"))
        self.first_token.take(first_token_s, told=nothing)
        self.first_visible.take(values.get("time_to_first_visible_content_s"), told=told)
        self.end_to_end.take(None if first_token_s is None else values.get("total_s"), told=nothing)


class Report:
    """Takes answers one at a time, in any number."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str, str], _Place] = {}

    def take(self, answer: Answer) -> None:
        place = (answer.pipeline, answer.probe, answer.variant, answer.hop)
        self._places.setdefault(place, _Place()).take(answer)

    def rows(self) -> tuple[Row, ...]:
        """By pipeline, probe and variant; hops from the user down: they were asked from the engine up."""
        upwards = reversed(self._places.items())
        return tuple(_row(*place, seen) for place, seen in sorted(upwards, key=lambda item: item[0][:3]))


def report(answers: Iterable[Answer]) -> tuple[Row, ...]:
    """The rows of a whole history at once."""
    made = Report()
    for answer in answers:
        made.take(answer)
    return made.rows()


def _row(pipeline: str, probe: str, variant: str, hop: str, seen: _Place) -> Row:
    first_visible = seen.first_visible.times()
    return Row(
        pipeline=pipeline,
        probe=probe,
        variant=variant,
        hop=hop,
        requests=seen.statuses.total(),
        failed=seen.statuses[Status.FAIL],
        unknown=seen.statuses[Status.UNKNOWN],
        zero_visible=first_visible.never,
        input_tokens=seen.input_tokens.mean(),
        output_tokens=seen.output_tokens.mean(),
        reasoning_share=seen.reasoning_share.mean(),
        first_token=seen.first_token.times(),
        first_visible=first_visible,
        end_to_end=seen.end_to_end.times(),
    )
