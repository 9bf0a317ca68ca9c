"""A hop below that says what a test has scripted, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from canary.core.spec import Hop
from canary.demo.chunks import event
from canary.demo.server import CHAT_PATH, below, served
from canary.demo.stream import EVENT_STREAM, Answer, Call, Cut, EndKind

BROKEN = object()  # a step of a script: the connection breaks here


@dataclass(kw_only=True)
class Upstream:
    """`script`: bytes to send, an event to wait for, or BROKEN. `left` is set when the reader is gone."""

    script: tuple = ()
    status: int = 200
    headers: dict = field(default_factory=lambda: dict(EVENT_STREAM))
    delay_headers: asyncio.Event | None = None
    asked: list = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, call: Call) -> Answer:
        self.asked.append(call.body)
        call.resources.callback(self.left.set)
        if self.delay_headers is not None:
            await self.delay_headers.wait()
        return Answer(status=self.status, headers=self.headers, stream=self._play())

    async def _play(self):
        for step in self.script:
            if step is BROKEN:
                raise Cut(EndKind.FIN)
            if isinstance(step, asyncio.Event):
                await step.wait()
            else:
                yield step


@asynccontextmanager
async def above(upstream: Upstream | str, make, *, inflate: bool = True):
    """A hop over `upstream`, or over a base URL: `make(below)` gives its `Serve`. Yields the hop as a spec."""
    async with AsyncExitStack() as stack:
        base = upstream
        if isinstance(upstream, Upstream):
            base = await stack.enter_async_context(served(upstream, {}))
        reader = await stack.enter_async_context(below(base, inflate=inflate))
        url = await stack.enter_async_context(served(make(reader), {}))
        yield Hop(name="hop", url=url + CHAT_PATH, model="alias")


def chunk(**delta) -> bytes:
    return event_of({"delta": delta, "index": 0, "finish_reason": None})


def finish(reason: str = "stop") -> bytes:
    return event_of({"delta": {}, "index": 0, "finish_reason": reason})


def event_of(choice: dict, **more) -> bytes:
    return event(
        {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    )
