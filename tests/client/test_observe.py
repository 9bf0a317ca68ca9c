"""The whole way: a scripted engine, the real decoder, one observation."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from canary.client.observe import observe
from canary.client.target import Limits, Target
from canary.core.observation import Completed, Disconnected, HttpRejected, StoppedByUs
from canary.core.stream import ReasoningDelta, ServerError, Terminator, VisibleDelta
from canary.wire import WIRES
from canary.wire.decode import decode
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, LlmServer, chunk, delta, head, whole

STREAM = [
    (0, SSE_HEAD),
    *[(0.02, chunk(delta(reasoning_content=f"r{n} "))) for n in range(3)],
    (0.02, chunk(delta(content="4"))),
    (0.02, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
]


async def ask(url, **options):
    return await observe(
        Target(url=url, protocol="openai-chat", headers={}),
        {"model": "m", "stream": True, "messages": []},
        limits=Limits(deadline_s=20, max_bytes=1_000_000, connect_timeout_s=10),
        started_at=datetime(2026, 1, 2, tzinfo=UTC),
        **options,
    )


async def test_a_stream_that_reasons_and_answers():
    async with LlmServer(STREAM) as server:
        seen = await ask(server.url)
    sent = [step.at - server.requests[0].received_at for step in server.requests[0].sent]
    reasoning = [event for event in seen.events if isinstance(event, ReasoningDelta)]
    [visible] = [event for event in seen.events if isinstance(event, VisibleDelta)]
    assert "".join(event.text for event in reasoning) == "r0 r1 r2 "
    assert sent[1] <= reasoning[0].at < sent[2]
    assert sent[4] <= visible.at < sent[5]
    assert any(isinstance(event, Terminator) for event in seen.events)
    assert isinstance(seen.end, Completed)


async def test_a_replay_of_the_exchange_is_the_same_observation():
    async with LlmServer(STREAM) as server:
        for stop in (None, lambda event: "seen" if isinstance(event, VisibleDelta) else None):
            seen = await ask(server.url, stop=stop)
            assert decode(seen.exchange) == seen


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"set_cookie": "session=" + "x" * 60_000}, id="a long one"),
        pytest.param({f"x_{number}": "y" for number in range(500)}, id="many"),
    ],
)
async def test_headers_that_other_clients_take_are_no_fault(headers):
    opening = head(content_type="text/event-stream", transfer_encoding="chunked", **headers)
    async with LlmServer([(0, opening), *STREAM[1:]]) as server:
        assert isinstance((await ask(server.url)).end, Completed)


async def test_headers_without_an_end_are():
    lines = b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000
    async with LlmServer([(0, lines)]) as server:
        end = (await ask(server.url)).end
    assert (type(end), "Too many headers" in end.detail) == (Disconnected, True)


async def test_a_rejection_has_the_servers_message():
    async with LlmServer(
        [(0, whole(b'{"error": {"message": "no such model"}}', 404, content_type="application/json"))]
    ) as s:
        seen = await ask(s.url)
    assert isinstance(seen.end, HttpRejected)
    assert (seen.end.status, seen.end.message) == (404, "no such model")
    assert any(isinstance(event, ServerError) for event in seen.events)


async def test_a_budget_can_stop_the_engine():
    def after_two():
        count = 0

        def stop(event):
            nonlocal count
            count += isinstance(event, ReasoningDelta)
            return "past its budget" if count == 2 else None

        return stop

    async with LlmServer([(0, SSE_HEAD), *[(0.02, chunk(delta(reasoning_content="r ")))] * 500]) as server:
        seen = await ask(server.url, stop=after_two())
        await asyncio.wait_for(server.requests[0].gone.wait(), 5)
    assert (type(seen.end), seen.end.reason) == (StoppedByUs, "past its budget")
    assert sum(isinstance(event, ReasoningDelta) for event in seen.events) == 2


async def test_an_unknown_protocol_is_an_error_of_ours():
    assert "morse" not in WIRES
    target = Target(url="http://127.0.0.1:9/", protocol="morse", headers={})
    limits = Limits(deadline_s=1, max_bytes=1, connect_timeout_s=1)
    with pytest.raises(KeyError):
        await observe(target, {}, limits=limits, started_at=datetime(2026, 1, 2, tzinfo=UTC))
