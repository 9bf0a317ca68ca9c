import asyncio

import pytest
from aiohttp import ClientSession

from canary.client.engine_metrics import Histogram, Page, parse
from canary.demo.load import Load
from tests.fakes.demo_client import ask


async def test_a_request_without_a_seat_waits():
    load, may_go = Load(seats=1), asyncio.Event()
    order = []

    async def request(name):
        async with load.seat() as waited_s:
            order.append((name, waited_s > 0.0005, load.running, load.waiting))
            await may_go.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(request("first"))
        group.create_task(request("second"))
        await load.busy.wait()
        await asyncio.sleep(0)  # the second one has asked by now
        assert (load.running, load.waiting, load.idle.is_set()) == (1, 1, False)
        await asyncio.sleep(0.001)
        may_go.set()
    assert order == [("first", False, 1, 0), ("second", True, 1, 0)]
    assert (load.running, load.waiting, load.queue.count, load.idle.is_set()) == (0, 0, 2, True)


async def test_who_leaves_while_waiting_gives_up_no_seat():
    load = Load(seats=1)

    async def request():
        async with load.seat():
            pass

    async with load.seat():
        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (load.running, load.waiting) == (1, 0)
    await asyncio.wait_for(request(), 1)


async def test_the_page_is_one_that_is_understood(demo):
    async with demo() as (running, hops):
        await ask(hops["engine"])
        async with ClientSession() as session, session.get(running.urls["engine"] + "/metrics") as response:
            text = await response.text()
        page = parse(text, model=running.model.name)
    assert page == Page(
        running=0,
        waiting=0,
        queue=Histogram(total=pytest.approx(0, abs=0.05), count=1),
        first_token=Histogram(total=page.first_token.total, count=1),
    )
    assert running.model.prefill_s < page.first_token.total
