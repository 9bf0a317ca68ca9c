"""A page that was given up at a receiver is told anew once the config says how."""

from dataclasses import replace

import pytest

from canary.core.kept import Delivered
from canary.engine.recall import unheard_by
from tests.daemon.conftest import EMPTY, answering
from tests.fakes.llm_server import LlmServer, whole
from tests.fakes.stored import NOON, notification_of

TAKEN = [(0.0, whole(b"", 204, connection="close"))]
GONE = [(0.0, whole(b"", 410, connection="close"))]


@pytest.mark.parametrize("again", ["reload", "restart"])
async def test_a_mended_receiver_hears_of_the_page_that_is_still_open(again, planned, parts, webhook):
    async with (
        LlmServer(answering(EMPTY)) as server,
        LlmServer(lambda _: GONE) as wrong,
        LlmServer(lambda _: TAKEN) as right,
    ):
        broken = planned(hops=(("engine", server.url),), receivers=(webhook(wrong.url),)).plan()
        mended = replace(broken, receivers=(webhook(right.url),))
        async with parts(broken) as daemon:
            await daemon.perform()
            await daemon.running.dispatcher.flush()
            assert [letter.notification.reason for letter in await daemon.store.dead_letters()] == ["opened"]
            if again == "reload":
                await tell(daemon, mended)
        if again == "restart":
            async with parts(mended) as daemon:
                await tell(daemon, mended)
                await tell(daemon, mended)  # and then it has been told
    assert [request.json["type"] for request in right.requests] == ["page.opened"]


async def tell(daemon, plan):
    running = daemon.running
    await running.follow(plan, {})
    await running.settle(running.alerts.of_time(running.clocks.wall()))
    await running.dispatcher.flush()


def delivered(receiver, **end):
    return Delivered(notification=notification_of(receiver, receiver=receiver), attempts=1, **end)


@pytest.mark.parametrize(
    ("deliveries", "unheard"),
    [
        pytest.param([], set(), id="nobody was to be told"),
        pytest.param([delivered("a", sent_at=NOON), delivered("b", dead_at=NOON)], {"b"}, id="one of two"),
        pytest.param([delivered("a", dead_at=NOON), delivered("a", sent_at=NOON)], set(), id="told after all"),
        pytest.param([delivered("a", sent_at=NOON), delivered("a", dead_at=NOON)], {"a"}, id="not the latest"),
        pytest.param([delivered("a")], set(), id="still waiting"),
    ],
)
def test_who_heard_nothing(deliveries, unheard):
    assert unheard_by(deliveries) == unheard
