from datetime import timedelta

import pytest

from canary.web.figures import clock, length, moment, percent, plain, prose, seconds
from canary.web.words import Words
from tests.fakes.snapshots import NOW

EN, KO = Words(language="en"), Words(language="ko")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("배포 → ok", "배포 → ok", id="any language"),
        pytest.param("a\nb\x00c", "a\ufffdb\ufffdc", id="control characters"),
        pytest.param("\u202eab\ud800", "\ufffdab\ufffd", id="direction, half a pair"),
        pytest.param("x" * 401, "x" * 400 + "…", id="long"),
        pytest.param("x" * 400, "x" * 400, id="just not long"),
    ],
)
def test_plain(text, shown):
    assert plain(text) == shown


def test_prose_keeps_its_lines():
    assert prose("a\n\tb\x1b[2J\u202e") == "a\n\tb\ufffd[2J\ufffd"
    assert prose("abc", 2) == "ab…"


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        pytest.param(None, "\N{EN DASH}", id="not known"),
        pytest.param(0.0, "0 %", id="none"),
        pytest.param(0.734, "73 %", id="some"),
        pytest.param(0.9999, "99.99 %", id="not all"),
        pytest.param(0.99999, "99.99 %", id="never rounded up to all"),
        pytest.param(1.0, "100 %", id="all"),
    ],
)
def test_percent(share, shown):
    assert percent(share, EN) == shown


def test_seconds_that_are_not_known():
    assert (seconds(None, EN), seconds(1.5, EN)) == ("\N{EN DASH}", "1.50 s")


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        pytest.param({"seconds": 59}, "< 1 min", id="short"),
        pytest.param({"minutes": 1, "seconds": 1}, "1 min", id="one minute"),
        pytest.param({"minutes": 12, "seconds": 40}, "12 min", id="minutes"),
        pytest.param({"hours": 5, "minutes": 2}, "5 h 2 min", id="hours"),
        pytest.param({"days": 3, "hours": 4}, "3 d 4 h", id="days"),
    ],
)
def test_length(span, shown):
    assert length(NOW - timedelta(**span), NOW, EN) == shown


def test_times():
    assert moment(NOW) == "2026-01-31 12:00:00 UTC"
    assert clock(NOW - timedelta(hours=1), NOW) == "11:00:00 UTC"
    assert clock(NOW - timedelta(hours=13), NOW) == "2026-01-30 23:00 UTC"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(0.0032, "3.2ms", id="milliseconds"),
        pytest.param(97.4, "97.4초", id="seconds"),
        pytest.param(250.0, "4분 10초", id="minutes and seconds"),
        pytest.param(7500.0, "2시간 5분", id="hours"),
        pytest.param(-1.5, "-1.50초", id="negative"),
    ],
)
def test_seconds_in_korean(value, shown):
    assert seconds(value, KO) == shown


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        pytest.param({"seconds": 59}, "1분 미만", id="short"),
        pytest.param({"minutes": 12}, "12분", id="minutes"),
        pytest.param({"hours": 5, "minutes": 2}, "5시간 2분", id="hours"),
        pytest.param({"days": 3, "hours": 4}, "3일 4시간", id="days"),
    ],
)
def test_length_in_korean(span, shown):
    assert length(NOW - timedelta(**span), NOW, KO) == shown


def test_percent_in_korean():
    assert (percent(0.734, KO), percent(0.9999, KO), percent(None, KO)) == ("73%", "99.99%", "\N{EN DASH}")
