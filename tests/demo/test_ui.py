import asyncio
from collections.abc import AsyncIterator

import pytest

from canary.core.timeout import Clock
from canary.demo.chunks import DONE, PING
from canary.demo.ui import GivesUp, IdleLimit, ui
from tests.fakes.demo_client import ask
from tests.fakes.scripted_upstream import BROKEN, Upstream, above, chunk, finish

LIMIT_S = 0.4
ROLE, THINK, SPACE, TEXT = (
    chunk(role="assistant", content=""),
    chunk(reasoning_content="so"),
    chunk(content=" \n"),
    chunk(content="A"),
)


class Ticking(Upstream):
    """Sends `tick` twelve times, each well within the limit, and in all far beyond it; then an answer."""

    tick = b""

    async def _play(self) -> AsyncIterator[bytes]:
        for _ in range(12):
            await asyncio.sleep(LIMIT_S / 8)
            yield self.tick
        for piece in (TEXT, finish(), DONE):
            yield piece


def over(upstream, *, limit_s=LIMIT_S, **idle):
    return above(upstream, lambda below: ui(below, IdleLimit(limit_s=limit_s, **idle)))


def ticking(piece):
    upstream = Ticking()
    upstream.tick = piece
    return upstream


@pytest.mark.parametrize(
    ("clock", "piece"),
    [
        pytest.param(Clock.EVENT, PING, id="a comment is no event"),
        pytest.param(Clock.TOKEN, ROLE, id="a role is no token"),
        pytest.param(Clock.VISIBLE, THINK, id="reasoning is not visible"),
        pytest.param(Clock.VISIBLE, SPACE, id="white space is not visible"),
    ],
)
async def test_what_its_clock_does_not_count_does_not_save_it(clock, piece):
    async with over(ticking(piece), clock=clock) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.end, seen.error["code"], seen.done) == (200, "complete", 504, False)


@pytest.mark.parametrize(
    ("clock", "piece"),
    [
        pytest.param(Clock.BYTE, PING, id="a comment is bytes"),
        pytest.param(Clock.EVENT, ROLE, id="a role is an event"),
        pytest.param(Clock.TOKEN, THINK, id="reasoning is a token"),
        pytest.param(Clock.VISIBLE, TEXT, id="text is visible"),
    ],
)
async def test_what_its_clock_counts_keeps_it_listening(clock, piece):
    async with over(ticking(piece), clock=clock, limit_s=20 * LIMIT_S) as hop:
        seen = await ask(hop)
    assert (seen.error, seen.finish, seen.done) == (None, "stop", True)


async def test_it_can_give_up_by_a_cut_and_then_leaves_below():
    upstream = Upstream(script=(ROLE, asyncio.Event()))
    async with over(upstream, gives_up=GivesUp.CUT) as hop:
        seen = await ask(hop)
        await asyncio.wait_for(upstream.left.wait(), 10)
    assert (seen.end, seen.done) == ("broken", False)


async def test_silence_before_the_headers_is_a_504():
    async with over(Upstream(delay_headers=asyncio.Event())) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.error["code"]) == (504, 504)
    assert seen.headers_at >= LIMIT_S


async def test_a_refusal_passes_through():
    refusal = Upstream(script=(b'{"error":{}}',), status=401, headers={"content-type": "application/json"})
    async with over(refusal) as hop:
        assert ((seen := await ask(hop)).status, seen.error) == (401, {})


async def test_a_broken_connection_below_is_broken_above():
    async with over(Upstream(script=(ROLE, BROKEN)), limit_s=60.0) as hop:
        assert (await ask(hop)).end == "broken"


async def test_nobody_below_is_a_502(unused_base):
    async with over(unused_base) as hop:
        assert (await ask(hop)).status == 502
