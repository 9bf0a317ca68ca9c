"""How far stamps are from the truth, next to a plain aiohttp loop in the same run, and what an open stream costs.

    pytest -m bench -s tests/bench/test_stamps.py

Absolute numbers belong to the machine; only ratios within one run are asserted.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from canary.client.exchange import exchange
from canary.client.reader import Reader
from canary.client.target import Limits, Target
from canary.core.observation import Completed, Head, Read, StampSource
from canary.core.stream import StreamEvent

pytestmark = pytest.mark.bench
SERVER = Path(__file__).parents[1] / "fakes" / "truth_server.py"
LIMITS = Limits(deadline_s=60, max_bytes=1_000_000, connect_timeout_s=30)
STARTED_AT = datetime(2026, 1, 2, tzinfo=UTC)


SHARED = [0]  # per run, for the printout


class Mute:
    def head(self, _head: Head) -> list[StreamEvent]:
        return []

    def feed(self, _read: Read) -> list[StreamEvent]:
        return []

    def close(self, _at: float) -> list[StreamEvent]:
        return []


class Errors(Reader):
    """Compares each read's stamp with what its events say of themselves."""

    def __init__(self) -> None:
        super().__init__(decoder=Mute, max_bytes=LIMITS.max_bytes)
        self.errors_ns: list[int] = []
        self.shared = 0  # events stamped with a later one of the same read: a machine that was busy; `after` says so

    def read(self, mark: Any, data: bytes, at: Callable[[int], float]) -> str | None:
        sent_ns = [int(line) for line in data.split()]
        self.errors_ns += [mark.at_ns - sent for sent in sent_ns]
        self.shared += len(sent_ns) - 1
        return super().read(mark, data, at)


@pytest.fixture
def url():
    with subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
        server.stdin.close()


async def ours(url: str, body: Any, stamps: StampSource = StampSource.KERNEL) -> list[int]:
    reader = Errors()
    target = Target(url=url, protocol="openai-chat", headers={})
    seen = await exchange(target, body, reader, limits=LIMITS, started_at=STARTED_AT, stamps=stamps)
    assert (type(seen.end), seen.stamps) == (Completed, stamps)
    SHARED[0] += reader.shared
    return reader.errors_ns


async def plain(url: str, body: Any) -> list[int]:
    errors_ns = []
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        async for data in response.content.iter_any():
            now = time.monotonic_ns()
            errors_ns += [now - int(line) for line in data.split()]
    return errors_ns


async def run(
    one: Callable[..., Coroutine[Any, Any, list[int]]], url: str, streams: int
) -> tuple[list[int], list[int]]:
    """Sorted errors of the first events, and of all; starts are spread over a second."""

    async def later(delay_s: float) -> list[int]:
        await asyncio.sleep(delay_s)
        return await one(url, {"events": 40, "every_s": 0.05})

    found = await asyncio.gather(*(later(n / streams) for n in range(streams)))
    return sorted(errors[0] for errors in found), sorted(error for errors in found for error in errors)


def at(errors_ns: list[int], share: float) -> float:
    """A percentile in microseconds."""
    return errors_ns[min(len(errors_ns) - 1, int(len(errors_ns) * share))] / 1000


@pytest.mark.parametrize("streams", [1, 10, 50, 200])
async def test_stamps_against_the_truth(url, streams):
    SHARED[0] = 0
    results = {"kernel": await run(ours, url, streams), "iter_any": await run(plain, url, streams)}
    print(f"\n{SHARED[0]} of {40 * streams} events share a read with a later one; load {os.getloadavg()[0]:.1f}")
    for name, (first, every) in results.items():
        print(
            f"N={streams:<4} {name:<9} first p50 {at(first, 0.5):8.0f} us  p99 {at(first, 0.99):8.0f} us"
            f"   all p50 {at(every, 0.5):8.0f} us  p99 {at(every, 0.99):8.0f} us  min {every[0] / 1000:6.1f} us"
        )
    kernel, naive = results["kernel"][1], results["iter_any"][1]
    assert kernel[0] >= 0
    assert at(kernel, 0.5) < at(naive, 0.5)
    assert len(kernel) == len(naive) == 40 * streams


async def test_memory_of_an_open_stream(url):
    """Python's own memory; the kernel's socket buffers and OpenSSL's come on top, for everybody."""
    streams, grown = 200, {}
    for name, one in (("iter_any", plain), ("ours", ours)):
        await one(url, {"events": 1, "every_s": 0.01})
        tracemalloc.start()
        tasks = [asyncio.create_task(one(url, {"events": 2, "every_s": 3.0})) for _ in range(streams)]
        await asyncio.sleep(4.5)  # all are open and have had their first event
        grown[name] = tracemalloc.get_traced_memory()[0] / streams
        tracemalloc.stop()
        await asyncio.gather(*tasks)
        print(f"\n{name}: {grown[name] / 1000:.1f} kB for each of {streams} open streams")
    assert grown["ours"] < 3 * grown["iter_any"]
