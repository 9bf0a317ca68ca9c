import pytest

from canary.core.units import format_duration, format_size, parse_duration, parse_size, plural


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


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4096B", 4096),
        ("2GB", 2_000_000_000),
        ("2GiB", 2 * 1024**3),
        ("1.5mb", 1_500_000),
        (" 500 kB ", 500_000),
        ("1Ki", 1024),
        ("3TB", 3_000_000_000_000),
        ("0", 0),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int):
    assert size == parse_size(text)


@pytest.mark.parametrize(
    "text", ["", "GB", "2 gigabytes", "-1", "1e3", "2PB", "2  GB", "2iB", "1,5GB", "9" * 400 + "GB", "9999999TB"]
)
def test_what_is_no_size_says_what_one_looks_like(text: str):
    with pytest.raises(ValueError, match="is not a size; write it like"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (2_500_000, "2.5 MB"),
        (999_600, "1 MB"),
        (2 * 1024**3, "2.15 GB"),
        (5 * 10**15, "5e+03 TB"),
    ],
)
def test_sizes_are_written_for_people(size: int, text: str):
    assert text == format_size(size)
