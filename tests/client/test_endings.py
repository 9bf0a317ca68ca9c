"""Every way to end, by phase, over real sockets."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from canary.client.endings import Failure, ending
from canary.client.target import Limits
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Interrupted,
    Phase,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import BytesReceived, HeadersReceived
from tests.fakes.llm_server import (
    LAST_CHUNK,
    SSE_HEAD,
    SSE_HEAD_UNTIL_CLOSE,
    Cut,
    LlmServer,
    chunk,
    head,
    in_thread,
    reset,
    whole,
)

ABC = chunk(b"abc")
HALF_HEAD = b"HTTP/1.1 200 OK\r\nContent-"
SHORT = Limits(deadline_s=0.15, max_bytes=1_000_000, connect_timeout_s=10)


def about(end):
    """What of an end does not depend on time."""
    return type(end), getattr(end, "phase", None), getattr(end, "detail", "")


@pytest.mark.parametrize(
    ("script", "end", "body"),
    [
        pytest.param([(0, SSE_HEAD), (0.01, ABC), (0.01, LAST_CHUNK)], (Completed, None, ""), b"abc", id="chunked"),
        pytest.param([(0, SSE_HEAD + ABC + LAST_CHUNK)], (Completed, None, ""), b"abc", id="all in one write"),
        pytest.param([(0, whole(b"abc"))], (Completed, None, ""), b"abc", id="content-length"),
        pytest.param(
            [(0, SSE_HEAD + ABC), (0.01, LAST_CHUNK + b"junk")], (Completed, None, ""), b"abc", id="junk after the body"
        ),
        pytest.param([(0, head(204))], (Completed, None, ""), b"", id="no body"),
        pytest.param([(0, whole(b""))], (Completed, None, ""), b"", id="empty body"),
        pytest.param(
            [(0, SSE_HEAD_UNTIL_CLOSE), (0.01, b"abc"), (0.01, Cut.FIN)],
            (Completed, None, ""),
            b"abc",
            id="until close",
        ),
        pytest.param(
            [(0, head(version="1.0")), (0.01, b"abc"), (0.01, Cut.FIN)], (Completed, None, ""), b"abc", id="http/1.0"
        ),
        pytest.param([(0, whole(b"abc")), (0, Cut.RST)], (Completed, None, ""), b"abc", id="rst after the end"),
        pytest.param(
            [(0, SSE_HEAD), (0.01, ABC), (0.01, Cut.FIN)],
            (Truncated, None, "closed before the message was complete"),
            b"abc",
            id="fin between chunks",
        ),
        pytest.param(
            [(0, SSE_HEAD + ABC), (0, Cut.FIN)],
            (Truncated, None, "closed before the message was complete"),
            b"abc",
            id="fin at once",
        ),
        pytest.param(
            [(0, SSE_HEAD + b"a\r\nabc"), (0.01, Cut.FIN)],
            (Truncated, None, "closed before the message was complete"),
            b"abc",
            id="fin inside a chunk",
        ),
        pytest.param(
            [(0, head(content_length="10") + b"abc"), (0.01, Cut.FIN)],
            (Truncated, None, "closed before the message was complete"),
            b"abc",
            id="fin short of content-length",
        ),
        pytest.param(
            [(0, SSE_HEAD), (0.01, ABC), (0.01, Cut.RST)],
            (Disconnected, Phase.BODY, "Connection reset by peer"),
            b"abc",
            id="rst in a chunked body",
        ),
        pytest.param(
            [(0, head(content_length="10") + b"abc"), (0.01, Cut.RST)],
            (Disconnected, Phase.BODY, "Connection reset by peer"),
            b"abc",
            id="rst short of content-length",
        ),
        pytest.param(
            [(0, SSE_HEAD_UNTIL_CLOSE), (0.01, b"abc"), (0.01, Cut.RST)],
            (Disconnected, Phase.BODY, "Connection reset by peer"),
            b"abc",
            id="rst until close",
        ),
        pytest.param(
            [(0, Cut.FIN)], (Disconnected, Phase.HEADERS, "closed before the response"), b"", id="fin before headers"
        ),
        pytest.param(
            [(0, HALF_HEAD), (0.01, Cut.FIN)],
            (Disconnected, Phase.HEADERS, "closed before the response"),
            b"",
            id="fin in headers",
        ),
        pytest.param(
            [(0, b"HTTP/1.1 100 Continue\r\n\r\n"), (0.01, Cut.FIN)],
            (Disconnected, Phase.HEADERS, "closed before the response"),
            b"",
            id="fin after an interim response",
        ),
        pytest.param(
            [(0, Cut.RST)], (Disconnected, Phase.HEADERS, "Connection reset by peer"), b"", id="rst before headers"
        ),
        pytest.param(
            [(0, HALF_HEAD), (0.01, Cut.RST)],
            (Disconnected, Phase.HEADERS, "Connection reset by peer"),
            b"",
            id="rst in headers",
        ),
        pytest.param(
            [(0, SSE_HEAD), (0.01, ABC), (0.01, b"zz\r\n")],
            (Disconnected, Phase.BODY, "malformed HTTP: Invalid character in chunk size: b'zz' ^"),
            b"abc",
            id="no chunk size",
        ),
    ],
)
async def test_how_an_answer_ends(ask, script, end, body):
    async with LlmServer(script) as server:
        asked = await ask(server.url)
    assert (end, body) == (about(asked.exchange.end), asked.body)
    assert asked.exchange.end.at >= max((read.at for read in asked.exchange.reads), default=0.0)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x16", id="a tls alert"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", id="a bad header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", id="a bad length"),
    ],
)
async def test_bytes_that_are_not_http(ask, first):
    async with LlmServer([(0, first)]) as server:
        end = (await ask(server.url)).exchange.end
    assert (Disconnected, Phase.HEADERS) == about(end)[:2]
    assert end.detail.startswith("malformed HTTP: ")


async def test_the_end_of_a_body_has_the_stamp_of_the_read_that_completed_it(ask):
    async with LlmServer([(0, SSE_HEAD), (0.02, ABC), (0.03, LAST_CHUNK)]) as server:
        exchange = (await ask(server.url)).exchange
    sent = server.requests[0].sent
    assert exchange.end.at - exchange.reads[0].at == pytest.approx(sent[2].at - sent[1].at, abs=0.02)


@pytest.mark.parametrize("cut", [Cut.RST, Cut.FIN])
async def test_bytes_before_a_cut_are_kept_when_our_loop_was_late(ask, cut):
    script = [(0, SSE_HEAD), (0.0, chunk(b"first")), (0.03, chunk(b"second")), (0.02, cut)]
    with in_thread(LlmServer(script)) as server:
        blocked = []

        def block(event):
            if isinstance(event, BytesReceived) and not blocked:
                blocked.append(time.sleep(0.15))

        asked = await ask(server.url, stop=block)
    assert asked.body == b"firstsecond"
    assert isinstance(asked.exchange.end, Disconnected if cut is Cut.RST else Truncated)


async def test_an_unknown_name(ask):
    end = (await ask("http://no-such-host.invalid/v1")).exchange.end
    assert (ConnectFailed, Phase.DNS) == about(end)[:2]
    assert end.detail


async def test_a_name_that_cannot_be_a_name(ask):
    end = (await ask(f"http://{'a' * 70}.invalid/v1")).exchange.end
    assert (ConnectFailed, Phase.DNS) == about(end)[:2]


async def test_a_refused_connection(ask):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        exchange = (await ask(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")).exchange
    assert (ConnectFailed, Phase.CONNECT) == about(exchange.end)[:2]
    assert "refused" in exchange.end.detail.lower()
    assert (exchange.head, exchange.reads, exchange.connect_s) == (None, (), None)


@pytest.fixture
def deaf():
    """A listener whose queue is full: it drops what knocks, as a firewall does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(2)]
        for knock in waiting:
            knock.setblocking(False)
            knock.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        for knock in waiting:
            knock.close()


