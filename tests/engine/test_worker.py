"""Who may run now, and what becomes of those who run."""

import asyncio

import pytest

from canary.core.metrics import Skip
from canary.engine.due import Due, Why
from canary.engine.worker import Place, Worker, startable


def due(name, why=Why.SCHEDULE, due_s=0.0):
    return Due(key=("p", name), run_id=f"run-{name}", due_s=due_s, why=why)


def place(name, *urls):
    return Place(due=due(name), urls=frozenset(urls))


@pytest.mark.parametrize(
    ("line", "busy", "free", "started"),
    [
        pytest.param([], [], 4, "", id="nobody"),
        pytest.param([("a", "1"), ("b", "2")], [], 4, "ab", id="nothing in common"),
        pytest.param([("a", "1"), ("b", "2"), ("c", "3")], [], 2, "ab", id="no more than there is room for"),
        pytest.param([("a", "1"), ("b", "1")], [], 4, "a", id="one URL, one run"),
        pytest.param([("a", "1"), ("b", "2")], ["1"], 4, "b", id="one passes who needs nothing of what is waited for"),
        pytest.param([("a", "12"), ("b", "2")], ["1"], 4, "", id="nobody takes what an earlier one waits for"),
        pytest.param([("a", "12"), ("b", "23"), ("c", "3")], ["1"], 4, "", id="not even at second hand"),
        pytest.param([("a", "1")], [], 0, "", id="no room"),
    ],
)
def test_who_may_start(line, busy, free, started):
    places = [place(name, *urls) for name, urls in line]
    assert "".join(p.due.key[1] for p in startable(places, frozenset(busy), free)) == started


class Runs:
    """Runs that last until they are told to end."""

    def __init__(self, urls=None, most=4):
        self.started, self.ended, self.skips, self.failures = [], [], [], []
        self.urls, self.ends = urls or {}, {}
        self.moved = asyncio.Condition()
        self.again = {}
        self.worker = Worker(
            perform=self._perform,
            urls=lambda key: frozenset(self.urls.get(key[1], key[1])),
            skipped=lambda key, why, times: self.skips.append((key[1], why, times)),
            failed=lambda due, error: self.failures.append((due.key[1], type(error))),
            most=most,
        )

    async def _perform(self, due):
        name = due.key[1]
        self.started.append(name)
        end = self.ends[name] = asyncio.get_running_loop().create_future()
        await self._notify()
        try:
            await end
        finally:
            self.ended.append(name)
            await self._notify()
        return self.again.pop(name, None)

    async def _notify(self):
        async with self.moved:
            self.moved.notify_all()

    async def until(self, *, started=None, ended=None):
        async with asyncio.timeout(10), self.moved:
            await self.moved.wait_for(lambda: started in (None, self.started) and ended in (None, sorted(self.ended)))


async def test_one_after_another_where_they_share_a_url_and_in_their_order():
    runs = Runs(urls={"a": "1", "b": "1", "c": "2"})
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        for name in "abc":
            assert runs.worker.take(due(name))
        await runs.until(started=["a", "c"])
        runs.ends["a"].set_result(None)
        await runs.until(started=["a", "c", "b"])
        runs.ends["b"].set_result(None)
        runs.ends["c"].set_result(None)
    assert runs.skips == []


async def test_a_reload_may_change_what_one_that_waits_will_ask():
    runs = Runs(urls={"a": "1", "b": "1", "c": "2"})
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        for name in "abc":
            runs.worker.take(due(name))
        await runs.until(started=["a", "c"])
        runs.urls["b"] = "2"
        _, first = runs.worker.running["p", "a"]
        runs.ends["a"].set_result(None)
        await first
        assert set(runs.worker.running) == {("p", "c")}, "not beside the one that asks the same now"
        runs.ends["c"].set_result(None)
        await runs.until(started=["a", "c", "b"])
        runs.ends["b"].set_result(None)


async def test_what_runs_or_waits_already_is_an_overlap():
    runs = Runs(urls={"a": "1", "b": "1"})
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        assert runs.worker.take(due("a"))
        assert runs.worker.take(due("b"))
        await runs.until(started=["a"])
        assert not runs.worker.take(due("a"))
        assert not runs.worker.take(due("b", why=Why.DEMAND))
        assert runs.skips == [("a", Skip.OVERLAP, 1), ("b", Skip.OVERLAP, 1)]
        runs.ends["a"].set_result(None)
        await runs.until(started=["a", "b"])
        runs.ends["b"].set_result(None)


async def test_a_confirming_run_comes_at_once_before_all_others_and_is_no_overlap():
    runs = Runs(urls={"a": "1", "b": "1"})
    runs.again["a"] = due("a", why=Why.CONFIRM)
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        runs.worker.take(due("a"))
        runs.worker.take(due("b"))
        await runs.until(started=["a"])
        runs.ends["a"].set_result(None)
        await runs.until(started=["a", "a"])
        runs.ends["a"].set_result(None)
        await runs.until(started=["a", "a", "b"])
        runs.ends["b"].set_result(None)
    assert runs.skips == []


async def test_a_bug_in_one_run_ends_no_other():
    runs = Runs()
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        runs.worker.take(due("a"))
        runs.worker.take(due("b"))
        await runs.until(started=["a", "b"])
        runs.ends["a"].set_exception(ZeroDivisionError())
        await runs.until(ended=["a"])
        assert runs.worker.take(due("c"))
        await runs.until(started=["a", "b", "c"])
        for name in "bc":
            runs.ends[name].set_result(None)
    assert runs.failures == [("a", ZeroDivisionError)]
    assert runs.worker.running == {}


async def test_at_the_end_the_line_is_dropped_the_running_get_their_time_and_then_are_cancelled():
    runs = Runs(urls={"b": "1", "c": "1"})
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        for name in "abc":
            runs.worker.take(due(name))
        await runs.until(started=["a", "b"])
        draining = group.create_task(runs.worker.drain(grace_s=0.05))
        await runs.until(ended=["a", "b"])
        await draining
        assert not runs.worker.take(due("d"))
    assert runs.skips == [("c", Skip.SHUTDOWN, 1), ("d", Skip.SHUTDOWN, 1)]
    assert runs.started == ["a", "b"]


async def test_whoever_ends_within_the_grace_is_not_cancelled():
    runs = Runs()
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        runs.worker.take(due("a"))
        await runs.until(started=["a"])
        draining = group.create_task(runs.worker.drain(grace_s=60.0))
        runs.ends["a"].set_result(None)
        await draining
        assert not runs.ends["a"].cancelled()


async def test_how_long_the_first_in_line_has_waited():
    runs = Runs(most=1)
    async with asyncio.TaskGroup() as group:
        runs.worker.use(group)
        runs.worker.take(due("a"))
        runs.worker.take(due("b", due_s=100.0))
        runs.worker.take(due("c", why=Why.DEMAND, due_s=50.0))
        assert runs.worker.waiting_s(130.0) == 30.0
        await runs.until(started=["a"])
        draining = group.create_task(runs.worker.drain(grace_s=0.0))
        await draining
    assert runs.worker.waiting_s(130.0) == 0.0
