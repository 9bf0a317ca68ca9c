from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from canary.alerting.calendar import occurrences, open_until, times_of
from canary.core.schedule import Cron, Once, Recurring

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


def fires(expression, *, start, count, timezone="Europe/Berlin"):
    """In the zone of the cron; the first one at `start` or later."""
    times = times_of(Cron(expression=expression, timezone=timezone))
    found, now = [], start - timedelta(microseconds=1)
    for _ in range(count):
        now = times.after(now)
        found.append(now.astimezone(times.zone))
    return found


@pytest.mark.parametrize(
    ("field", "days"),
    [
        pytest.param("0", "Sun", id="sunday is 0"),
        pytest.param("7", "Sun", id="sunday is 7"),
        pytest.param("1", "Mon", id="monday is 1"),
        pytest.param("6", "Sat", id="saturday is 6"),
        pytest.param("mon-fri", "Mon Tue Wed Thu Fri", id="names"),
        pytest.param("1-5", "Mon Tue Wed Thu Fri", id="numbers"),
        pytest.param("SAT,sun", "Sun Sat", id="a list, in any case"),
        pytest.param("sat-sun", "Sun Sat", id="a week that ends with sunday"),
        pytest.param("sun-tue", "Sun Mon Tue", id="a week that begins with sunday"),
        pytest.param("5-7", "Sun Fri Sat", id="up to 7"),
        pytest.param("*/2", "Sun Tue Thu Sat", id="every second day, from sunday"),
        pytest.param("1-5/2", "Mon Wed Fri", id="a range with a step"),
        pytest.param("1/2", "Mon Wed Fri", id="a start with a step"),
        pytest.param("*", "Sun Mon Tue Wed Thu Fri Sat", id="every day"),
    ],
)
def test_weekdays_are_those_of_crontab(field, days):
    start = datetime(2026, 3, 1, tzinfo=UTC)  # a Sunday
    found = fires(f"0 3 * * {field}", start=start, count=7, timezone="UTC")
    assert [f"{fire:%a}" for fire in found if fire < start + timedelta(days=7)] == days.split()


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        pytest.param("1 2 3", "has 3 fields", id="three fields"),
        pytest.param("@daily", "has 1 fields", id="a name"),
        pytest.param("61 * * * *", "higher than the maximum", id="minute 61"),
        pytest.param("0 0 * 13 *", "higher than the maximum", id="month 13"),
        pytest.param("5-3 * * * *", "must not be higher", id="a range backwards"),
        pytest.param("jan * * * *", "no cron expression", id="a month as a minute"),
        pytest.param("0 0 last * *", "'last' is no day of the month", id="apscheduler's own words"),
        pytest.param("* * * * 8", "'8' is no weekday", id="weekday 8"),
        pytest.param("* * * * 2nd", "'2nd' is no weekday", id="apscheduler's own weekdays"),
        pytest.param("0 0 * * fri-mon", "ends before it begins", id="weekdays backwards"),
        pytest.param("*/0 * * * *", "'*/0' is no minute", id="a step of nothing"),
        pytest.param("0 0 1-7 * mon", "cron would take either", id="day of the month and weekday"),
        pytest.param("0 0 30 2 *", "never due", id="30 February"),
        pytest.param("0 0 31 2,4,6 *", "never due", id="31 April"),
        pytest.param("0, 0 * * *", "'' is no minute", id="an empty part"),
    ],
)
def test_what_crontab_does_not_know_is_refused(expression, says):
    with pytest.raises(ValueError, match=r"cron|weekday|minute|day of the month|never due") as error:
        times_of(Cron(expression=expression))
    assert says in str(error.value)


@pytest.mark.parametrize(
    "expression", ["0 0 29 2 *", "0 0 31 1,2 *", "0 0 */2 * mon", "0 0 1 * *", "*/5 1,3-5 * JAN *"]
)
def test_rare_is_not_never(expression):
    assert times_of(Cron(expression=expression)).after(MONDAY) > MONDAY


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "Europe"])
def test_unknown_zones_are_refused(name):
    with pytest.raises(ValueError, match="time zone"):
        times_of(Cron(expression="* * * * *", timezone=name))


