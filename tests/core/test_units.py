import pytest

from canary.core.units import format_duration, parse_duration, plural


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("0", 0.0),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        (" 2d ", 172800.0),
        ("1m0.5s", 60.5),
    ],
)
def test_durations_are_read(text: str, seconds: float):
    assert seconds == pytest.approx(parse_duration(text))


@pytest.mark.parametrize("text", ["", "s", "5 m", "five", "-1", "1h-5m", "nan", "inf", "1e999", "5x", "1s 2s", "-3s"])
def test_what_is_no_duration_says_what_one_looks_like(text: str):
    with pytest.raises(ValueError, match=r"is not a duration; (write it like|it must be)"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.0032, "3.2 ms"),
        (0.0994, "99.4 ms"),
        (0.0996, "0.10 s"),
        (0.31, "0.31 s"),
        (9.994, "9.99 s"),
        (9.996, "10.0 s"),
        (97.44, "97.4 s"),
        (119.96, "2 min"),
        (250.0, "4 min 10 s"),
        (3599.6, "1 h"),
        (7500.0, "2 h 5 min"),
        (-1.5, "-1.50 s"),
    ],
)
def test_durations_are_written_for_people(seconds: float, text: str):
    assert text == format_duration(seconds)


@pytest.mark.parametrize(("count", "text"), [(0, "0 tokens"), (1, "1 token"), (2, "2 tokens")])
def test_plural(count: int, text: str):
    assert text == plural(count, "token")
