"""Stamps against the truth of a server that goes on while our loop is blocked on purpose."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from canary.client import lag
from canary.client.connection import Attempt, Mark
from canary.client.line import Line
from canary.client.target import Target, Tls
from canary.core.observation import StampSource
from canary.core.stream import BytesReceived
from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, LlmServer, chunk, head, in_thread, whole

BLOCK_S = 0.3
linux = pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not stamp TCP reads")


def block_at_first_read():
    blocked = []

    def stop(event):
        if isinstance(event, BytesReceived) and not blocked:
            blocked.append(time.sleep(BLOCK_S))

    return stop


@pytest.fixture(params=["plain", "tls"])
def transport(request, authority):
    """Server and client options."""
    if request.param == "plain":
        return {}, {}
    return {"tls": authority.server()}, {"tls": Tls(ca_file=authority.ca_file)}


async def late_read(ask, transport, script, stamps):
    """The read that arrived while the loop was blocked, and when the server sent what it holds, on the same clock."""
    server_options, client_options = transport
    with in_thread(LlmServer(script, **server_options)) as server:
        exchange = (await ask(server.url, stop=block_at_first_read(), stamps=stamps, **client_options)).exchange
    request = server.requests[0]
    assert (len(exchange.reads), exchange.stamps) == (2, stamps)
    return exchange, [sent.at - request.received_at for sent in request.sent[2:-1]]


@linux
async def test_a_kernel_stamp_does_not_see_our_own_block(ask, transport):
    script = [(0, SSE_HEAD), (0.02, chunk(b"a")), (0.1, chunk(b"b")), (0.4, LAST_CHUNK)]
    kernel, [kernel_sent] = await late_read(ask, transport, script, StampSource.KERNEL)
    loop, [loop_sent] = await late_read(ask, transport, script, StampSource.LOOP)
    kernel_error = kernel.reads[1].at - kernel_sent
    loop_error = loop.reads[1].at - loop_sent
    assert loop_error > 10 * kernel_error
    assert kernel_error >= 0
    assert kernel.loop_lag_s > BLOCK_S - 2 * lag.PERIOD_S


@linux
async def test_a_late_read_says_since_when_the_socket_was_empty(ask, transport):
    script = [(0, SSE_HEAD), (0.02, chunk(b"a")), *[(0.05, chunk(b"b"))] * 4, (0.4, LAST_CHUNK)]
    exchange, sent = await late_read(ask, transport, script, StampSource.KERNEL)
    read = exchange.reads[1]
    assert read.data == b"bbbb"
    assert read.after <= sent[0] < sent[-1] <= read.at
    assert read.at - sent[-1] < (sent[-1] - sent[0]) / 5
    assert read.after > exchange.reads[0].at - 0.05


async def test_a_stamp_of_the_loop_has_an_interval_too(ask, transport):
    script = [(0, SSE_HEAD), (0.02, chunk(b"a")), (0.1, chunk(b"b")), (0.4, LAST_CHUNK)]
    exchange, sent = await late_read(ask, transport, script, StampSource.LOOP)
    read = exchange.reads[1]
    assert read.after <= sent[0] <= read.at
    assert read.at - read.after > BLOCK_S / 2


@pytest.mark.parametrize("stamps", [pytest.param(StampSource.KERNEL, marks=linux), StampSource.LOOP])
async def test_never_early_and_in_order(ask, transport, stamps):
    size, server_options, client_options = 50, *transport
    steps = [(0.0005 * (i % 4), chunk(b"%050d" % i)) for i in range(300)]
    with in_thread(LlmServer([(0, SSE_HEAD), *steps, (0, LAST_CHUNK)], **server_options)) as server:
        asked = await ask(server.url, stamps=stamps, **client_options)
    request, ends = server.requests[0], list(itertools.accumulate(len(read.data) for read in asked.exchange.reads))
    sent = [step.at - request.received_at for step in request.sent[1:]]
    for read, end in zip(asked.exchange.reads, ends, strict=True):
        assert read.at >= sent[(end - 1) // size]
        assert read.after is None or 0 <= read.after < read.at
    stamped = [asked.exchange.head.at, *(read.at for read in asked.exchange.reads), asked.exchange.end.at]
    assert stamped == sorted(stamped)
    assert (len(asked.body), asked.exchange.stamps) == (300 * size, stamps)


async def test_headers_have_the_stamp_of_their_last_packet(ask):
    script = [
        (0, b"HTTP/1.1 100 Continue\r\n\r\n"),
        (0.05, b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
        (0.05, b"HTTP/1.1 200 OK\r\nContent-"),
        (0.1, b"Length: 3\r\nX-A: 1\r\nx-a: 2\r\n\r\n"),
        (0.05, b"abc"),
    ]
    async with LlmServer(script) as server:
        asked = await ask(server.url)
    sent = [step.at - server.requests[0].received_at for step in server.requests[0].sent]
    assert sent[3] <= asked.exchange.head.at < sent[4] <= asked.exchange.reads[0].at
    assert asked.exchange.head.headers == {"content-length": "3", "x-a": "1, 2"}
    assert asked.exchange.head.status == 200


async def test_bytes_that_come_with_the_headers_share_their_stamp(ask):
    async with LlmServer([(0, SSE_HEAD + chunk(b"a")), (0.05, chunk(b"b") + LAST_CHUNK)]) as server:
        exchange = (await ask(server.url)).exchange
    assert exchange.reads[0].at == exchange.head.at
    assert exchange.reads[1].at == exchange.end.at


async def test_blank_lines_that_keep_a_json_body_alive_are_reads(ask):
    body = b'{"a": 1}'
    script = [(0, head(content_length=str(len(body) + 2))), (0.03, b"\n"), (0.03, b"\n"), (0.03, body)]
    async with LlmServer(script) as server:
        assert [read.data for read in (await ask(server.url)).exchange.reads] == [b"\n", b"\n", body]


async def test_times_before_the_request_are_apart(ask):
    async with LlmServer([(0.05, whole(b"x"))]) as server:
        exchange = (await ask(server.url)).exchange
        named = (await ask(server.url.replace("127.0.0.1", "localhost"))).exchange
    assert (exchange.dns_s, exchange.tls_s) == (None, None)
    assert exchange.connect_s > 0
    assert named.dns_s > 0
    assert exchange.head.at >= 0.05


class TestTheHook:
    """What `canary.client.connection` takes from aiohttp's private parts is still there."""

    async def test_aiohttp_still_makes_its_protocols_where_we_put_ours(self):
        connector = aiohttp.TCPConnector()
        assert connector._factory.func is ResponseHandler
        await connector.close()

    @linux
    async def test_every_read_of_an_answer_goes_through_it(self, ask):
        async with LlmServer([(0, SSE_HEAD), (0.01, chunk(b"a")), (0.01, LAST_CHUNK)]) as server:
            assert (await ask(server.url)).exchange.stamps is StampSource.KERNEL

    async def test_without_it_the_stamp_is_now_and_says_so(self):
        with lag.watch() as watch:
            attempt = Attempt(TARGET, Line(watch, want_kernel=True))
            attempt.hooked = True
            [(mark, data)] = attempt.cut(b"abc")
        assert (data, mark.end, attempt.stamps) == (b"abc", 3, StampSource.LOOP)


