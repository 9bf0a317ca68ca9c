"""Each fault at each kind of hop where it makes sense, seen on the wire of that hop by a plain client."""

import asyncio

import pytest

from canary.demo.chunk_faults import MARKUP, OTHER_MODEL, STRAY_CLOSER, UNKNOWN_FIELD
from canary.demo.faults import CLAMPED_TO, FAULTS, STARVED_TO
from canary.demo.stream_faults import CACHED_ANSWER
from tests.fakes.demo_client import PROMPT, ask, ask_raw, asking

NATURAL = 1500
QUIET_S = 0.3  # long enough to tell that nothing comes: a whole answer takes about 0.15 s here


def words(text):
    return len(text.split())


def healthy_end(seen):
    return (seen.status, seen.end, seen.finish, seen.done) == (200, "complete", "stop", True)


async def budget_lost(hop):
    seen = await ask(hop, thinking_token_budget=16)
    assert healthy_end(seen)
    assert words(seen.reasoning) == NATURAL


async def clamped(hop):
    assert words((await ask(hop, thinking_token_budget=16)).reasoning) == CLAMPED_TO
    assert words((await ask(hop, thinking_token_budget=1100)).reasoning) == 1100
    assert words((await ask(hop)).reasoning) == NATURAL


async def rejected_late(hop):
    seen = await ask(hop, thinking_token_budget=16)
    assert (seen.status, seen.error["code"], seen.done, seen.parts()) == (200, 400, True, [])
    whole = await ask(hop, thinking_token_budget=16, stream=None, stream_options=None)
    assert (whole.status, whole.error["code"]) == (400, 400)
    assert healthy_end(await ask(hop))


async def starved(hop):
    seen = await ask(hop, max_tokens=4000)
    assert (seen.finish, seen.content, words(seen.reasoning)) == ("length", "", STARVED_TO)