def test_a_start_that_the_clocks_skip_comes_an_hour_later_by_the_wall():
    found = fires("30 2 * * *", start=datetime(2026, 3, 28, tzinfo=BERLIN), count=3)
    assert [fire.astimezone(UTC).isoformat()[:16] for fire in found] == [
        "2026-03-28T01:30",
        "2026-03-29T01:30",  # 03:30 in summer time
        "2026-03-30T00:30",
    ]


CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 5, tzinfo=UTC)),  # by half an hour
    ("Australia/Lord_Howe", datetime(2026, 10, 4, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2017, 10, 15, tzinfo=UTC)),  # at midnight
    ("America/Sao_Paulo", datetime(2018, 2, 18, tzinfo=UTC)),
]
OFTEN = {  # minutes and hours that an expression means
    "0 0 * * *": ({0}, {0}),
    "30 0 * * *": ({30}, {0}),
    "15 1 * * *": ({15}, {1}),
    "30 2 * * *": ({30}, {2}),
    "0 3 * * *": ({0}, {3}),
    "*/7 * * * *": ({*range(0, 60, 7)}, {*range(24)}),
    "10 */2 * * *": ({10}, {*range(0, 24, 2)}),
}


@pytest.mark.parametrize("expression", OFTEN)
@pytest.mark.parametrize(("timezone", "day"), CHANGES, ids=[f"{zone} {day:%b %Y}" for zone, day in CHANGES])
def test_around_a_change_of_the_clocks_every_time_on_the_wall_comes(timezone, day, expression):
    """Each minute of four days is looked at. A time that the clocks skip comes as if they had not been put yet."""
    zone, (minutes, hours) = ZoneInfo(timezone), OFTEN[expression]
    begin, end = day - timedelta(hours=38), day + timedelta(hours=58)
    before, wanted = begin.astimezone(zone).utcoffset(), []
    for minute in range(int((end - begin).total_seconds() / 60)):
        moment = begin + timedelta(minutes=minute)
        now, as_before = moment.astimezone(zone).replace(tzinfo=None), (moment + before).replace(tzinfo=None)
        skipped = as_before.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) != as_before
        walls = [now, as_before] if skipped else [now]
        if any(wall.minute in minutes and wall.hour in hours for wall in walls):
            wanted.append(moment)
    times, found, at = times_of(Cron(expression=expression, timezone=timezone)), [], begin - timedelta(microseconds=1)
    while (at := times.after(at)) < end:
        found.append(at)
    assert found == wanted


def test_what_is_due_once_a_month_at_midnight_does_not_skip_the_month_of_the_change():
    found = fires("0 0 1 * *", start=datetime(2026, 3, 3, tzinfo=BERLIN), count=3)
    assert [f"{fire:%m-%d %H:%M}" for fire in found] == ["04-01 00:00", "05-01 00:00", "06-01 00:00"]


ONCE = Once(starts_at=MONDAY, ends_at=MONDAY + timedelta(hours=2))


def recurring(expression, hours, timezone="Europe/Berlin"):
    return Recurring(cron=Cron(expression=expression, timezone=timezone), duration_s=hours * 3600.0)


def berlin(day, clock, *, fold=0, month=3):
    hour, minute = map(int, clock.split(":"))
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN, fold=fold)


