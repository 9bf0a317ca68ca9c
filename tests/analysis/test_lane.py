import pytest

from canary.analysis.lane import MEANINGS, Sign, column, lane, round_step
from tests.fakes.scripted_answer import answer, done, every, headers, ping, say, think


def test_the_most_telling_thing_of_a_column():
    signs = lane(answer(headers(0.5), ping(1.5), think(1.6), think(2.5), say(2.6), done(4.5)), span_s=5, columns=5)
    assert signs == (Sign.HEADERS, Sign.REASONING, Sign.VISIBLE, Sign.SILENCE, Sign.OTHER)


def test_nothing_after_the_end():
    assert len(lane(answer(headers(0.5), every(1, 1, 4), done(4)), span_s=8, columns=8)) == 5


def test_white_space_is_not_visible():
    assert lane(answer(headers(0.1), say(1.5, " \n"), done(2.5)), span_s=3, columns=3)[1] is Sign.OTHER


def test_every_sign_has_a_meaning():
    assert set(MEANINGS) == set(Sign)


@pytest.mark.parametrize(("at", "expected"), [(-1, 0), (0, 0), (4.99, 4), (5, 5), (10, 9), (99, 9)])
def test_column(at, expected):
    assert column(at, 10, 10) == expected


@pytest.mark.parametrize(("least", "expected"), [(0.3, 0.5), (1, 1), (1.1, 2), (7, 10), (70, 100)])
def test_round_step(least, expected):
    assert round_step(least) == pytest.approx(expected)
