import time
from datetime import UTC, datetime, timedelta

import pytest

from canary.cli.errors import UsageError
from canary.cli.when import FIRST, LAST, ahead, instant, local, now


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("2h", 7200), ("7d", 7 * 86400), ("1h30m", 5400), ("45", 45), ("0s", 0)],
)
def test_so_long_ago(text, seconds):
    before = now()
    found = instant(text, "--since")
    assert before - timedelta(seconds=seconds) <= found <= now() - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        pytest.param("2026-01-31T12:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC), id="UTC"),
        pytest.param("2026-01-31T12:00+09:00", datetime(2026, 1, 31, 3, tzinfo=UTC), id="with its zone"),
        pytest.param("2026-01-31 12:00", datetime(2026, 1, 31, 12).astimezone(UTC), id="of this machine"),
        pytest.param("2026-01-31", datetime(2026, 1, 31).astimezone(UTC), id="a day"),
        pytest.param("1000000000000000s", FIRST, id="before all calendars"),
        pytest.param("0001-01-01T00:00Z", FIRST, id="the first day, which is no day further west"),
        pytest.param("9999-12-31T23:59Z", LAST, id="the last day, which is no day further east"),
    ],
)
def test_a_time(text, time):
    assert instant(text, "--since") == time


@pytest.mark.parametrize(
    "text", ["", "yesterday", "-2h", "2 weeks", "2026-13-01", "12:00", "nan", "0001-01-01T00:00+14:00"]
)
def test_what_is_neither(text):
    with pytest.raises(UsageError, match=r"--since .*: expected how long ago, like 90s, 2h or 7d, or a time"):
        instant(text, "--since")


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Seoul"])
def test_every_time_that_is_understood_can_be_shown(monkeypatch, zone):
    texts = ("1000000000000000s", "0001-01-01T00:00Z", "9999-12-31T23:59Z")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        shown = [local(instant(text, "--since")) for text in texts]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [each[:2] for each in shown] == ["1-", "1-", "99"]


def test_ahead():
    assert timedelta(hours=2) <= ahead("2h", "--for") - now() + timedelta(seconds=5) <= timedelta(hours=2, seconds=5)
    for text in ("0", "soon", "9999999999999d", f"{(LAST - now()).days + 1}d"):
        with pytest.raises(UsageError, match="--for"):
            ahead(text, "--for")
