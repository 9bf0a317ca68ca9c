"""When runs are due, with the time passed in."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.alerting.calendar import times_of
from canary.core.schedule import Cron, Every
from canary.engine.rhythm import FIRST_WITHIN_S, OVERDUE_WITHIN_S, SPREAD_OVER_S, CronTimes, Rhythm, first_beat_s

MINUTE = Every(seconds=60.0)


def rhythm(seconds=60.0, jitter_s=0.0, start_s=100.0):
    return Rhythm(name="p\tq", every=Every(seconds=seconds, jitter_s=jitter_s), start_s=start_s)


@pytest.mark.parametrize(
    ("at_s", "number"),
    [
        pytest.param(0.0, 0, id="before the first"),
        pytest.param(98.9, 0, id="just before the first"),
        pytest.param(99.5, 1, id="rung half a second early: it is the first all the same"),
        pytest.param(100.0, 1, id="at the first"),
        pytest.param(158.0, 1, id="late for the first, before the second"),
        pytest.param(160.0, 2, id="at the second"),
        pytest.param(100.0 + 3600.0, 61, id="an hour later"),
    ],
)
def test_the_next_beat(at_s, number):
    assert rhythm().number_after(at_s) == number


@given(
    seconds=st.floats(1.0, 86_400.0),
    jitter_s=st.floats(0.0, 100_000.0),
    at_s=st.floats(0.0, 1e7),
)
def test_beats_keep_their_order_and_none_is_found_twice(seconds, jitter_s, at_s):
    beats = rhythm(seconds, jitter_s)
    number = beats.number_after(at_s)
    due_s = beats.beat(number)
    assert due_s > at_s
    assert number == 0 or beats.beat(number - 1) <= at_s + beats.tolerance_s
    assert beats.number_after(due_s) == number + 1
    assert beats.number_after(due_s - beats.tolerance_s / 2) == number + 1


def test_the_jitter_is_the_same_in_every_process_and_another_at_every_beat():
    beats = [rhythm(jitter_s=10.0).beat(n) - rhythm().beat(n) for n in range(200)]
    assert beats[0] == 0
    assert all(0 <= late_s < 10 for late_s in beats)
    assert len({round(late_s, 6) for late_s in beats}) > 190
    assert beats[1] == pytest.approx(4.816, abs=0.001)


@pytest.mark.parametrize(
    ("age_s", "opens", "within"),
    [
        pytest.param(None, True, (0.0, FIRST_WITHIN_S), id="the first probe of a pipeline"),
        pytest.param(10.0, True, (0.0, FIRST_WITHIN_S), id="the first of a pipeline, after a restart"),
        pytest.param(None, False, (0.0, 3600.0), id="one that never ran"),
        pytest.param(600.0, False, (3000.0, 3000.0), id="one that ran ten minutes ago"),
        pytest.param(3599.0, False, (1.0, OVERDUE_WITHIN_S), id="one that is nearly due"),
        pytest.param(100_000.0, False, (0.0, OVERDUE_WITHIN_S), id="one that is overdue"),
        pytest.param(-500.0, False, (0.0, 3600.0), id="one that ran in the future"),
    ],
)
def test_the_first_beat(age_s, opens, within):
    beats = [first_beat_s(f"pipeline {n}\tprobe", Every(seconds=3600.0), age_s=age_s, opens=opens) for n in range(200)]
    assert within[0] <= min(beats) <= max(beats) <= within[1]


@pytest.mark.parametrize("age_s", [None, -500.0], ids=["never ran", "ran in the future"])
def test_a_rare_probe_does_not_wait_for_its_place_in_the_day(age_s):
    """Or it would never come where the daemon is started anew each morning."""
    daily = Every(seconds=86_400.0)
    beats = [first_beat_s(f"p\tprobe {n}", daily, age_s=age_s, opens=False) for n in range(200)]
    assert SPREAD_OVER_S / 2 < max(beats) <= SPREAD_OVER_S


def test_first_beats_are_spread_evenly_over_the_interval():
    beats = [first_beat_s(f"p\tprobe {n}", MINUTE, age_s=None, opens=False) for n in range(600)]
    tenths = [sum(low <= beat < low + 6 for beat in beats) for low in range(0, 60, 6)]
    assert min(tenths) > 35
    assert max(tenths) < 90


@pytest.mark.parametrize("jitter_s", [0.0, 40.0, 90.0])
def test_cron_times_come_each_once_however_often_one_asks(jitter_s):
    times = CronTimes(name="p\tq", times=times_of(Cron(expression="* * * * *")), jitter_s=jitter_s)
    now = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
    seen = []
    for _ in range(50):
        now = times.next_after(now)
        seen.append(now)
    assert seen == sorted(set(seen))
    late = [(due - datetime(2026, 3, 2, 12, tzinfo=UTC)).total_seconds() for due in seen]
    assert max(late) < 51 * 60 + jitter_s


def test_cron_in_a_zone_whose_clocks_are_put_back_is_due_at_both_of_the_equal_hours():
    """An extra probe once a year is better than a missing one."""
    times = CronTimes(
        name="p\tq",
        times=times_of(Cron(expression="30 2 * * *", timezone="Europe/Berlin")),
        jitter_s=0.0,
    )
    now, seen = datetime(2026, 10, 24, 0, tzinfo=UTC), []
    for _ in range(4):
        now = times.next_after(now)
        seen.append(now)
    assert [(due.day, due.hour) for due in seen] == [(24, 0), (25, 0), (25, 1), (26, 1)]