TARGET = Target(url="http://127.0.0.1/", protocol="openai-chat", headers={})


@pytest.mark.parametrize(
    ("marks", "handed", "pieces"),
    [
        pytest.param([3], [b"abc"], [(3, b"abc")], id="one to one"),
        pytest.param([1, 3], [b"abc"], [(1, b"a"), (3, b"bc")], id="two reads at once"),
        pytest.param([3], [b"a", b"bc"], [(3, b"a"), (3, b"bc")], id="one read in two parts"),
        pytest.param([2, 4], [b"abc", b"d"], [(2, b"ab"), (4, b"c"), (4, b"d")], id="across"),
        pytest.param([0, 2], [b"ab"], [(2, b"ab")], id="a read without body bytes"),
    ],
)
async def test_bytes_keep_the_mark_of_their_read(marks, handed, pieces):
    with lag.watch() as watch:
        attempt = Attempt(TARGET, Line(watch, want_kernel=False))
        for end in marks:
            attempt.mark(end)
        cut = [(mark.end, data) for data in handed for mark, data in attempt.cut(data)]
    assert cut == pieces
    assert isinstance(next(attempt.cut(b"more"))[0], Mark)


class TestLine:
    """The rules of a stamp, without a network."""

    async def line(self, seen_ns: int = 0) -> Line:
        class Seen:
            def __init__(self) -> None:
                self.seen_ns = seen_ns

        return Line(Seen(), want_kernel=True)

    async def test_a_stamp_from_just_before_the_socket_was_empty_is_moved_there(self):
        line = await self.line(seen_ns=time.monotonic_ns())
        line.received(time.monotonic_ns(), short=True, stamp=time.time_ns() - 50_000_000)
        line.used()
        assert line.stamp_ns == line.after_ns == line._watch.seen_ns
        assert line.kernel

    @pytest.mark.parametrize("step_s", [-3600, -1, 1, 3600])
    async def test_while_the_wall_clock_steps_the_stamp_is_now_and_says_so(self, step_s: int):
        line, before = await self.line(seen_ns=time.monotonic_ns()), time.monotonic_ns()
        line.received(before, short=True, stamp=time.time_ns() + step_s * 10**9)
        line.used()
        assert before <= line.stamp_ns <= time.monotonic_ns()
        assert not line.kernel

    async def test_a_read_that_filled_its_buffer_proves_nothing(self):
        line = await self.line()
        line.received(100, short=True, stamp=None)
        line.received(200, short=False, stamp=None)
        assert line.after_ns == 100
        line._watch.seen_ns = 10**6
        line.received(300, short=True, stamp=None)
        assert line.after_ns == 100
        line.received(400, short=True, stamp=None)
        assert line.after_ns == 10**6

    async def test_a_loop_that_bypasses_the_socket_is_told(self):
        line, before = await self.line(), time.monotonic_ns()
        line.used()
        assert (line.kernel, line.stamp_ns >= before) == (False, True)