@pytest.mark.parametrize(
    ("window", "now", "until"),
    [
        pytest.param(ONCE, MONDAY - timedelta(seconds=1), None, id="once: before"),
        pytest.param(ONCE, MONDAY, ONCE.ends_at, id="once: at its start"),
        pytest.param(ONCE, ONCE.ends_at - timedelta(seconds=1), ONCE.ends_at, id="once: at its end"),
        pytest.param(ONCE, ONCE.ends_at, None, id="once: over"),
        pytest.param(recurring("0 3 * * *", 2), berlin(2, "02:59"), None, id="daily: before"),
        pytest.param(recurring("0 3 * * *", 2), berlin(2, "03:00"), berlin(2, "05:00"), id="daily: at its start"),
        pytest.param(recurring("0 3 * * *", 2), berlin(2, "04:59"), berlin(2, "05:00"), id="daily: at its end"),
        pytest.param(recurring("0 3 * * *", 2), berlin(2, "05:00"), None, id="daily: over"),
        pytest.param(recurring("0 23 * * *", 2), berlin(2, "23:30"), berlin(3, "01:00"), id="before midnight"),
        pytest.param(recurring("0 23 * * *", 2), berlin(3, "00:59"), berlin(3, "01:00"), id="after midnight"),
        pytest.param(recurring("0 23 * * sun", 2), berlin(2, "00:30"), berlin(2, "01:00"), id="the day after sunday"),
        pytest.param(recurring("0 23 * * sun", 2), berlin(3, "00:30"), None, id="two days after sunday"),
        pytest.param(recurring("0 * * * *", 2), berlin(2, "12:30"), berlin(2, "14:00"), id="they overlap"),
        pytest.param(recurring("* 3 * * *", 1), berlin(2, "04:30"), berlin(2, "04:59"), id="many starts, long ago"),
        pytest.param(recurring("0 0 1 1 *", 24 * 90), berlin(2, "12:00"), berlin(1, "01:00", month=4), id="a quarter"),
        # 2026-03-29: 02:00 is followed by 03:00; 2026-10-25: 03:00 is followed by 02:00
        pytest.param(recurring("0 1 * * *", 2), berlin(29, "03:30"), berlin(29, "04:00"), id="spring: real hours"),
        pytest.param(recurring("0 1 * * *", 2), berlin(29, "04:00"), None, id="spring: over after real hours"),
        pytest.param(recurring("30 2 * * *", 1), berlin(29, "03:45"), berlin(29, "04:30"), id="spring: skipped start"),
        pytest.param(
            recurring("0 1 * * *", 2, "Europe/Berlin"),
            berlin(25, "02:30", month=10, fold=0),
            berlin(25, "02:00", month=10, fold=1),
            id="autumn: real hours",
        ),
        pytest.param(
            recurring("0 1 * * *", 2), berlin(25, "02:30", month=10, fold=1), None, id="autumn: over in the second hour"
        ),
        pytest.param(
            recurring("0 2 * * *", 1),
            berlin(25, "02:30", month=10, fold=1),
            berlin(25, "03:00", month=10),
            id="autumn: a repeated start opens twice",
        ),
    ],
)
def test_open_until(window, now, until):
    found = open_until(window, now)
    assert (found and found.astimezone(UTC)) == (until and until.astimezone(UTC))


def spans(window, now, *, days=2.0, most=3):
    """Starts and ends, in hours from MONDAY."""
    found = occurrences(window, now, now + timedelta(days=days), most)
    return [((one.starts_at - MONDAY) / HOUR, (one.ends_at - MONDAY) / HOUR) for one in found]


HOUR = timedelta(hours=1)
NIGHTLY = Recurring(cron=Cron(expression="0 3 * * *"), duration_s=3600.0)
LONG = Recurring(cron=Cron(expression="0 3 * * *"), duration_s=90_000.0)  # 25 hours: each begins before the other ends
ONCE = Once(starts_at=MONDAY + HOUR, ends_at=MONDAY + 2 * HOUR)


@pytest.mark.parametrize(
    ("window", "now", "expected"),
    [
        pytest.param(ONCE, MONDAY, [(1.0, 2.0)], id="to come"),
        pytest.param(ONCE, MONDAY + 1.5 * HOUR, [(1.0, 2.0)], id="open"),
        pytest.param(ONCE, MONDAY + 2 * HOUR, [], id="over"),
        pytest.param(ONCE, MONDAY - timedelta(days=3), [], id="too far ahead"),
        pytest.param(NIGHTLY, MONDAY, [(15.0, 16.0), (39.0, 40.0)], id="the next ones"),
        pytest.param(NIGHTLY, MONDAY + 15.5 * HOUR, [(15.0, 16.0), (39.0, 40.0), (63.0, 64.0)], id="the open one too"),
        pytest.param(NIGHTLY, MONDAY + 15 * HOUR, [(15.0, 16.0), (39.0, 40.0)], id="just begun"),
        pytest.param(NIGHTLY, MONDAY + 16 * HOUR, [(39.0, 40.0), (63.0, 64.0)], id="just over"),
        pytest.param(LONG, MONDAY, [(-9.0, 16.0), (15.0, 40.0), (39.0, 64.0)], id="longer than its interval"),
    ],
)
def test_occurrences(window, now, expected):
    assert spans(window, now) == expected


def test_no_more_occurrences_than_asked_for():
    assert len(spans(Recurring(cron=Cron(expression="* * * * *"), duration_s=30.0), MONDAY, days=400, most=4)) == 4
