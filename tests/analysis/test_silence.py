from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.analysis.silence import silence

stamps = st.lists(st.integers(0, 10_000), max_size=30).map(sorted)


# expected: how long, from when, whether it was still open, the tail
@pytest.mark.parametrize(
    ("ticks", "end_at", "censored", "expected"),
    [
        pytest.param([], 0.0, False, (0.0, 0.0, False, 0.0), id="nothing at all"),
        pytest.param([], 31.0, False, (31.0, 0.0, False, 31.0), id="never a tick"),
        pytest.param([], 31.0, True, (31.0, 0.0, True, 31.0), id="never a tick, broken off"),
        pytest.param([31.0], 31.0, False, (31.0, 0.0, False, 0.0), id="the wait for the first counts"),
        pytest.param([1.0], 31.0, False, (30.0, 1.0, False, 30.0), id="the tail counts"),
        pytest.param([1.0], 31.0, True, (30.0, 1.0, True, 30.0), id="a broken tail is a lower bound"),
        pytest.param([1.0, 20.0], 25.0, True, (19.0, 1.0, False, 5.0), id="a longer gap that was closed is exact"),
        pytest.param([5.0, 5.0], 10.0, False, (5.0, 0.0, False, 5.0), id="of equal gaps the first"),
        pytest.param(
            [5.0, 5.0], 10.0, True, (5.0, 5.0, True, 5.0), id="of equal gaps the open one, which may be longer"
        ),
        pytest.param([0.0, 7.0], 7.0, False, (7.0, 0.0, False, 0.0), id="a tick at once"),
        pytest.param([9.0], 8.0, False, (9.0, 0.0, False, 0.0), id="an end that was stamped before the last tick"),
    ],
)
def test_table(ticks, end_at, censored, expected):
    found = silence(ticks, end_at=end_at, censored=censored)
    assert (found.longest_s, found.began_at, found.censored, found.tail_s) == expected
    assert found.ticks == len(ticks)


@given(stamps, st.integers(0, 5_000), st.booleans())
def test_the_longest_is_one_of_the_gaps_and_none_is_longer(ticks, rest, censored):
    end_at = (ticks[-1] if ticks else 0) + rest
    found = silence(ticks, end_at=end_at, censored=censored)
    borders = [0, *ticks, end_at]
    gaps = {before: after - before for before, after in pairwise(borders) if after > before}
    assert sum(gaps.values()) == end_at
    assert found.longest_s == max(gaps.values(), default=0)
    assert found.longest_s >= found.tail_s == rest
    assert found.longest_s == gaps.get(found.began_at, 0)
    assert not found.censored or (censored and found.began_at == (ticks[-1] if ticks else 0))


@given(stamps, st.integers(0, 10_000), st.booleans())
def test_one_more_tick_never_makes_a_silence_longer(ticks, extra, censored):
    end_at = max([*ticks, extra])
    before = silence(ticks, end_at=end_at, censored=censored)
    after = silence(sorted([*ticks, extra]), end_at=end_at, censored=censored)
    assert after.longest_s <= before.longest_s
    assert after.tail_s <= before.tail_s
    assert after.ticks == before.ticks + 1


@given(stamps, st.integers(0, 5_000))
def test_breaking_off_changes_only_what_is_said_of_the_tail(ticks, rest):
    end_at = (ticks[-1] if ticks else 0) + rest
    whole, broken = (silence(ticks, end_at=end_at, censored=censored) for censored in (False, True))
    assert not whole.censored
    assert broken.censored == (broken.tail_s == broken.longest_s)
    assert (whole.longest_s, whole.tail_s, whole.ticks) == (broken.longest_s, broken.tail_s, broken.ticks)
