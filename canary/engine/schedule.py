"""When probes are due: apscheduler puts names on our queue, and nothing else is left to it.

What it does by default harms a monitor, so each of these is set or done here (seen in 3.11.3):

- A run more than 1 s late is dropped with a log line (`misfire_grace_time`). An interval's run is late, never dropped;
  a cron run up to `CRON_GRACE_S`, and then it is counted as missed.
- Its clock is the wall's. Set back by an hour it would be silent for an hour; set ahead it would run everything at
  once. Intervals are kept on the monotonic clock (rhythm.py); `check_clocks` sees a jump and moves every job. What
  rings too early meanwhile is not heard.
- It cancels running jobs on shutdown and takes cancellation for a job's error. Its jobs only put a name on a queue;
  our own tasks run the probe.
- A plain function runs in a thread, so the job is a coroutine.
- The first run is one interval late; ours comes early.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.events import EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.job import Job
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from canary.alerting.calendar import times_of
from canary.core.metrics import Skip
from canary.core.schedule import Cron, Every, Schedule
from canary.core.spec import Plan
from canary.engine.due import Due, Key
from canary.engine.rhythm import CronTimes, Rhythm, first_beat_s

CRON_GRACE_S = 300  # apscheduler takes whole seconds
_JUMP_S = 0.5  # of the wall clock against the monotonic one
_RINGS_AT_ONCE = 100  # of one job; each lasts for one turn of the loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """`steady` never jumps (`time.monotonic`); `wall` is for people and for cron.

    `slept`: for how many seconds in all this machine was suspended, during which the steady clock stood still.
    """

    steady: Callable[[], float]
    wall: Callable[[], datetime]
    slept: Callable[[], float] = lambda: 0.0


class Steady(BaseTrigger):  # type: ignore[misc]  # apscheduler has no types
    """An interval of the steady clock in apscheduler's terms: asked for a wall time, it answers by the steady one."""

    def __init__(self, rhythm: Rhythm, clocks: Clocks) -> None:
        self._rhythm = rhythm
        self._clocks = clocks

    def get_next_fire_time(self, _previous: datetime | None, now: datetime) -> datetime:
        at_s = self._clocks.steady()
        return now + timedelta(seconds=self._rhythm.beat(self._rhythm.number_after(at_s)) - at_s)


class ByWall(BaseTrigger):  # type: ignore[misc]
    """Cron with a jitter that is the same in every process."""

    def __init__(self, times: CronTimes) -> None:
        self._times = times

    def get_next_fire_time(self, _previous: datetime | None, now: datetime) -> datetime:
        return self._times.next_after(now)


@dataclass(slots=True, kw_only=True)
class _Entry:
    """One scheduled probe. `due_s`: its next run, on the steady clock; `number`: of the beat that is due then."""

    schedule: Schedule
    times: Rhythm | CronTimes
    due_s: float
    number: int = 0


