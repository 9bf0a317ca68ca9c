"""An nginx look-alike with `proxy_buffering off`: bytes in, bytes out, and `proxy_read_timeout` between two reads.

Before the headers the timeout is a 504 page; in the body the connection is closed without HTTP's last chunk.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from aiohttp import ClientResponse

from canary.demo.server import Below, Unreachable, body_of
from canary.demo.stream import Answer, Call, Cut, EndKind, Serve, Stream, pieces, timed

SERVER = "nginx/1.22.1"
_PASSED_ON = ("content-type", "content-encoding", "retry-after", "x-litellm-version")
_REASONS = {502: "Bad Gateway", 504: "Gateway Time-out"}


def edge(below: Below, *, read_timeout_s: float) -> Serve:
    async def serve(call: Call) -> Answer:
        try:
            async with asyncio.timeout(read_timeout_s):
                response = await below.ask(call, call.body)
        except TimeoutError:
            return error_page(504)
        except Unreachable:
            return error_page(502)
        headers = {name: response.headers[name] for name in _PASSED_ON if name in response.headers}
        stream = _bytes(response, read_timeout_s)
        return Answer(status=response.status, headers={**headers, "server": SERVER}, stream=stream)

    return serve


def error_page(status: int) -> Answer:
    """The page of an nginx that has no answer to pass on."""
    title = f"{status} {_REASONS[status]}"
    page = (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
        f"<hr><center>{SERVER}</center>\r\n</body>\r\n</html>\r\n"
    )
    return Answer(status=status, headers={"content-type": "text/html", "server": SERVER}, stream=pieces(page.encode()))


async def _bytes(response: ClientResponse, read_timeout_s: float) -> Stream:
    loop = asyncio.get_running_loop()
    last = loop.time()
    async with aclosing(timed(body_of(response), lambda: last + read_timeout_s)) as stream:
        async for piece in stream:
            if piece is None:
                raise Cut(EndKind.FIN)
            yield piece
            last = loop.time()
