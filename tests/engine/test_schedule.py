"""The timetable over a real apscheduler: what rings, when, and what a jump of the clock does."""

import asyncio
import itertools
from datetime import timedelta

import pytest

from canary.core.metrics import Skip
from canary.core.schedule import Cron, Every
from canary.core.spec import Assignment, Pipeline, Plan, Probe, QuestionTemplate
from canary.daemon import REAL_CLOCKS
from canary.engine.due import Why
from canary.engine.schedule import Clocks, Timetable
from tests.fakes.clocks import Time

HOUR = 3600.0


def plan_of(**schedules):
    """`a_x=Every(…)`: pipeline a, probe x."""
    pipelines = {}
    for name, schedule in schedules.items():
        pipeline, probe = name.split("_")
        asked = Probe(name=probe, summary="", questions=(QuestionTemplate(text="?"),))
        pipelines.setdefault(pipeline, []).append(Assignment(probe=asked, schedule=schedule))
    return Plan(pipelines=tuple(Pipeline(name=n, hops=(), assignments=tuple(a)) for n, a in pipelines.items()))


class Rung:
    """What the timetable rang and skipped; `first` is set at the first ring."""

    def __init__(self, clocks):
        self.dues, self.skips, self.first = [], [], asyncio.Event()
        self.timetable = Timetable(clocks=clocks, ring=self._ring, skipped=self._skip)

    def _ring(self, due):
        self.dues.append(due)
        self.first.set()

    def _skip(self, *skip):
        self.skips.append(skip)
        self.first.set()

    async def ring(self, key):
        """As apscheduler calls it."""
        await self.timetable._rang(key)


@pytest.fixture
def time():
    return Time()


@pytest.fixture
async def rung(time):
    rung = Rung(time.clocks)
    yield rung
    rung.timetable.stop()


async def test_the_first_of_each_pipeline_comes_within_seconds_and_the_rest_is_spread(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR), a_y=Every(seconds=HOUR), b_x=Every(seconds=HOUR)))
    waits = {key: (at - time.wall).total_seconds() for key, at in rung.timetable.next_runs().items()}
    assert waits["a", "x"] < 5
    assert waits["b", "x"] < 5
    assert 5 < waits["a", "y"] < HOUR


async def test_real_rings_come_again_and_again():
    """Real clocks and apscheduler's own timer."""
    rung = Rung(REAL_CLOCKS)
    rung.timetable.follow(plan_of(a_x=Every(seconds=0.05)))
    rung.timetable.start()
    async with asyncio.timeout(20):
        while len(rung.dues) < 3:
            rung.first.clear()
            await rung.first.wait()
    rung.timetable.stop()
    assert {due.key for due in rung.dues} == {("a", "x")}
    assert {due.why for due in rung.dues} == {Why.SCHEDULE}
    assert len({due.run_id for due in rung.dues}) == len(rung.dues)
    times = [due.due_s for due in rung.dues]
    steps = [(later - earlier) / 0.05 for earlier, later in itertools.pairwise(times)]
    assert all(step == pytest.approx(round(step), abs=1e-6) and step > 0.5 for step in steps)


async def test_nothing_rings_once_it_is_stopped():
    rung = Rung(REAL_CLOCKS)
    rung.timetable.follow(plan_of(a_x=Every(seconds=0.05)))
    rung.timetable.start()
    async with asyncio.timeout(20):
        await rung.first.wait()
    rung.timetable.stop()
    seen = len(rung.dues)
    await rung.ring(("a", "x"))
    assert len(rung.dues) == seen


async def test_beats_that_went_by_are_counted_and_not_caught_up_with(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=60.0)))
    rung.timetable.start()
    time.go(10 * 60)  # the loop stood still for ten minutes
    await rung.ring(("a", "x"))
    assert len(rung.dues) == 1
    ((key, why, times),) = rung.skips
    assert (key, why) == (("a", "x"), Skip.MISSED)
    assert times in (8, 9)
    assert 0 < rung.timetable.next_runs()["a", "x"].timestamp() - time.wall.timestamp() <= 60


@pytest.mark.parametrize("jump_s", [HOUR, -HOUR, 8 * HOUR, -26 * HOUR], ids=str)
async def test_a_jump_of_the_wall_clock_moves_no_interval(rung, time, jump_s):
    """Neither a flood nor a silence: what was due in 20 minutes by the steady clock still is."""
    schedules = {f"a_x{n}": Every(seconds=HOUR) for n in range(20)}
    rung.timetable.follow(plan_of(**schedules))
    rung.timetable.start()
    before = {key: at - time.wall for key, at in rung.timetable.next_runs().items()}
    time.set_wall(jump_s)
    for key in before:  # what apscheduler would ring too early
        await rung.ring(key)
    assert rung.dues == []
    after = {key: at - time.wall for key, at in rung.timetable.next_runs().items()}
    assert all(abs(after[key] - wait) < timedelta(milliseconds=1) for key, wait in before.items())
    for key, wait in before.items():
        job = rung.timetable._scheduler.get_job("\t".join(key))
        assert abs(job.next_run_time - time.wall - wait) < timedelta(seconds=1)
    assert rung.skips == []


async def test_it_says_by_how_much_the_clock_jumped_and_only_once(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR)))
    rung.timetable.start()
    time.go(100.0)
    assert rung.timetable.check_clocks() is None
    time.set_wall(-HOUR)
    assert rung.timetable.check_clocks() == pytest.approx(-HOUR)
    assert rung.timetable.check_clocks() is None


