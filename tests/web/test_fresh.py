from datetime import UTC, datetime, timedelta

from canary.web.fresh import Changes

NOON = datetime(2026, 1, 31, 12, 0, 0, 300_000, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_no_two_answers_share_a_time():
    """Who asks by time only would never see the second."""
    changes = Changes()
    first = changes.note("/a", "1", NOON)
    assert first == NOON.replace(microsecond=0)
    assert changes.note("/a", "1", NOON + 60 * SECOND) == first
    second = changes.note("/a", "2", NOON + 0.1 * SECOND)
    assert second == first + SECOND
    assert changes.note("/a", "1", NOON + 0.2 * SECOND) == second + SECOND
    assert changes.note("/b", "1", NOON) == first
    assert changes.note("/a", "3", NOON + 60 * SECOND) == first + 60 * SECOND
