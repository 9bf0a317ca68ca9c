"""A PostgreSQL server that goes away in each of its ways, and comes back."""

import asyncio
import signal
from contextlib import contextmanager

import asyncpg
import psutil
import pytest

from tests.fakes.canary_process import AWAY, BACK, ILL, WELL, canary, comes_back, goes_on_without, world
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


def test_a_server_that_starts_after_us(server, tmp_path):
    """After a restart of the host, say: a page is open in it, and people were told of that one already."""
    url = server.url(server.new_database())
    (tmp_path / "url").write_text(url)
    with world(tmp_path, storage={"url": "${file:url}"}) as (served, hook, config):
        served.mood.steps = ILL
        with canary(config) as before:
            hook.until(lambda: hook.reasons == ["opened"])
            before.send(signal.SIGTERM)
            assert before.wait() == 0
        server.stop()
        with canary(config) as late:
            hook.until(lambda: hook.reasons == ["opened", "opened"])
            late.more_runs(2)
            assert "cannot be reached" in late.named(AWAY)[0]["why"]
            assert (late.metric("canary_store_up"), late.get("/-/ready")[0]) == (0, 503)
            server.start()
            late.until(lambda: late.named(BACK))
            hook.until(lambda: hook.reasons == ["opened", "opened", "resolved"])
            late.more_runs(2)
            assert (late.metric("canary_store_up"), late.get("/-/ready")[0]) == (1, 200)
            served.mood.steps = WELL
            hook.until(lambda: hook.reasons == ["opened", "opened", "resolved", "resolved"])
            late.send(signal.SIGTERM)
            assert late.wait() == 0
    first, second, third, fourth = (each["data"]["page_id"] for each in hook.told)
    assert first != second, "which could not be known"
    assert (third, fourth) == (second, first), "the page that was there first is the one that goes on"
    assert {run["run"] for run in (*before.runs, *late.runs)} <= asyncio.run(runs_in(url))
    assert (len(late.named(AWAY)), late.named("our own fault")) == (1, [])
    assert server.password not in str([late.events, late.said])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda url: url.replace("canary:", "canary:x"), "cannot be opened", id="wrong password"),
        pytest.param(lambda url: url.rpartition("/")[0] + "/nowhere", "cannot be opened", id="no such database"),
        pytest.param(lambda url: url + "?sslmode=bogus", "answers with an error", id="no such option"),
    ],
)
def test_a_mistake_of_the_config_is_no_start(server, tmp_path, change, says):
    (tmp_path / "url").write_text(change(server.url(server.new_database())))
    with world(tmp_path, storage={"url": "${file:url}"}) as (_, _, config), canary(config) as daemon:
        assert daemon.wait() == 3
    (said,) = daemon.said
    assert (daemon.events, says in said) == ([], True)


def test_a_late_server_that_is_another_daemons_ends_us(server, tmp_path):
    """Two would page twice for ever."""
    url = server.url(server.new_database())
    (tmp_path / "url").write_text(url)
    with world(tmp_path, storage={"url": "${file:url}"}) as (_, _, config), canary(config) as first:
        first.more_runs(1)
        server.stop()
        with canary(config) as second:
            second.until(lambda: second.named(AWAY))
            second.process.send_signal(signal.SIGSTOP)
            server.start()
            first.until(lambda: first.named(BACK))
            second.process.send_signal(signal.SIGCONT)
            assert second.wait() == 3
    assert "is in use by another canary" in second.said[-1]


def test_a_server_that_says_nothing_any_more(server, tmp_path):
    """No refusal and no answer, as when a network swallows all. One run waits for it, and then nobody does."""
    with stored_in(server, tmp_path) as (daemon, served, hook):
        with paused(server):
            goes_on_without(daemon, served, hook)
            daemon.more_runs(8, within_s=20)
        comes_back(daemon, served, hook)
