import asyncio
import signal
import sys

import pytest

from tests.fakes.llm_server import SSE_HEAD, LlmServer, chunk, delta

THINKING = [(0.0, SSE_HEAD), (0.0, chunk(delta(reasoning="hm")))]  # and then nothing, with the connection open
ASK = ("--model", "m", "--prompt", "Why?")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_a_run_at_once_and_quietly(sent: signal.Signals):
    async with LlmServer(THINKING) as server, asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "canary", "probe", "--url", server.url, *ASK),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await server.arrived.wait()
        process.send_signal(sent)
        out, err = await process.communicate()
        await server.requests[0].gone.wait()  # so the engine stops working for nobody
    assert (process.returncode, out, err) == (130, b"", b"")
