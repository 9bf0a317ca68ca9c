import asyncio

from canary.demo.chunks import DONE, PING
from canary.demo.edge import edge
from tests.fakes.demo_client import ask, asking
from tests.fakes.scripted_upstream import BROKEN, Upstream, above, chunk, finish


def through(upstream, limit_s=60.0):
    return above(upstream, lambda below: edge(below, read_timeout_s=limit_s), inflate=False)


async def test_bytes_pass_unchanged():
    script = (PING, b"data: half", b" an event\n", b"\n", chunk(content="A"), finish(), DONE)
    async with through(Upstream(script=script)) as hop:
        seen = await asking_all(hop)
    assert b"".join(script) == seen


async def asking_all(hop):
    async with asking(hop) as response:
        assert response.headers["server"].startswith("nginx/")
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        return await response.read()


async def test_headers_pass_when_they_come():
    async with through(Upstream(script=(asyncio.Event(),))) as hop, asking(hop) as response:
        assert response.status == 200


async def test_a_refusal_passes_with_its_status_and_headers():
    refusal = Upstream(script=(b"{}",), status=429, headers={"content-type": "application/json", "retry-after": "7"})
    async with through(refusal) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.headers["retry-after"], seen.raw) == (429, "7", b"{}")


async def test_silence_in_the_body_ends_in_a_cut():
    upstream = Upstream(script=(chunk(content="A"), asyncio.Event()))
    async with through(upstream, limit_s=0.2) as hop:
        seen = await ask(hop)
        await asyncio.wait_for(upstream.left.wait(), 10)
    assert (seen.status, seen.content, seen.end) == (200, "A", "broken")


async def test_any_byte_keeps_it_alive():
    async with through(Upstream(script=(PING, DONE))) as hop:
        assert (await ask(hop)).end == "complete"


async def test_silence_before_the_headers_is_a_504_page():
    async with through(Upstream(delay_headers=asyncio.Event()), limit_s=0.2) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.headers["content-type"]) == (504, "text/html")
    assert seen.headers_at >= 0.2


async def test_a_broken_connection_below_is_broken_above():
    async with through(Upstream(script=(chunk(content="A"), BROKEN))) as hop:
        assert (await ask(hop)).end == "broken"


async def test_nobody_below_is_a_502_page(unused_base):
    async with through(unused_base) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.headers["content-type"]) == (502, "text/html")
