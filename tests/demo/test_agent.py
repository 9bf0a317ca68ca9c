import asyncio

import pytest

from canary.demo.agent import agent
from canary.demo.chunks import DONE, PING, error_object, event
from tests.fakes.demo_client import ask, asking
from tests.fakes.scripted_upstream import BROKEN, Upstream, above, chunk, finish

ANSWER = (chunk(role="assistant", content=""), chunk(reasoning_content="so"), PING, chunk(content="A"), finish(), DONE)


@pytest.mark.parametrize(("forwards", "reasoning"), [(True, "so"), (False, "")], ids=["forwards", "strips"])
async def test_reasoning_is_forwarded_or_not(forwards, reasoning):
    async with above(Upstream(script=ANSWER), lambda below: agent(below, forwards_reasoning=forwards)) as hop:
        seen = await ask(hop)
    assert (reasoning, "A", "stop", True) == (seen.reasoning, seen.content, seen.finish, seen.done)
    assert b": ping" not in seen.raw


async def test_headers_go_out_before_anything_is_heard_from_below():
    go = asyncio.Event()
    async with above(Upstream(script=ANSWER, delay_headers=go), agent) as hop, asking(hop) as response:
        assert response.status == 200
        go.set()
        assert (await response.content.read()).endswith(DONE)


async def test_an_error_status_from_below_is_an_event_inside_the_200():
    body = event(error_object("no", code="429"))[6:-2]
    async with above(Upstream(script=(body,), status=429), agent) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.error["code"], seen.done) == (200, "429", False)


async def test_a_page_from_below_is_an_error_event_too():
    async with above(Upstream(script=(b"<html>",), status=502), agent) as hop:
        assert {name: value for name, value in (await ask(hop)).error.items() if value is not None} == {
            "message": "<html>",
            "code": 502,
        }


async def test_a_broken_connection_below_is_broken_above():
    async with above(Upstream(script=(chunk(content="A"), BROKEN)), agent) as hop:
        seen = await ask(hop)
    assert (seen.content, seen.end) == ("A", "broken")


@pytest.mark.parametrize(("streamed", "status"), [(True, 200), (False, 502)])
async def test_nobody_below(unused_base, streamed, status):
    extra = {} if streamed else {"stream": None, "stream_options": None}
    async with above(unused_base, agent) as hop:
        seen = await ask(hop, **extra)
    assert (status, 502) == (seen.status, seen.error["code"])