async def stripped(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    assert seen.reasoning == ""
    assert "25" in seen.content
    whole = await ask(hop, stream=None, stream_options=None)
    assert whole.reasoning == ""
    assert "25" in whole.content


async def renamed(hop):
    seen = await ask(hop)
    assert (seen.reasoning, words(seen.text(UNKNOWN_FIELD))) == ("", NATURAL)
    assert "25" in seen.content


async def swapped(hop):
    seen = await ask(hop)
    is_engine = hop.name == "engine"
    assert (
        words(seen.text("reasoning_content" if is_engine else "reasoning")),
        seen.text("reasoning" if is_engine else "reasoning_content"),
    ) == (NATURAL, "")


async def merged(hop):
    for seen in (await ask(hop), await ask(hop, stream=None, stream_options=None)):
        assert seen.reasoning == ""
        before, _, after = seen.content.partition("</think>")
        assert before.startswith("<think>")
        assert words(before.removeprefix("<think>")) == NATURAL
        assert "25" in after
        assert "think>" not in after


async def all_in_reasoning(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    assert seen.content == ""
    assert "25" in seen.reasoning


async def copied(hop):
    seen = await ask(hop)
    assert seen.content.startswith(seen.reasoning)
    assert words(seen.reasoning) == NATURAL


async def leaked(hop):
    assert (await ask(hop)).content.startswith(MARKUP)


async def stray(hop):
    assert (await ask(hop)).content.startswith(STRAY_CLOSER)


async def other_model(hop):
    assert {OTHER_MODEL} == {chunk["model"] for chunk in (await ask(hop)).chunks}


async def canned(hop):
    one, two = await ask(hop), await ask(hop, messages=[{"role": "user", "content": PROMPT + " Really?"}])
    assert CACHED_ANSWER == one.content == two.content
    assert healthy_end(one)
    assert (await ask(hop, stream=None, stream_options=None)).content == CACHED_ANSWER


async def usage_missing(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    assert seen.usage is None


async def usage_zero(hop):
    seen = await ask(hop)
    assert seen.usage["completion_tokens_details"]["reasoning_tokens"] == 0
    assert words(seen.reasoning) == NATURAL


async def usage_made_up(hop):
    details = (await ask(hop)).usage["completion_tokens_details"]
    assert details["text_tokens"] > 0
    assert details["reasoning_tokens"] not in {0, NATURAL}


async def buffered(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    thinking_s = NATURAL / 400.0 * 0.03
    assert seen.headers_at >= thinking_s


async def compressed(hop):
    async with asking(hop) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert b"[DONE]" in await response.read()  # aiohttp inflates
    framed, _ = await ask_raw(hop)
    assert b"[DONE]" not in framed
    assert b"\x1f\x8b" in framed


async def pinged(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    assert seen.blocks.count(": ping") >= 3
    assert "25" in seen.content
    last_ping = max(i for i, block in enumerate(seen.blocks) if block == ": ping")
    assert not any("answer is" in block for block in seen.blocks[:last_ping])


async def wrapped(hop):
    seen = await ask(hop)
    assert healthy_end(seen)
    assert seen.blocks.count("data: : ping") >= 2


async def headers_late(hop):
    assert (await ask(hop)).headers_at >= FAULTS["slow_headers"].after_s * 0.03


async def frozen(hop):
    async with asking(hop) as response:
        first = await response.content.readany()
        assert first.startswith(b"data: {")
        assert b"[DONE]" not in first
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(response.content.readany(), QUIET_S)


async def closed_at_once(hop):
    assert await ask_raw(hop) == (b"", "fin")


async def hung(hop):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(QUIET_S), asking(hop):
            pass


async def held_open(hop):
    async with asking(hop) as response:
        got = b""
        while b"[DONE]" not in got:
            got += await response.content.readany()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(response.content.readany(), QUIET_S)


async def cut(hop):
    seen = await ask(hop)
    assert (seen.end, seen.finish, seen.done) == ("broken", None, False)
    assert seen.status == 200


async def cut_with_fin(hop):
    await cut(hop)
    framed, end = await ask_raw(hop)
    assert end == "fin"
    assert not framed.endswith(b"0\r\n\r\n")


async def cut_with_rst(hop):
    await cut(hop)
    assert (await ask_raw(hop))[1] == "rst"


async def cut_cleanly(hop):
    seen = await ask(hop)
    assert (seen.end, seen.finish, seen.done) == ("complete", None, False)
    framed, _ = await ask_raw(hop)
    assert framed.endswith(b"0\r\n\r\n")


async def error_inside(hop):
    seen = await ask(hop)
    assert (seen.status, seen.error["code"], seen.finish, seen.done) == (200, 500, None, True)
    assert "25" not in seen.content


async def terminator_missing(hop):
    seen = await ask(hop)
    assert (seen.end, seen.finish, seen.done) == ("complete", "stop", False)


async def finish_missing(hop):
    seen = await ask(hop)
    assert (seen.end, seen.finish, seen.done) == ("complete", None, True)
    assert "25" in seen.content


async def rate_limited(hop):
    seen = await ask(hop)
    assert (seen.status, seen.headers["retry-after"]) == (429, "1")


async def unauthorised(hop):
    assert (await ask(hop)).status == 401


async def proxy_page(hop):
    seen = await ask(hop)
    assert (seen.status, seen.headers["content-type"]) == (502, "text/html")
    assert b"<h1>502 Bad Gateway</h1>" in seen.raw


SEEN = {
    "drop_parameter": budget_lost,
    "rename_parameter": budget_lost,
    "ignore_budget": budget_lost,
    "clamp_budget": clamped,
    "reject_late": rejected_late,
    "starve": starved,
    "strip_reasoning": stripped,
    "rename_reasoning": renamed,
    "swap_reasoning_field": swapped,
    "merge_tags": merged,
    "all_in_reasoning": all_in_reasoning,
    "copy_reasoning": copied,
    "leak": leaked,
    "stray_closer": stray,
    "wrong_model": other_model,
    "canned_answer": canned,
    "no_usage": usage_missing,
    "zero_reasoning_usage": usage_zero,
    "fabricated_usage": usage_made_up,
    "buffer": buffered,
    "gzip": compressed,
    "ping_flood": pinged,
    "wrapped_keepalives": wrapped,
    "slow_headers": headers_late,
    "freeze": frozen,
    "down": closed_at_once,
    "hang": hung,
    "cut_fin": cut_with_fin,
    "cut_rst": cut_with_rst,
    "cut_clean": cut_cleanly,
    "error_in_stream": error_inside,
    "no_done": terminator_missing,
    "no_finish": finish_missing,
    "hold_open": held_open,
    "too_many_requests": rate_limited,
    "auth": unauthorised,
    "html_502": proxy_page,
}

CASES = [
    pytest.param(name, kind.value, id=f"{name} at {kind.value}")
    for name, fault in FAULTS.items()
    for kind in sorted(fault.kinds)
]


def test_every_fault_has_an_expectation():
    assert set(FAULTS) == set(SEEN)


@pytest.mark.parametrize(("name", "kind"), CASES)
async def test_a_fault_shows_on_the_wire_of_its_hop(demo, name, kind):
    async with demo({kind: (name,)}) as (_, hops):
        await SEEN[name](hops[kind])


@pytest.mark.parametrize("name", sorted(FAULTS))
async def test_without_the_fault_its_expectation_fails(demo, name):
    """Else the table above would prove nothing."""
    async with demo() as (_, hops):
        hop = hops["engine" if "engine" in FAULTS[name].kinds else "gateway"]
        with pytest.raises((AssertionError, KeyError, TypeError, pytest.fail.Exception)):
            await SEEN[name](hop)


async def test_the_first_fault_is_outermost(demo):
    """Pings outside of the stripping still go out; nothing strips what is sent after it."""
    async with demo({"agent": ("ping_flood", "strip_reasoning")}) as (_, hops):
        seen = await ask(hops["agent"])
    assert seen.reasoning == ""
    assert seen.blocks.count(": ping") >= 3
