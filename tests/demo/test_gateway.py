import asyncio

import pytest

from canary.demo.chunks import DONE, PING, error_object, event
from canary.demo.gateway import CUT_MESSAGE, NO_FINISH_MESSAGE, Alias, gateway
from canary.demo.generation import Model
from tests.fakes.demo_client import ask, asking
from tests.fakes.recorded import chunks_of, shapes
from tests.fakes.scripted_upstream import BROKEN, Upstream, above, chunk, event_of, finish

ALIAS = Alias(name="alias", engine_model="m")
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def over(upstream):
    return above(upstream, lambda below: gateway(below, ALIAS))


async def test_chunks_have_the_keys_of_a_recorded_litellm(demo):
    async with demo(model=Model(reasoning_tokens=40, answer_tokens=12, stream_interval=3)) as (_, hops):
        seen = await ask(hops["gateway"], thinking_token_budget=16)
    assert shapes(chunks_of("litellm-chat-budget16")) == shapes(seen.chunks)
    assert seen.headers["x-litellm-version"]


async def test_reasoning_is_renamed_and_comments_are_swallowed():
    upstream = Upstream(script=(PING, chunk(reasoning="so"), PING, chunk(content="A"), finish(), DONE))
    async with over(upstream) as hop:
        seen = await ask(hop)
    assert (seen.text("reasoning_content"), seen.text("reasoning"), seen.content) == ("so", "", "A")
    assert b": ping" not in seen.raw
    assert {"alias"} == {one["model"] for one in seen.chunks}


async def test_unknown_parameters_go_on_and_usage_is_asked_for():
    upstream = Upstream(script=(chunk(content="A"), finish(), DONE))
    async with over(upstream) as hop:
        await ask(hop, thinking_token_budget=64, thinkng_budget=1, stream_options=None)
    (asked,) = upstream.asked
    assert (asked["thinking_token_budget"], asked["thinkng_budget"], asked["model"]) == (64, 1, "m")
    assert asked["stream_options"] == {"include_usage": True}


async def test_a_request_that_is_not_streamed_is_not_asked_for_usage():
    async with over(Upstream(script=(b"{}",), headers={"content-type": "application/json"})) as hop:
        assert (await ask(hop, stream=None, stream_options=None)).status == 200


async def test_headers_wait_for_the_first_event():
    go = asyncio.Event()
    async with over(Upstream(script=(PING, go, chunk(content="A"), finish(), DONE))) as hop:
        asked = asyncio.ensure_future(ask(hop))
        done, _ = await asyncio.wait({asked}, timeout=0.2)
        assert not done
        go.set()
        assert (await asked).content == "A"


async def test_usage_stands_beside_an_empty_delta():
    script = (chunk(content="A"), finish(), event_of({"index": 0, "delta": {}}, usage=USAGE), DONE)
    async with over(Upstream(script=script)) as hop:
        seen = await ask(hop)
        silent = await ask(hop, stream_options=None)
    assert seen.usage == USAGE
    assert seen.chunks[-1]["choices"] == [{"index": 0, "delta": {}}]
    assert silent.usage is None


async def test_usage_that_never_came_is_made_up():
    async with over(Upstream(script=(chunk(reasoning="think " * 20), chunk(content="A" * 8), finish()))) as hop:
        seen = await ask(hop)
    assert seen.usage["completion_tokens_details"] == {"reasoning_tokens": 30, "text_tokens": 2}


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("status", [400, 404, 429, 500])
async def test_an_error_status_is_passed_on_in_the_gateways_words(status, streamed):
    body = event(error_object("no such thing", code=status))[6:-2]
    upstream = Upstream(script=(body,), status=status, headers={"content-type": "application/json"})
    async with over(upstream) as hop:
        seen = await ask(hop) if streamed else await ask(hop, stream=None, stream_options=None)
    assert (status, str(status)) == (seen.status, seen.error["code"])
    assert seen.error["message"].startswith("litellm.")
    assert seen.error["message"].endswith("no such thing")


async def test_an_error_as_first_event_becomes_a_status():
    async with over(Upstream(script=(event(error_object("not configured", code=400)), DONE))) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.error["code"]) == (400, "400")


@pytest.mark.parametrize(
    ("script", "message", "done"),
    [
        pytest.param((event(error_object("boom", code=500)), DONE), "boom", True, id="an error event"),
        pytest.param((BROKEN,), CUT_MESSAGE, False, id="a broken connection"),
        pytest.param((), NO_FINISH_MESSAGE, True, id="an end without finish reason"),
        pytest.param((DONE,), NO_FINISH_MESSAGE, True, id="a terminator without finish reason"),
    ],
)
async def test_what_goes_wrong_later_is_an_event_with_a_string_for_a_code(script, message, done):
    async with over(Upstream(script=(chunk(content="A"), *script))) as hop:
        seen = await ask(hop)
    assert (200, "complete", "A", "500", done) == (seen.status, seen.end, seen.content, seen.error["code"], seen.done)
    assert message in seen.error["message"]


async def test_a_connection_that_breaks_before_any_event_is_a_500():
    async with over(Upstream(script=(BROKEN,))) as hop:
        assert (await ask(hop)).status == 500


async def test_an_empty_stream_is_an_error_event():
    async with over(Upstream()) as hop:
        seen = await ask(hop)
    assert (seen.status, seen.error["message"], seen.done) == (200, NO_FINISH_MESSAGE, True)


async def test_a_missing_terminator_below_is_not_seen_above():
    async with over(Upstream(script=(chunk(content="A"), finish()))) as hop:
        seen = await ask(hop)
    assert (seen.finish, seen.done, seen.error) == ("stop", True, None)


async def test_the_terminator_waits_for_the_connection_below():
    closes = asyncio.Event()
    async with over(Upstream(script=(chunk(content="A"), finish(), DONE, closes))) as hop, asking(hop) as response:
        got = b""
        while b"finish_reason" not in got:
            got += await response.content.readany()
        assert b"[DONE]" not in got
        closes.set()
        assert (await response.content.read()).endswith(DONE)


async def test_an_unknown_alias_is_refused():
    async with over(Upstream()) as hop:
        seen = await ask(hop, model="nope")
    assert (seen.status, seen.error["code"]) == (400, "400")


async def test_nobody_below_is_a_500(unused_base):
    async with over(unused_base) as hop:
        assert (await ask(hop)).status == 500
