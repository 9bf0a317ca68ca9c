"""Real HTTP around a demo hop: the listening side, and the client by which it reads the hop below.

A client that leaves cancels the handler, which closes the generators and with them the connection below, and so on
down to the engine: a real pipeline stops generating for nobody. At shutdown the requests in flight are cancelled
first, because aiohttp would wait for each of them twice and then leave without it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web

from canary.core.observation import Json
from canary.demo.chunks import error_object
from canary.demo.stream import Answer, Call, Cut, EndKind, Serve, Stream, document

Page: TypeAlias = Json | Callable[[], str]
"""JSON as it stands, or text made anew for each reader."""

CHAT_PATH = "/v1/chat/completions"
_MAX_BODY_BYTES = 64 * 2**20  # a long-context prompt
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s
_GRACE_S = 1.0


class Unreachable(Exception):  # noqa: N818  # a fact about the hop below
    """The hop below could not be asked, or closed before it answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """The hop below, as its client sees it."""

    session: ClientSession
    base: str

    async def ask(self, call: Call, body: Json) -> ClientResponse:
        """The response as soon as its headers are there; it lives as long as the call."""
        asking = self.session.post(self.base + CHAT_PATH, json=body)
        try:
            return await call.resources.enter_async_context(asking)
        except (ClientError, ConnectionError) as error:
            raise Unreachable(str(error)) from error


@asynccontextmanager
async def below(base: str, *, inflate: bool = True) -> AsyncIterator[Below]:
    """A client of the hop at `base`, on a new connection for each request. `inflate`: undo compression."""
    headers = {"Accept-Encoding": "identity"}
    session = ClientSession(
        connector=TCPConnector(force_close=True, limit=0),
        timeout=ClientTimeout(total=None, sock_connect=5.0),
        headers=headers,
        auto_decompress=inflate,
    )
    async with session:
        yield Below(session=session, base=base)


async def body_of(response: ClientResponse) -> Stream:
    """The body, read by read. Raises Cut where the connection broke."""
    try:
        async for piece in response.content.iter_any():
            yield piece
    except (ClientError, ConnectionError) as error:
        raise Cut(EndKind.FIN) from error


@asynccontextmanager
async def served(serve: Serve, pages: Mapping[str, Page]) -> AsyncGenerator[str, None]:
    """The base URL of a server on a free loopback port: `serve` under the chat path, `pages` for GET."""
    in_flight: set[asyncio.Task[object]] = set()

    async def chat(request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover  # a coroutine always runs in one
            raise RuntimeError("no current task")
        in_flight.add(task)
        task.add_done_callback(in_flight.discard)
        async with AsyncExitStack() as resources:
            body = _json(await request.read())
            if body is None:
                return await _send(request, _not_json())
            try:
                answer = await serve(Call(body=body, resources=resources))
            except Cut as cut:  # before any answer
                _sever(request.transport, cut.kind)
                return web.Response()
            return await _send(request, answer)

    app = web.Application(client_max_size=_MAX_BODY_BYTES)
    app.router.add_post(CHAT_PATH, chat)
    for path, page in pages.items():
        app.router.add_get(path, _page(page))
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=_GRACE_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        for task in in_flight:
            task.cancel()
        await runner.cleanup()


def _page(content: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text=content()) if callable(content) else web.json_response(content)

    return page


def _json(raw: bytes) -> Json | None:
    try:
        body = json.loads(raw)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _not_json() -> Answer:
    return document(error_object("the body is not a JSON object", code=400, kind="BadRequestError"), status=400)


async def _send(request: web.Request, answer: Answer) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    async with aclosing(answer.stream) as stream:
        await response.prepare(request)
        try:
            async for piece in stream:
                await response.write(piece)
        except Cut as cut:
            _sever(request.transport, cut.kind)
            return response
        except ConnectionError:  # the client left between two writes
            return response
    return response


def _sever(transport: asyncio.Transport | None, kind: EndKind) -> None:
    """Break the connection off. aiohttp then finds its transport closing, and adds no last chunk."""
    if transport is None:
        return
    if kind is EndKind.FIN:
        transport.close()
        return
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    transport.abort()
