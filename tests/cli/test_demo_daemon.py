"""`canary demo` without `--once`: the daemon on the built-in pipeline, as a process of its own."""

import asyncio
import signal
import sys

import aiohttp
import pytest

pytestmark = pytest.mark.alone


async def test_it_finds_the_incident_shows_metrics_and_leaves_on_ctrl_c():
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "canary", "demo", "--scale", "0.05", "--listen", "127.0.0.1:0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            first = (await process.stdout.readline()).decode()
            url = first.split("metrics: ")[1].split()[0]
            while b"CRITICAL streaming reasoning_stripped" not in await process.stdout.readline():
                pass
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                metrics = await response.text()
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    assert process.returncode == 0, err
    assert "canary_verdicts_total{" in metrics
    assert err == b""
