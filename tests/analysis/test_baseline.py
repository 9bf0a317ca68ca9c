"""What is usual, and what is beyond it."""

import math
from datetime import timedelta
from random import Random  # noqa: TID251  # seeded

import pytest

from canary.analysis.baseline import METRICS, Worse, norm_of
from canary.analysis.examples import examples_of
from canary.analysis.remember import values_of
from tests.fakes.evidence import evidence
from tests.fakes.pasts import NEW, NOW, OLD, pasts

BY_NAME = {metric.name: metric for metrics in METRICS.values() for metric in metrics}
TOTAL, SPEED = BY_NAME["total_s"], BY_NAME["tokens_per_s"]
TOKENS, SHARE = BY_NAME["reasoning_tokens"], BY_NAME["reasoning_to_output_ratio"]
REST = [None] * 4  # the recent ones, which are no examples


def usual(metric, *values, fingerprint=OLD, **more):
    norm, _ = norm_of(metric, examples_of(pasts(*values, *REST, metric=metric.name, **more), fingerprint, NOW))
    return norm


def noisy(middle, sigma, count, seed=1):
    rng = Random(seed)
    return [middle * math.exp(rng.gauss(0, sigma)) for _ in range(count)]


def test_every_metric_is_one_that_is_remembered():
    assert BY_NAME.keys() <= {
        *values_of(evidence().measurement),
        "reasoning_tokens",
        "reasoning_to_output_ratio",
        "tokens_per_s",
    }


@pytest.mark.parametrize("metric", BY_NAME.values(), ids=BY_NAME)
@pytest.mark.parametrize("value", [0.0, 0.3, 0.9999, 1.0])
def test_scales_go_there_and_back(metric, value):
    assert metric.unscale(metric.scale(value)) == pytest.approx(value, abs=1.1e-3)


def test_nineteen_are_too_few_and_twenty_are_enough():
    assert usual(TOTAL, *[10] * 19) is None
    assert usual(TOTAL, *[10] * 20).count == 20


def test_only_the_newest_two_hundred_count():
    norm = usual(TOTAL, *[1000] * 100, *[10] * 200)
    assert (norm.usual, norm.count) == (pytest.approx(10), 200)


@pytest.mark.parametrize(
    ("metric", "values", "low", "high"),
    [
        pytest.param(TOTAL, [10] * 30, None, 15.0, id="a ratio, where all are equal"),
        pytest.param(TOTAL, [1] * 30, None, 3.0, id="the floor, where all are small"),
        pytest.param(SPEED, [60] * 30, 40.0, None, id="half the speed is as much as twice the time"),
        pytest.param(SPEED, [3] * 30, 1.0, None, id="the floor of a speed"),
        pytest.param(SPEED, [1] * 30, -1.0, None, id="a speed that cannot fall by the floor"),
        pytest.param(TOKENS, [899] * 30, 599, 1349, id="both ways"),
        pytest.param(TOKENS, [60] * 30, -40, 160, id="the floor both ways"),
        pytest.param(TOKENS, [0] * 30, -100, 100, id="never any reasoning"),
        pytest.param(SHARE, [0.5] * 30, 0.35, 0.65, id="a share: the floor"),
        pytest.param(SHARE, [0.9] * 30, 0.75, 1.05, id="a share cannot rise over all"),
        pytest.param(SHARE, [1.0] * 30, 0.849, 1.149, id="all in reasoning"),
        pytest.param(TOTAL, [10] * 15 + [11] * 15, None, 10.488 * 1.5, id="a deviation of nearly nothing"),
        pytest.param(TOTAL, [10] * 25 + [30] * 2, None, 15.0, id="two outliers"),
        pytest.param(TOTAL, [10] * 24 + [30] * 6, None, 30.0, id="a second hump is usual"),
    ],
)
def test_limits(metric, values, low, high):
    norm = usual(metric, *values)
    assert norm.low == (None if low is None else pytest.approx(low, abs=0.01, rel=0.002))
    assert norm.high == (None if high is None else pytest.approx(high, abs=0.01, rel=0.002))


def test_noise_counts_for_less_than_what_moves_slowly():
    """Medians of five do not see noise as much; they see all of a load that comes and goes with the day."""
    sigma = 0.2
    noise = usual(TOTAL, *noisy(10, sigma, 200)).high
    day = usual(
        TOTAL, *(10 * math.exp(sigma * math.sqrt(2) * math.sin(hour / 24 * math.tau)) for hour in range(200))
    ).high
    assert 10 * math.exp(2.2 * sigma) < noise < 10 * math.exp(4 * sigma) < day < 10 * math.exp(9 * sigma)


def daily(middle, swing, sigma=0.05, *, days, every_h=1):
    """Slowest at one hour of each day by `swing`, and so much quicker twelve hours later."""
    rng = Random(2)
    hours = range(0, days * 24, every_h)
    return [middle * math.exp(rng.gauss(0, sigma)) * (1 + swing * math.sin(hour / 24 * math.tau)) for hour in hours]


