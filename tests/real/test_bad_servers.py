"""A PostgreSQL server that goes away in each of its ways, and comes back."""

import asyncio
import signal
from contextlib import contextmanager

import asyncpg
import psutil
import pytest

from tests.fakes.canary_process import AWAY, canary, comes_back, goes_on_without, world
from tests.fakes.postgresql import postgresql

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server():
    with postgresql() as running:
        yield running


@contextmanager
def stored_in(server, tmp_path):
    """A daemon with a database of its own there, after its first runs."""
    url = server.url(server.new_database())
    (tmp_path / "url").write_text(url)
    with (
        world(tmp_path, storage={"url": "${file:url}"}) as (served, hook, config),
        canary(config) as daemon,
    ):
        daemon.more_runs(2)
        yield daemon, served, hook
        daemon.send(signal.SIGTERM)
        assert daemon.wait() == 0
        assert {run["run"] for run in daemon.runs} <= asyncio.run(runs_in(url))
    assert hook.reasons == ["opened", "resolved"]
    assert server.password not in str([daemon.events, daemon.said])
    assert not daemon.named("our own fault")


async def runs_in(url):
    connection = await asyncpg.connect(url)
    try:
        return {row["id"] for row in await connection.fetch("SELECT id FROM runs")}
    finally:
        await connection.close()


@contextmanager
def paused(server):
    """All its processes stand still: it takes connections and bytes, and says nothing."""
    head = psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))
    processes = [head, *head.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def test_a_server_that_is_killed_and_started_again(server, tmp_path):
    """In mid-transaction, maybe; it recovers by itself."""
    with stored_in(server, tmp_path) as (daemon, served, hook):
        server.stop("immediate")
        goes_on_without(daemon, served, hook)
        assert "cannot be reached" in daemon.named(AWAY)[0]["why"]
        server.start()
        comes_back(daemon, served, hook)


def test_a_server_that_says_nothing_any_more(server, tmp_path):
    """No refusal and no answer, as when a network swallows all. One run waits for it, and then nobody does."""
    with stored_in(server, tmp_path) as (daemon, served, hook):
        with paused(server):
            goes_on_without(daemon, served, hook)
            daemon.more_runs(8, within_s=20)
        comes_back(daemon, served, hook)
