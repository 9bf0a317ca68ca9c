"""A plain client for the demo servers: what came over the wire, taken apart with nothing of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import ClientPayloadError, ClientResponse, ClientSession, ClientTimeout

PROMPT = "How many primes are below one hundred?"


@dataclass(kw_only=True)
class Seen:
    """One answer. `end`: complete or broken. Times in seconds from the request."""

    status: int
    headers: dict[str, str]
    headers_at: float
    raw: bytes = b""
    end: str = "complete"
    blocks: list[str] = field(default_factory=list)

    @property
    def chunks(self) -> list[dict]:
        if not self.headers["content-type"].startswith("text/event-stream"):
            return [json.loads(self.raw)]
        return [json.loads(block[5:]) for block in self.blocks if block.startswith("data: {")]

    def parts(self) -> list[dict]:
        return [c.get("delta", c.get("message")) for chunk in self.chunks for c in chunk.get("choices", ())]

    def text(self, *names: str) -> str:
        return "".join(part.get(name) or "" for part in self.parts() for name in names)

    @property
    def reasoning(self) -> str:
        return self.text("reasoning", "reasoning_content")

    @property
    def content(self) -> str:
        return self.text("content")

    @property
    def finish(self) -> str | None:
        found = [c.get("finish_reason") for chunk in self.chunks for c in chunk.get("choices", ())]
        return next((reason for reason in found if reason), None)

    @property
    def usage(self) -> dict | None:
        return next((chunk["usage"] for chunk in reversed(self.chunks) if chunk.get("usage")), None)

    @property
    def error(self) -> dict | None:
        return next((chunk["error"] for chunk in self.chunks if "error" in chunk), None)

    @property
    def done(self) -> bool:
        return "data: [DONE]" in self.blocks


def body(hop, **extra) -> dict:
    """A streamed request for usage, unless `extra` says otherwise; a None takes a key away."""
    asked = {
        "model": hop.model,
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return {name: value for name, value in {**asked, **extra}.items() if value is not None}


@asynccontextmanager
async def asking(hop, **extra) -> AsyncIterator[ClientResponse]:
    """The open response; leaving closes the connection."""
    headers = {"Accept-Encoding": "identity"}
    async with (
        ClientSession(timeout=ClientTimeout(total=60), headers=headers) as session,
        session.post(hop.url, json=body(hop, **extra)) as response,
    ):
        yield response


async def ask(hop, **extra) -> Seen:
    """The whole answer, however it ended."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asking(hop, **extra) as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        seen = Seen(status=response.status, headers=headers, headers_at=loop.time() - began)
        try:
            async for piece in response.content.iter_any():
                seen.raw += piece
        except (ClientPayloadError, ConnectionError):
            seen.end = "broken"
    seen.blocks = [block for block in seen.raw.decode().split("\n\n") if block]
    return seen


async def ask_unread(hop, **extra) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An open connection on which the request was sent and nothing was read."""
    url = urlsplit(hop.url)
    payload = json.dumps(body(hop, **extra)).encode()
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f"POST {url.path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(payload)}\r\n".encode())
    writer.write(b"Connection: close\r\n\r\n" + payload)
    return reader, writer


async def read_to_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bytes, str]:
    """All bytes of the answer, framing included, and how the socket ended: `fin` or `rst`."""
    got, end = b"", "fin"
    try:
        while piece := await reader.read(65536):
            got += piece
    except ConnectionResetError:
        end = "rst"
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return got, end


async def ask_raw(hop, **extra) -> tuple[bytes, str]:
    return await read_to_end(*await ask_unread(hop, **extra))
