"""Two daemons where one should be, and signals at bad moments."""

import signal
import socket
import sqlite3
import threading
from contextlib import closing

import pytest

from tests.fakes.canary_process import AWAY, ILL, WELL, canary, world
from tests.fakes.llm_server import SSE_HEAD, chunk, delta
from tests.fakes.postgresql import postgresql

pytestmark = pytest.mark.real

THINKING = [(0.0, SSE_HEAD), (0.0, chunk(delta(reasoning="hm")))]  # and then nothing, with the connection open


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request, tmp_path):
    if request.param == "sqlite":
        yield {"url": f"sqlite:///{tmp_path}/data/canary.db"}
        return
    with postgresql() as server:
        (tmp_path / "url").write_text(server.url(server.new_database()))
        yield {"url": "${file:url}"}


def test_a_second_daemon_on_one_database_does_not_begin(tmp_path, storage):
    """It would page from a memory of its own. It says who is there; the first one does not notice."""
    with world(tmp_path, storage=storage) as (served, hook, config), canary(config) as first:
        first.more_runs(2)
        with canary(config) as second:
            assert second.wait() == 3
        assert second.events == []
        (said,) = second.said
        assert "is in use by another canary" in said
        assert str(first.process.pid) in said or storage["url"] == "${file:url}"
        served.mood.steps = ILL
        hook.until(lambda: "opened" in hook.reasons)
        first.more_runs(3)
        first.process.kill()
        first.process.wait()
        with canary(config) as heir:
            heir.more_runs(2)
            served.mood.steps = WELL
            hook.until(lambda: "resolved" in hook.reasons)
    assert hook.reasons == ["opened", "resolved"]


def test_a_port_that_is_taken(tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        with world(tmp_path, listen={"address": f"127.0.0.1:{port}"}) as (served, _, config), canary(config) as daemon:
            assert daemon.wait() == 3
    (said,) = daemon.said
    assert said.startswith(f"canary: cannot listen at 127.0.0.1:{port}: ")
    assert said.endswith(": Address already in use\n")
    assert served.requests == [], "it does not probe before it can be asked how it is"


def test_a_signal_before_it_has_begun(tmp_path):
    """While it waits for a database that somebody has locked: it leaves in order, without a run."""
    with world(tmp_path) as (_, _, config):
        with canary(config) as first:
            first.more_runs(1)
            first.send(signal.SIGTERM)
            assert first.wait() == 0
        database, claim = tmp_path / "data/canary.db", tmp_path / "data/canary.db.lock"
        claim.unlink()
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with canary(config) as daemon:
                appears(claim)
                daemon.send(signal.SIGTERM)
                assert daemon.wait() == 0
                assert (daemon.runs, daemon.said) == ([], [])
                away, *then = (event["event"] for event in daemon.events)
                assert (away.startswith(AWAY), then) == (True, ["started", "stopping", "stopped"])


def appears(path):
    for _ in range(600):
        if path.exists():
            return
        threading.Event().wait(0.05)
    pytest.fail(f"{path} never came")


def test_signals_in_mid_stream(tmp_path):
    """The first one waits for the stream as long as the grace allows, the second one does not wait."""
    with world(tmp_path, shutdown_grace="10m") as (served, _, config), canary(config) as daemon:
        daemon.more_runs(1)
        before = len(served.requests)
        served.mood.steps = THINKING
        daemon.until(lambda: len(daemon.runs) >= 1)
        while len(served.requests) == before or not served.requests[-1].sent:
            threading.Event().wait(0.05)
        daemon.send(signal.SIGTERM)
        daemon.until(lambda: daemon.named("stopping"))
        assert daemon.get("/-/ready")[0] == 503, "it is still there to be asked"
        daemon.send(signal.SIGTERM)
        assert daemon.wait(within_s=10) == 128 + signal.SIGTERM
        stored = daemon.stored
        with canary(config) as again:
            again.until(lambda: again.named("started"))
            again.process.kill()
            again.process.wait()
    with closing(sqlite3.connect(tmp_path / "data/canary.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert stored <= {run for (run,) in db.execute("SELECT id FROM runs")}