async def test_a_jump_that_a_ring_finds_first_is_said_too(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR)))
    rung.timetable.start()
    time.set_wall(26 * HOUR)
    await rung.ring(("a", "x"))
    assert rung.dues == []
    assert rung.timetable.check_clocks() == pytest.approx(26 * HOUR)
    assert rung.timetable.check_clocks() is None


async def test_a_run_that_fell_due_while_the_clock_was_set_back_rings_in_real_life():
    """With apscheduler's own clock: it believes that the run is an hour ahead, until we look at the clocks."""
    ahead_s = 0.0
    clocks = Clocks(steady=lambda: REAL_CLOCKS.steady() + ahead_s, wall=REAL_CLOCKS.wall)
    rung = Rung(clocks)
    rung.timetable.follow(plan_of(a_x=Every(seconds=30.0), a_y=Every(seconds=2 * HOUR)))
    rung.timetable.start()
    ahead_s = 2 * HOUR  # the wall clock was set back by two hours, as it looks from here
    assert rung.timetable.check_clocks() == pytest.approx(-2 * HOUR, abs=1)
    async with asyncio.timeout(20):
        while {due.key for due in rung.dues} != {("a", "x"), ("a", "y")}:
            rung.first.clear()
            await rung.first.wait()
    rung.timetable.stop()
    assert len(rung.dues) == 2


async def test_a_cron_run_keeps_to_the_wall_clock(rung, time):
    rung.timetable.follow(plan_of(a_x=Cron(expression="0 15 * * *")))
    rung.timetable.start()
    assert (rung.timetable.next_runs()["a", "x"] - time.wall).total_seconds() == pytest.approx(3 * HOUR)
    time.set_wall(HOUR)
    rung.timetable.check_clocks()
    assert (rung.timetable.next_runs()["a", "x"] - time.wall).total_seconds() == pytest.approx(2 * HOUR)
    time.set_wall(-HOUR)
    rung.timetable.check_clocks()
    assert (rung.timetable.next_runs()["a", "x"] - time.wall).total_seconds() == pytest.approx(3 * HOUR)


async def test_a_cron_run_that_the_clock_jumped_over_is_missed_and_counted():
    """apscheduler sees that it is hours late; the next one is tomorrow's."""
    time = Time(start=REAL_CLOCKS.wall())  # apscheduler itself has the real wall clock
    rung = Rung(time.clocks)
    then = time.wall - timedelta(hours=2)
    rung.timetable.follow(plan_of(a_x=Cron(expression=f"{then.minute} {then.hour} * * *")))
    job = rung.timetable._scheduler.get_job
    rung.timetable.start()
    job("a\tx").modify(next_run_time=then)
    async with asyncio.timeout(20):
        await rung.first.wait()
    rung.timetable.stop()
    assert rung.skips == [(("a", "x"), Skip.MISSED, 1)]
    assert rung.dues == []


@pytest.mark.parametrize(
    ("late_s", "missed"),
    [(0.0, 0), (0.4, 0), (20.0, 0), (290.0, 4), (20 * 60.0, 20)],
    ids=["in time", "a moment late", "within its minute", "five minutes", "for longer than a run may be late"],
)
async def test_every_cron_run_that_went_by_is_counted(rung, time, late_s, missed):
    """`missed`: beside the one that rings."""
    rung.timetable.follow(plan_of(a_x=Cron(expression="* * * * *")))
    rung.timetable.start()
    due = rung.timetable.next_runs()["a", "x"]
    time.go((due - time.wall).total_seconds() + late_s)
    await rung.ring(("a", "x"))
    assert len(rung.dues) == 1
    assert [times for _, _, times in rung.skips] == ([missed] if missed else [])
    assert 0 < (rung.timetable.next_runs()["a", "x"] - time.wall).total_seconds() <= 60


async def test_a_cron_time_that_only_the_wall_clock_went_by_was_not_missed(rung, time):
    rung.timetable.follow(plan_of(a_x=Cron(expression="*/5 * * * *")))
    rung.timetable.start()
    time.set_wall(HOUR)
    await rung.ring(("a", "x"))
    assert rung.skips == []


async def test_a_reload_leaves_what_did_not_change_and_nothing_starts_twice(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR), a_y=Every(seconds=HOUR), b_x=Every(seconds=HOUR)))
    rung.timetable.start()
    time.go(600.0)
    before = rung.timetable.next_runs()
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR), a_y=Every(seconds=60.0), c_x=Every(seconds=HOUR)))
    after = rung.timetable.next_runs()
    assert after["a", "x"] == before["a", "x"]
    assert set(after) == {("a", "x"), ("a", "y"), ("c", "x")}
    assert (after["a", "y"] - time.wall).total_seconds() <= 60
    assert len(rung.timetable._scheduler.get_jobs()) == 3
    await rung.ring(("b", "x"))
    assert rung.dues == []


async def test_a_restart_goes_on_where_the_last_run_left_off(rung, time):
    last_runs = {("a", "y"): time.wall - timedelta(minutes=50)}
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR), a_y=Every(seconds=HOUR)), last_runs)
    assert (rung.timetable.next_runs()["a", "y"] - time.wall).total_seconds() == pytest.approx(600.0)


async def test_how_late_the_latest_is(rung, time):
    rung.timetable.follow(plan_of(a_x=Every(seconds=HOUR)))
    assert rung.timetable.overdue_s() <= 0
    time.go(65.0)
    assert 60 <= rung.timetable.overdue_s() <= 65
