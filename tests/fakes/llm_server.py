"""A scripted HTTP server that says exactly the bytes it is told, when it is told, and remembers when it said them.

    async with LlmServer([(0.0, SSE_HEAD), (0.1, chunk(sse({"a": 1}))), (0.0, Cut.RST)]) as server:
        ...  # server.url, server.requests[0].sent

A script is a sequence of `(delay, action)`. A delay is seconds, or an event to wait for. After the last step the
connection stays open until the client closes it. A script may also be a function of the request.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self, TypeAlias


class Cut(Enum):
    RST = "rst"  # at once, whatever is still to be sent
    FIN = "fin"  # in order; over TLS with close_notify


Step: TypeAlias = tuple[float | asyncio.Event, bytes | Cut]


@dataclass(frozen=True, slots=True)
class Sent:
    at: float  # time.monotonic() just before the bytes went out
    data: bytes


@dataclass(slots=True, kw_only=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]  # lower-case names
    body: bytes
    received_at: float  # time.monotonic() when the whole request was there
    sent: list[Sent] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # the client closed, or reset, the connection

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script: TypeAlias = Sequence[Step] | Callable[[Request], Sequence[Step]]


class LlmServer:
    def __init__(self, script: Script = (), *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.arrived = asyncio.Event()  # the first request is there
        self._script, self._tls, self._host = script, tls, host
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        host = "localhost" if self._tls else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}/v1/chat/completions"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, self._host, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        self.requests.append(request)
        self.arrived.set()
        steps = self._script(request) if callable(self._script) else self._script
        play = asyncio.create_task(_play(steps, request, writer))
        try:
            with suppress(ConnectionError, ssl.SSLError):
                while await reader.read(65536):
                    pass
            if not play.done() or play.exception() or not play.result():  # an exception: it went while we wrote
                request.gone.set()
        finally:
            play.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await play


async def read_request(reader: asyncio.StreamReader) -> Request:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method=method, target=target, headers=headers, body=body, received_at=time.monotonic())


async def _play(steps: Sequence[Step], request: Request, writer: asyncio.StreamWriter) -> bool:
    """True = the script itself closed the connection."""
    for delay, action in steps:
        if isinstance(delay, asyncio.Event):
            await delay.wait()
        elif delay:
            await asyncio.sleep(delay)
        if action is Cut.FIN:
            writer.close()
            return True
        if action is Cut.RST:
            reset(writer)
            return True
        request.sent.append(Sent(time.monotonic(), action))
        writer.write(action)
        await writer.drain()
    return False


def reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def in_thread(server: LlmServer) -> Iterator[LlmServer]:
    """The server on a loop of its own, so that it goes on while the test blocks its loop."""
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with server:
            loops.append(asyncio.get_running_loop())
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


def head(status: int = 200, /, *, version: str = "1.1", **headers: str) -> bytes:
    """`head(200, content_type="text/plain")`: a response header block."""
    lines = [f"HTTP/{version} {status} Whatever", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"
SSE_HEAD = head(content_type="text/event-stream", transfer_encoding="chunked")
SSE_HEAD_UNTIL_CLOSE = head(content_type="text/event-stream", connection="close")
DONE = b"data: [DONE]\n\n"


def sse(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(*, finish: str | None = None, **fields: str) -> bytes:
    """`delta(reasoning_content="hm")`, `delta(content="4")`, `delta(finish="stop")`: one chat chunk as an SSE event."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake", "choices": [choice]})


def whole(body: bytes, status: int = 200, /, **headers: str) -> bytes:
    """A whole response with its length."""
    return head(status, content_length=str(len(body)), **headers) + body