class TestLag:
    async def test_a_block_is_measured(self):
        with lag.watch() as watch:
            await asyncio.sleep(2 * lag.PERIOD_S)
            time.sleep(0.1)  # noqa: ASYNC251  # the block
            await asyncio.sleep(lag.PERIOD_S)
        assert 0.1 - 2 * lag.PERIOD_S < watch.worst_s < 1

    async def test_a_block_that_is_not_over_counts(self):
        with lag.watch() as watch:
            time.sleep(0.1)  # noqa: ASYNC251
            assert watch.settle() >= 0.1 - 2 * lag.PERIOD_S

    async def test_the_past_of_another_watch_does_not_count(self):
        with lag.watch() as first:
            time.sleep(0.1)  # noqa: ASYNC251
            await asyncio.sleep(0.01)
            with lag.watch() as second:
                pass
        assert first.worst_s > 0.05 > second.worst_s

    async def test_nobody_watches_nothing_ticks(self):
        with lag.watch() as watch:
            ticker = watch._ticker
            assert ticker._handle is not None
        assert ticker._handle is None

    async def test_its_proof_is_as_old_as_the_tick_before_the_last(self):
        with lag.watch() as watch:
            moments = []
            for _ in range(6):
                moments.append((watch.seen_ns, time.monotonic_ns()))
                await asyncio.sleep(lag.PERIOD_S)
        assert all(seen < now for seen, now in moments)
        assert 0 < moments[-2][0] < moments[-1][0]