async def test_a_connect_timeout(ask, deaf):
    limits = Limits(deadline_s=20, max_bytes=1000, connect_timeout_s=0.1)
    end = (await ask(deaf, limits=limits)).exchange.end
    assert (ConnectFailed, Phase.CONNECT, "no connection in time") == about(end)
    assert end.at >= 0.1


async def test_a_deadline_while_connecting(ask, deaf):
    exchange = (await ask(deaf, limits=SHORT)).exchange
    assert (DeadlineExceeded, Phase.CONNECT) == about(exchange.end)[:2]
    assert exchange.end.at >= SHORT.deadline_s


async def test_a_deadline_in_the_handshake(ask):
    async with LlmServer() as server:  # it answers nothing, least of all a hello
        url = server.url.replace("http:", "https:")
        end = (await ask(url, limits=SHORT)).exchange.end
    assert (DeadlineExceeded, Phase.TLS) == about(end)[:2]


async def test_a_deadline_while_sending(ask):
    listener = await asyncio.start_server(lambda _r, w: held.append(w), "127.0.0.1", 0, limit=1)
    held: list[asyncio.StreamWriter] = []
    async with listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        end = (await ask(url, body={"x": "y" * 20_000_000}, limits=Limits(**_as(SHORT, deadline_s=1.0)))).exchange.end
        for writer in held:
            reset(writer)
    assert (DeadlineExceeded, Phase.SEND) == about(end)[:2]


def _as(limits: Limits, **changed):
    return {name: changed.get(name, getattr(limits, name)) for name in ("deadline_s", "max_bytes", "connect_timeout_s")}


