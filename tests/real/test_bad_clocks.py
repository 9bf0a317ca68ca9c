"""Clocks that jump, and processes that stand still: no flood of runs, no silence, no wrong FAIL, no page held back.

The wall clock is libfaketime's, for this one process: Debian's package `faketime`. The file that it reads says by how
much it is off, and a test writes it anew. The monotonic clock stays what it is, as in real life.
"""

import json
import os
import signal
import sqlite3
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.fakes.canary_process import ILL, WELL, canary, world
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Cut, chunk, delta

pytestmark = pytest.mark.real

HOUR = 3600
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
SLOW = [  # thinks for a second before it says anything
    (1.0, SSE_HEAD),
    *[(0.2, chunk(delta(reasoning="hm")))] * 4,
    (0.2, chunk(delta(content="ANSWER: 1"))),
    (0.0, chunk(delta(finish="stop")) + chunk(DONE) + LAST_CHUNK),
    (0.0, Cut.FIN),
]


@pytest.fixture
def clock(tmp_path):
    """What to add to the environment, and how to set the clock."""
    if not LIBRARIES:
        missing = "libfaketime is not installed; on Debian: apt-get install faketime"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return Clock(tmp_path / "offset")


class Clock:
    def __init__(self, file):
        self.file = file
        self.jump(0)

    def jump(self, by_s):
        """From the true time; renamed into place, so that nobody reads half of it."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{by_s:+d}\n")
        new.rename(self.file)

    @property
    def env(self):
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


def statuses(runs):
    return {run["status"] for run in runs}


@pytest.mark.parametrize("by_s", [HOUR, -HOUR], ids=["ahead", "back"])
def test_the_wall_clock_jumps(tmp_path, clock, by_s):
    with world(tmp_path) as (served, hook, config), canary(config, env=clock.env) as daemon:
        served.mood.steps = SLOW
        before = daemon.more_runs(3)
        clock.jump(by_s)
        daemon.until(lambda: daemon.named("the wall clock jumped"))
        after = daemon.more_runs(4)
        assert statuses([*before, *after]) == {"PASS"}, after
        assert daemon.named("the wall clock jumped")[0]["by_s"] == pytest.approx(by_s, abs=2)
        assert daemon.metric("canary_schedule_lag_seconds") < 2
        served.mood.steps = ILL
        hook.until(lambda: "opened" in hook.reasons, within_s=20)
        clock.jump(0)
        daemon.until(lambda: len(daemon.named("the wall clock jumped")) == 2)
        served.mood.steps = WELL
        hook.until(lambda: "resolved" in hook.reasons, within_s=20)
        daemon.send(signal.SIGTERM)
        assert daemon.wait() == 0
    assert hook.reasons == ["opened", "resolved"]
    assert not daemon.named("our own fault")
    assert not [each for each in daemon.named("run skipped") if each["times"] > 60], "an hour has 3600 beats"
    with closing(sqlite3.connect(tmp_path / "data/canary.db")) as db:
        assert {run["run"] for run in daemon.runs} <= {run for (run,) in db.execute("SELECT id FROM runs")}


def test_a_page_that_waits_does_not_wait_for_the_clock(tmp_path, clock):
    """Its receiver is away for a moment; then the clock is set back."""
    with world(tmp_path) as (served, hook, config), canary(config, env=clock.env) as daemon:
        daemon.more_runs(1)
        hook.open = False
        served.mood.steps = ILL
        daemon.until(lambda: daemon.named("not told yet"))
        clock.jump(-HOUR)
        daemon.until(lambda: daemon.named("the wall clock jumped"))
        hook.open = True
        hook.until(lambda: hook.reasons == ["opened"], within_s=30)


def test_a_silence_goes_on_through_a_jump_ahead_and_ends_by_the_wall(tmp_path, clock):
    with world(tmp_path) as (served, hook, config), canary(config, env=clock.env) as daemon:
        daemon.more_runs(1)
        daemon.post("/-/silence", {"match": {}, "for": "2h", "by": "kim"})
        served.mood.steps = ILL
        daemon.until(lambda: incidents(daemon) == ["firing"])
        clock.jump(HOUR)
        daemon.until(lambda: daemon.named("the wall clock jumped"))
        daemon.more_runs(18)  # longer than the look at silences
        assert hook.told == []
        clock.jump(3 * HOUR)
        hook.until(lambda: hook.reasons == ["opened"], within_s=40)


def incidents(daemon):
    return [each["state"] for each in json.loads(daemon.get("/api/v1/state")[1])["incidents"]]


@contextmanager
def stopped(daemon, for_s):
    daemon.send(signal.SIGSTOP)
    threading.Event().wait(for_s)  # the length is the point
    daemon.send(signal.SIGCONT)
    yield


def test_a_process_that_is_stopped_for_a_while(tmp_path):
    """The answer comes meanwhile, and the deadline goes by: that is not held against the target."""
    with world(tmp_path) as (served, hook, config):
        plan = json.loads(config.read_text())
        plan["pipelines"][0]["probes"][0]["deadline"] = "3s"
        config.write_text(json.dumps(plan))
        with canary(config) as daemon:
            served.mood.steps = SLOW
            daemon.more_runs(1)
            before = len(served.requests)
            while len(served.requests) == before:
                threading.Event().wait(0.02)
            with stopped(daemon, 6.0):
                daemon.more_runs(3)
            assert "FAIL" not in statuses(daemon.runs), daemon.runs
            assert daemon.metric('canary_runs_skipped_total{pipeline="chat",probe="quick",reason="missed"}') >= 3
            assert len(daemon.runs) < 9, "what was missed is not made up for"
            daemon.send(signal.SIGTERM)
            assert daemon.wait() == 0
    assert hook.told == []
