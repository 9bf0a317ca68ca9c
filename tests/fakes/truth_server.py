"""A process that streams `<nanoseconds>\\n` events: each says when it was sent, on the machine's monotonic clock.

Run as a script; it prints its port. The request body `{"events": 60, "every_s": 0.05}` says how many events and how far
apart. The stamp is taken right before `send`, so a late server is no error of the client.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, read_request


async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        wanted: dict[str, Any] = (await read_request(reader)).json
        writer.write(SSE_HEAD)
        for _ in range(wanted["events"]):
            await asyncio.sleep(wanted["every_s"])
            writer.write(b"14\r\n%019d\n\r\n" % time.monotonic_ns())
        writer.write(LAST_CHUNK)
        await reader.read()
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(stream, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until whoever started it is gone
    os._exit(0)  # with its streams still open


if __name__ == "__main__":
    asyncio.run(main())