@pytest.mark.parametrize("metric", [TOTAL, SPEED], ids=["slower", "less"])
@pytest.mark.parametrize(
    ("swing", "every_h", "days"), [(0.1, 1, 8), (0.2, 1, 8), (0.3, 1, 8), (0.3, 4, 30), (0.3, 6, 50)]
)
def test_a_day_that_was_seen_for_a_week_hides_no_half_of_the_speed(metric, swing, every_h, days):
    values = daily(20, swing, days=days, every_h=every_h)
    norm = usual(metric, *values, every_s=every_h * 3600.0)
    assert not any(norm.passed(values[index : index + 5]) for index in range(len(values)))
    at_its_worst, factor = (max(values), 2.0) if metric is TOTAL else (min(values), 0.5)
    assert norm.beyond(at_its_worst * factor)
    assert norm.beyond(norm.usual * factor)


@pytest.mark.parametrize(("days", "bound"), [(2, False), (6, False), (8, True)], ids=str)
def test_what_was_not_seen_for_a_week_may_go_further(days, bound):
    """A week's end is no measure of a Monday."""
    high = usual(TOTAL, *daily(20, 0.2, days=days), every_s=3600.0).high
    assert (high < 40) is bound


@pytest.mark.parametrize("seed", range(5))
def test_noise_has_the_same_limits_however_long_it_was_seen(seed):
    values = noisy(10, 0.2, 200, seed)
    assert usual(TOTAL, *values, every_s=3600.0).high == pytest.approx(usual(TOTAL, *values).high, rel=0.1)


@pytest.mark.parametrize(("outliers", "needed"), [(0, 3), (2, 3), (3, 4), (8, 4), (9, 5), (20, 5)], ids=str)
def test_the_more_single_runs_are_beyond_the_limit_the_more_it_takes(outliers, needed):
    values = [10.0] * 200
    for index in range(outliers):
        values[index * 9] = 50.0
    norm = usual(TOTAL, *values)
    assert (norm.high, norm.needed) == (pytest.approx(15), needed)
    assert norm.passed([50.0] * needed) == norm.high
    assert norm.passed([50.0] * (needed - 1) + [10.0] * 4) is None


def test_of_two_sides_only_one_counts():
    norm = usual(TOKENS, *[1000] * 30)
    assert norm.passed([3000, 3000, 10, 10]) is None
    assert norm.passed([3000, 3000, 3000]) == norm.high
    assert norm.passed([10, 10, 10]) == norm.low
    assert (norm.beyond(3000), norm.beyond(10), norm.beyond(1000)) == (True, True, False)


@pytest.mark.parametrize(
    ("metric", "value", "halfway"),
    [
        (TOTAL, 12.4, False),
        (TOTAL, 12.6, True),
        (TOTAL, 1.0, False),
        (TOKENS, 8.4, False),
        (SPEED, 8.4, False),
        (SPEED, 8.2, True),
    ],
)
def test_halfway(metric, value, halfway):
    assert usual(metric, *[10] * 30).halfway(value) is halfway


def test_the_software_before_is_the_norm_until_there_are_enough_of_the_new_one():
    old = pasts(*[10] * 30, until=NOW - timedelta(hours=3))
    few = pasts(*[20] * 19, *REST, fingerprint=NEW)
    enough = pasts(*[20] * 20, *REST, fingerprint=NEW)
    norm, since = norm_of(TOTAL, examples_of((*old, *few), NEW, NOW))
    assert (norm.usual, since) == (pytest.approx(10), ("vLLM 0.22.1 -> 0.23.0",))
    norm, since = norm_of(TOTAL, examples_of((*old, *enough), NEW, NOW))
    assert (norm.usual, since) == (pytest.approx(20), ())


def test_back_to_what_it_was_before_a_new_normal_is_no_regression():
    """Cut at 10 s for four days, then whole again; and the other way round for reasoning."""
    whole = pasts(*[60] * 30, until=NOW - timedelta(days=5))
    cut = pasts(*[10] * 100, *REST, every_s=3600, clean=False)
    norm, _ = norm_of(TOTAL, examples_of((*whole, *cut), OLD, NOW))
    assert (norm.usual, norm.high) == (pytest.approx(10), pytest.approx(90))
    much = pasts(*[2000] * 30, until=NOW - timedelta(days=5), metric=TOKENS.name)
    none = pasts(*[500] * 100, *REST, every_s=3600, clean=False, metric=TOKENS.name)
    norm, _ = norm_of(TOKENS, examples_of((*much, *none), OLD, NOW))
    assert (norm.low, norm.high) == (pytest.approx(333, abs=1), pytest.approx(3001, abs=1))


def test_each_way_of_being_worse_has_its_limits():
    for metric in BY_NAME.values():
        norm = usual(metric, *[0.5] * 30)
        assert (norm.low is None, norm.high is None) == (metric.worse is Worse.HIGHER, metric.worse is Worse.LOWER)
