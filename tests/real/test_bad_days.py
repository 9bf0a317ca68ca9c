"""The database has a bad day: no room, no right to write, locked, deleted, gone. Measuring and paging go on.

What waits is written afterwards, nothing that was stored is lost, nobody is told twice, and `/-/ready`, metrics and log
say what is wrong: once, not at every run.
"""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import pytest

from tests.fakes.canary_process import AWAY, BACK, ILL, WELL, canary, comes_back, goes_on_without, world

pytestmark = pytest.mark.real

NO_SPECIAL_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # root that minds file modes
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
before = NO_SPECIAL_RIGHTS if os.geteuid() == 0 else ()


def database(tmp_path):
    return tmp_path / "data/canary.db"


def kept(path):
    """Ids of the stored runs, and of each notification its reason and state; the database is whole."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        runs = {run for (run,) in db.execute("SELECT id FROM runs")}
        told = db.execute("SELECT json_extract(body, '$.reason'), state FROM outbox ORDER BY id").fetchall()
    return runs, told


def leaves_all_behind(daemon, hook, path):
    """After SIGTERM: every run that it made is stored, everybody was told once, and every message is marked."""
    daemon.send(signal.SIGTERM)
    assert daemon.wait() == 0
    runs, told = kept(path)
    assert {run["run"] for run in daemon.runs} <= runs
    assert told == [("opened", "sent"), ("resolved", "sent")]
    assert hook.reasons == ["opened", "resolved"]
    assert not daemon.named("our own fault")


@contextmanager
def mounted(folder, size):
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    """To the last byte."""
    with (folder / "filler").open("wb", buffering=0) as filler:
        for size in (1 << 20, 4096, 1):
            while True:
                try:
                    filler.write(b"x" * size)
                except OSError:
                    break


@as_root
def test_a_disk_that_is_full_and_then_is_not(tmp_path):
    with world(tmp_path) as (served, hook, config), mounted(tmp_path / "data", "8m") as disk, canary(config) as daemon:
        daemon.more_runs(2)
        fill(disk)
        goes_on_without(daemon, served, hook)
        assert "no room left" in daemon.named(AWAY)[0]["why"]
        (disk / "filler").unlink()
        comes_back(daemon, served, hook)
        leaves_all_behind(daemon, hook, disk / "canary.db")


@as_root
def test_a_disk_that_is_full_from_the_start(tmp_path):
    """Whatever filled it filled it at night, and then the machine was started anew."""
    with world(tmp_path) as (served, hook, config), mounted(tmp_path / "data", "8m") as disk:
        with canary(config) as first:
            first.more_runs(2)
            first.send(signal.SIGTERM)
            assert first.wait() == 0
        fill(disk)
        with canary(config) as daemon:
            goes_on_without(daemon, served, hook)
            (disk / "filler").unlink()
            comes_back(daemon, served, hook)
            leaves_all_behind(daemon, hook, disk / "canary.db")
        assert first.stored <= kept(disk / "canary.db")[0]


def test_a_quota_that_is_used_up_and_then_raised(tmp_path):
    with world(tmp_path) as (served, hook, config), canary(config) as daemon:
        daemon.more_runs(2)
        _, most = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, most))
        goes_on_without(daemon, served, hook)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (most, most))
        comes_back(daemon, served, hook)
        leaves_all_behind(daemon, hook, database(tmp_path))


def test_a_folder_that_must_not_be_written_to_at_start(tmp_path):
    with world(tmp_path) as (_, hook, config):
        (tmp_path / "data").mkdir(mode=0o555)
        with canary(config, before=before) as daemon:
            assert daemon.wait() == 3
    assert daemon.events == []
    (said,) = daemon.said
    assert said.startswith(f"canary: the database {database(tmp_path)} cannot be ")
    assert hook.told == []


def test_a_folder_that_becomes_read_only_takes_what_is_open_already(tmp_path):
    """Modes are asked when a file is opened, and ours are open. The next start says what is wrong."""
    with world(tmp_path) as (_, _, config):
        folder = tmp_path / "data"
        with canary(config, before=before) as daemon:
            daemon.more_runs(2)
            folder.chmod(0o555)
            database(tmp_path).chmod(0o444)
            daemon.more_runs(4)
            daemon.send(signal.SIGTERM)
            assert daemon.wait() == 0
        assert kept(database(tmp_path))[0] >= {run["run"] for run in daemon.runs if run["saved"]}
        with canary(config, before=before) as again:
            assert again.wait() == 3
        folder.chmod(0o755)
        database(tmp_path).chmod(0o644)
        with canary(config, before=before) as at_last:
            at_last.more_runs(1)


def test_a_database_that_somebody_else_has_locked(tmp_path):
    with world(tmp_path) as (served, hook, config), canary(config) as daemon:
        daemon.more_runs(2)
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            goes_on_without(daemon, served, hook)
            assert "is locked by somebody else" in daemon.named(AWAY)[0]["why"]
            other.execute("ROLLBACK")
        comes_back(daemon, served, hook)
        leaves_all_behind(daemon, hook, database(tmp_path))


def test_sigterm_while_the_database_is_locked(tmp_path):
    """It cannot wait for ever, so it says what it could not write; what was stored is whole."""
    with world(tmp_path) as (_, _, config), canary(config) as daemon:
        daemon.more_runs(2)
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            daemon.until(lambda: daemon.named(AWAY))
            daemon.more_runs(2)
            daemon.send(signal.SIGTERM)
            assert daemon.wait(within_s=40) == 0
            other.execute("ROLLBACK")
    assert kept(database(tmp_path))[0] == daemon.stored
    (lost,) = daemon.named("left unwritten")
    assert lost["runs"] == len(daemon.runs) - len(daemon.stored)


@pytest.mark.parametrize("instead", ["nothing", "an empty file"])
def test_a_database_that_is_deleted_under_it(tmp_path, instead):
    """A file that has no name any more would take all that is written, and all of it would be gone at the end."""
    with world(tmp_path) as (served, hook, config), canary(config) as daemon:
        served.mood.steps = ILL
        hook.until(lambda: "opened" in hook.reasons)
        shutil.rmtree(tmp_path / "data")
        if instead != "nothing":
            (tmp_path / "data").mkdir()
            database(tmp_path).touch()
        daemon.until(lambda: daemon.named(AWAY))
        daemon.until(lambda: daemon.named(BACK))
        after = daemon.more_runs(2)
        daemon.send(signal.SIGTERM)
        assert daemon.wait() == 0
        runs, _ = kept(database(tmp_path))
        assert {run["run"] for run in after} <= runs
        with canary(config) as again:
            again.more_runs(3)
            served.mood.steps = WELL
            hook.until(lambda: "resolved" in hook.reasons)
    assert hook.reasons == ["opened", "resolved"], "what was open is remembered, and told once"