class Timetable:
    """All that is scheduled. `ring` gets what is due; `skipped` what went by unseen, and how often."""

    def __init__(
        self, *, clocks: Clocks, ring: Callable[[Due], object], skipped: Callable[[Key, Skip, int], None]
    ) -> None:
        self._clocks = clocks
        self._ring = ring
        self._skipped = skipped
        self._entries: dict[Key, _Entry] = {}
        self._offset_s = self._offset()
        self._unsaid_s = 0.0  # by how much the wall clock jumped since somebody was told
        self._open = False
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"coalesce": True, "max_instances": _RINGS_AT_ONCE, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._missed, EVENT_JOB_MISSED)

    def start(self) -> None:
        self._open = True
        self._scheduler.start()

    def stop(self) -> None:
        """Nothing rings any more from here on; apscheduler's own end follows in the next turn of the loop."""
        self._open = False
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def follow(self, plan: Plan, last_runs: Mapping[Key, datetime] | None = None) -> None:
        """Schedule what `plan` says. What it said before keeps its phase; what is gone rings no more."""
        wanted = dict(_scheduled(plan))
        for key in [key for key, entry in self._entries.items() if wanted.get(key) != entry.schedule]:
            del self._entries[key]
            self._scheduler.remove_job(_id(key))
        opened = {pipeline for pipeline, _ in self._entries}
        for key, schedule in wanted.items():
            if key not in self._entries:
                self._add(key, schedule, (last_runs or {}).get(key), opens=key[0] not in opened)
                opened.add(key[0])

    def next_runs(self) -> Mapping[Key, datetime]:
        """By the wall clock as it goes now."""
        now, at_s = self._clocks.wall(), self._clocks.steady()
        return {key: now + timedelta(seconds=entry.due_s - at_s) for key, entry in self._entries.items()}

    def overdue_s(self) -> float:
        """How late the most overdue ring is: more than a moment means that this loop is stuck."""
        at_s = self._clocks.steady()
        return max((at_s - entry.due_s for entry in self._entries.values()), default=0.0)

    def check_clocks(self) -> float | None:
        """Call it every second or so. Moves every job if the wall clock jumped, and says by how many seconds.

        Said is also what a ring found since the last call.
        """
        self._follow_the_wall()
        jump_s, self._unsaid_s = self._unsaid_s, 0.0
        return jump_s or None

    def _add(self, key: Key, schedule: Schedule, last: datetime | None, *, opens: bool) -> None:
        now, at_s = self._clocks.wall(), self._clocks.steady()
        trigger: BaseTrigger
        if isinstance(schedule, Every):
            age_s = (now - last).total_seconds() if last else None
            due_s = at_s + first_beat_s(_id(key), schedule, age_s=age_s, opens=opens)
            rhythm = Rhythm(name=_id(key), every=schedule, start_s=due_s)
            trigger, entry = Steady(rhythm, self._clocks), _Entry(schedule=schedule, times=rhythm, due_s=due_s)
        else:
            times = CronTimes(name=_id(key), times=times_of(schedule), jitter_s=schedule.jitter_s)
            trigger, entry = ByWall(times), _Entry(schedule=schedule, times=times, due_s=self._steadily(times))
        self._entries[key] = entry
        self._scheduler.add_job(
            self._rang,
            trigger,
            args=(key,),
            id=_id(key),
            next_run_time=now + timedelta(seconds=entry.due_s - at_s),
            misfire_grace_time=CRON_GRACE_S if isinstance(schedule, Cron) else None,
        )

    async def _rang(self, key: Key) -> None:
        """What apscheduler calls. Early where the wall clock was set ahead: then nothing is due, and it is set anew."""
        self._follow_the_wall()
        entry, at_s = self._entries.get(key), self._clocks.steady()
        if entry is None or not self._open:
            return
        if isinstance(entry.times, Rhythm) and at_s < entry.due_s - entry.times.tolerance_s:
            return
        due = Due(key=key, run_id=secrets.token_hex(6), due_s=entry.due_s)
        self._advance(key, entry, at_s)
        self._ring(due)

    def _advance(self, key: Key, entry: _Entry, at_s: float) -> None:
        if isinstance(entry.times, CronTimes):
            if missed := self._next_cron(entry, entry.times, at_s):
                self._skipped(key, Skip.MISSED, missed)
            return
        number = entry.times.number_after(at_s)
        if missed := number - entry.number - 1:
            self._skipped(key, Skip.MISSED, missed)
        entry.number, entry.due_s = number, entry.times.beat(number)

    def _missed(self, event: JobExecutionEvent) -> None:
        """A cron run that was too late to be made."""
        for key, entry in self._entries.items():
            if _id(key) == event.job_id and isinstance(entry.times, CronTimes):
                self._skipped(key, Skip.MISSED, 1 + self._next_cron(entry, entry.times, self._clocks.steady()))

    def _next_cron(self, entry: _Entry, times: CronTimes, at_s: float) -> int:
        """Set it to its next time; how many went by since the one that it was set to.

        By the steady clock, as for an interval: what the wall clock jumps over was never there to be missed.
        """
        now, late_s = self._clocks.wall(), at_s - entry.due_s
        entry.due_s = self._steadily(times)
        return times.count(now - timedelta(seconds=late_s - 1.0), now) if late_s > 1.0 else 0

    def _follow_the_wall(self) -> None:
        jump_s = self._offset() - self._offset_s
        if abs(jump_s) < _JUMP_S:
            return
        self._offset_s += jump_s
        self._unsaid_s += jump_s
        for key, entry in self._entries.items():
            self._realign(key, entry)

    def _realign(self, key: Key, entry: _Entry) -> None:
        """An interval keeps its steady time. A cron time that the jump went over is left to the grace."""
        job: Job = self._scheduler.get_job(_id(key))
        now, at_s = self._clocks.wall(), self._clocks.steady()
        if isinstance(entry.times, CronTimes):
            if job.next_run_time <= now:
                return
            entry.due_s = self._steadily(entry.times)
        job.modify(next_run_time=now + timedelta(seconds=max(0.0, entry.due_s - at_s)))

    def _steadily(self, times: CronTimes) -> float:
        """Its next time, on the steady clock."""
        now = self._clocks.wall()
        return self._clocks.steady() + (times.next_after(now) - now).total_seconds()

    def _offset(self) -> float:
        return self._clocks.wall().timestamp() - self._clocks.steady()


def _scheduled(plan: Plan) -> Iterable[tuple[Key, Schedule]]:
    for pipeline in plan.pipelines:
        for assignment in pipeline.assignments:
            if assignment.schedule is not None:
                yield (pipeline.name, assignment.probe.name), assignment.schedule


def _id(key: Key) -> str:
    return "\t".join(key)  # no name holds a tab
