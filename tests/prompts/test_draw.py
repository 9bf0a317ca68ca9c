import pytest

from canary.prompts.draw import integer, stream


def test_the_same_seed_and_purpose_give_the_same_numbers_for_ever():
    assert [integer(seed, "a", 1, 100) for seed in range(3)] == [6, 46, 29]
    assert stream(1, "a", 8) == stream(1, "a", 16)[:8]


def test_seeds_and_purposes_are_told_apart():
    assert len({integer(seed, purpose, 0, 2**64) for seed in (1, 11) for purpose in ("a", "1/a")}) == 4
    assert stream(1, "a", 8) != stream(2, "a", 8)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-3, 2), (5, 9), (10**17, 10**18)])
def test_both_ends_are_included_and_nothing_outside(low, high):
    drawn = {integer(seed, "x", low, high) for seed in range(400)}
    assert drawn <= set(range(low, high + 1)) if high - low < 10 else low <= min(drawn) <= max(drawn) <= high
    assert len(drawn) == min(high - low + 1, 400)


def test_draws_are_even():
    drawn = [integer(seed, "x", 0, 9) for seed in range(5000)]
    assert all(400 < drawn.count(number) < 600 for number in range(10))