async def test_a_reset_while_sending(ask):
    def reset_soon(_reader, writer):
        asyncio.get_running_loop().call_later(0.1, reset, writer)

    listener = await asyncio.start_server(reset_soon, "127.0.0.1", 0, limit=1)
    async with listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        end = (await ask(url, body={"x": "y" * 20_000_000})).exchange.end
    assert (Disconnected, Phase.SEND) == about(end)[:2]


@pytest.mark.parametrize(
    ("script", "phase"),
    [
        pytest.param([], Phase.HEADERS, id="headers"),
        pytest.param([(0, HALF_HEAD)], Phase.HEADERS, id="half the headers"),
        pytest.param([(0, b"HTTP/1.1 100 Continue\r\n\r\n")], Phase.HEADERS, id="only an interim response"),
        pytest.param([(0, SSE_HEAD)], Phase.BODY, id="body"),
        pytest.param([(0, SSE_HEAD), *[(0.01, ABC)] * 100], Phase.BODY, id="a body that goes on"),
    ],
)
async def test_a_deadline_after_sending(ask, script, phase):
    async with LlmServer(script) as server:
        end = (await ask(server.url, limits=SHORT)).exchange.end
        await server.requests[0].gone.wait()
    assert (DeadlineExceeded, phase) == about(end)[:2]
    assert SHORT.deadline_s / 2 < end.at < 10 * SHORT.deadline_s


async def test_the_first_reason_stops_and_closes_at_once(ask):
    seen = []

    def stop(event):
        seen.append(event)
        return "enough" if isinstance(event, BytesReceived) and len(seen) > 2 else None

    async with LlmServer([(0, SSE_HEAD), *[(0.01, ABC)] * 500]) as server:
        asked = await ask(server.url, stop=stop)
        await asyncio.wait_for(server.requests[0].gone.wait(), 5)
        assert len(server.requests[0].sent) < 100
    assert (StoppedByUs, "enough") == (type(asked.exchange.end), asked.exchange.end.reason)
    assert list(asked.events) == seen
    assert len(asked.exchange.reads) == 2


async def test_a_reason_at_the_headers(ask):
    async with LlmServer([(0, SSE_HEAD)]) as server:
        asked = await ask(server.url, stop=lambda event: "no" if isinstance(event, HeadersReceived) else None)
        await asyncio.wait_for(server.requests[0].gone.wait(), 5)
    assert (asked.exchange.end.reason, asked.exchange.reads) == ("no", ())


async def test_the_byte_cap(ask):
    limits = Limits(deadline_s=20, max_bytes=1000, connect_timeout_s=10)
    async with LlmServer([(0, SSE_HEAD), *[(0.001, chunk(b"x" * 100))] * 50]) as server:
        asked = await ask(server.url, limits=limits)
        await asyncio.wait_for(server.requests[0].gone.wait(), 5)
    assert asked.exchange.end.reason == "byte cap of 1000 bytes"
    assert 900 <= len(asked.body) <= 1000


@pytest.mark.parametrize(
    ("script", "reads"),
    [
        pytest.param([], 0, id="before the headers"),
        pytest.param([(0, SSE_HEAD), (0, ABC)], 1, id="in the body"),
    ],
)
async def test_cancelled_it_returns_what_it_has(ask, script, reads):
    async with LlmServer(script) as server:
        reading = asyncio.Event()
        task = asyncio.create_task(
            ask(server.url, stop=lambda e: reading.set() if isinstance(e, BytesReceived) else None)
        )
        await (reading.wait() if reads else server.arrived.wait())
        task.cancel()
        asked = await task
        await asyncio.wait_for(server.requests[0].gone.wait(), 5)
    assert (Interrupted, reads) == (type(asked.exchange.end), len(asked.exchange.reads))
    assert task.cancelling() == 1


async def test_a_deadline_from_outside_still_works_around_it(ask):
    async with LlmServer([(0, SSE_HEAD)]) as server:
        async with asyncio.timeout(0.1) as timeout:
            asked = await ask(server.url)
        assert timeout.expired()
    assert isinstance(asked.exchange.end, Interrupted)


async def test_a_bug_of_ours_is_not_an_ending(ask):
    def broken(_event):
        msg = "a bug"
        raise ZeroDivisionError(msg)

    async with LlmServer([(0, SSE_HEAD)]) as server:
        with pytest.raises(ZeroDivisionError):
            await ask(server.url, stop=broken)


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError(), KeyError("x"), RuntimeError("x"), ValueError("x")],
    ids=lambda error: type(error).__name__,
)
def test_what_no_row_names_is_not_translated(error):
    failure = Failure(error=error, at=1.0, phase=Phase.BODY, closed_in_order=False, broken=None)
    assert ending(failure) is None
