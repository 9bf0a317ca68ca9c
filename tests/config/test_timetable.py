import pytest

from canary.config.timetable import describe_schedule, runs_on_a_busy_day, shortest_gap_s
from canary.core.schedule import Cron, Every, Schedule


def cron(expression: str, timezone: str = "UTC", jitter_s: float = 0.0) -> Cron:
    return Cron(expression=expression, timezone=timezone, jitter_s=jitter_s)


@pytest.mark.parametrize(
    ("schedule", "runs", "gap_s"),
    [
        pytest.param(Every(seconds=300.0), 288.0, 300.0, id="an interval"),
        pytest.param(cron("* * * * *"), 1440.0, 60.0, id="each minute"),
        pytest.param(cron("*/30 8-18 * * mon-fri", "Asia/Seoul"), 22.0, 1800.0, id="office hours"),
        pytest.param(cron("0 3 * * 7"), 1.0, float("inf"), id="once a week"),
        pytest.param(cron("0 3 * * 0,1"), 1.0, 86_400.0, id="over the end of the week, which is looked at once"),
        pytest.param(cron("0,10 3 1 * *"), 2.0, 600.0, id="on one day a month"),
        pytest.param(cron("0 3 29 2 *"), 1.0, float("inf"), id="once in four years"),
        pytest.param(cron("*/20 0 * * *", "Asia/Kathmandu"), 3.0, 1200.0, id="a zone with minutes"),
    ],
)
def test_how_often_and_how_close(schedule: Schedule, runs: float, gap_s: float):
    assert (runs_on_a_busy_day(schedule), shortest_gap_s(schedule)) == (runs, gap_s)


def test_on_demand_is_never():
    assert runs_on_a_busy_day(None) == 0.0


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        pytest.param(None, "on demand", id="none"),
        pytest.param(Every(seconds=90.0), "every 90.0 s", id="interval"),
        pytest.param(Every(seconds=300.0, jitter_s=15.0), "every 5 min ± 15.0 s", id="jitter"),
        pytest.param(cron("0 3 * * sun"), "at 0 3 * * sun in UTC", id="cron"),
        pytest.param(cron("0 3 * * sun", "Asia/Seoul", 60.0), "at 0 3 * * sun in Asia/Seoul ± 60.0 s", id="all of it"),
    ],
)
def test_in_words(schedule: Schedule | None, words: str):
    assert describe_schedule(schedule) == words
