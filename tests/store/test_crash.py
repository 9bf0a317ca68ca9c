"""A process that is killed while it writes: nothing that it called stored is lost, and nothing is half there.

CANARY_KILLS sets how many times; ten are enough to see that the test works.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import open_store

KILLS = int(os.environ.get("CANARY_KILLS", "10"))
ROOT = Path(__file__).parents[2]


def lives(path, count):
    """The ids that the writers said: each is killed up to 50 ms after its first, second or third word."""
    command = [sys.executable, "-m", "tests.fakes.store_writer", str(path), str(count)]
    said = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writers:
        for number in range(count):
            opened = writers.stdout.readline().split()
            assert opened[0] == "open", opened
            said += [writers.stdout.readline().strip() for _ in range(number % 3)]
            moment = number * 0.6180339887 % 1 * 0.05  # spread evenly, never twice the same
            threading.Timer(moment, os.kill, [int(opened[1]), signal.SIGKILL]).start()
            said += iter(lambda: writers.stdout.readline().strip(), "over")
    return said


async def test_killed_at_any_moment(tmp_path):
    path = tmp_path / "canary.db"
    said = lives(path, KILLS)
    assert said, "it stored nothing before it was killed"

    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    per_run = "SELECT (SELECT count(*) FROM results WHERE run_id = runs.id) FROM runs"
    assert set(connection.execute(per_run)) == {(2,)}, "a half run"
    told = {row[0] for row in connection.execute("SELECT notification_id FROM outbox")}
    connection.close()
    async with open_store(Storage(url=Secret(f"sqlite:///{path}"))) as store:
        stored = {row.id for row in await store.runs(most=1_000_000)}
        assert set(said) <= stored
        assert len(stored) - len(said) <= KILLS, "at most one a life was stored and not said"
        assert told == {name for name in stored if int(name.rpartition("-")[2]) % 3}
        assert len(await store.transitions(most=1_000_000)) == len(told)
