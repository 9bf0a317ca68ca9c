"""What it costs to save a run and to look back, with few and with many runs stored before.

    pytest -m bench -s tests/bench/test_store.py

Absolute numbers belong to the machine; only ratios within one run are asserted.
"""

import asyncio
import os
import time
from itertools import pairwise
from statistics import median

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.verdict import Status
from canary.store import open_store
from tests.fakes.stored import NOTHING, after, conclusion_of, fill, result_of, run_of

pytestmark = pytest.mark.bench
FEW, MANY = 1000, 100_000
HOPS = ("edge", "agent", "litellm", "vllm", "engine")
STREAMS = ("edge-nginx-buffers", "edge-agent-strips-reasoning", "litellm-chat-unbudgeted", "vllm-chat-unbudgeted")


def real_run(name, status=None, at=None):
    """Five hops, each a real stream."""
    names = (*STREAMS, "vllm-0.22.1-chat-unbudgeted")
    results = tuple(result_of(each, hop=hop, status=status) for each, hop in zip(names, HOPS, strict=True))
    return run_of(name, at or after(days=900), results=results)


async def timed(times, ask):
    taken = []
    for n in range(times):
        started = time.perf_counter()
        await ask(n)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


async def lags(over):
    """How late our loop was, while something else ran on it; ms."""
    found = []
    while not over.is_set():
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        found.append((time.perf_counter() - started) * 1000 - 1.0)
    return sorted(found)


async def measure(path, count):
    storage = Storage(url=Secret(f"sqlite:///{path}"), passed_transcript_every=10**9)
    async with open_store(storage) as store:
        await fill(store, count, hops=HOPS, every_s=300.0)
        over = asyncio.Event()
        lag = asyncio.create_task(lags(over))
        taken = {
            "save, passed": await timed(
                50, lambda n: store.save_run(real_run(f"p{n}", Status.PASS), NOTHING, quiet=True)
            ),
            "save, failed": await timed(
                50, lambda n: store.save_run(real_run(f"f{n}", Status.FAIL), conclusion_of(f"f{n}"), quiet=True)
            ),
            "history of 5 hops": await timed(20, lambda _: store.history("chat", "heavy")),
            "latest": await timed(20, lambda _: store.latest()),
            "tokens of a day": await timed(20, lambda _: store.tokens_spent("chat", after(days=899))),
            "due": await timed(20, lambda _: store.due(after(days=999), 10)),
            "newest 50 runs": await timed(20, lambda _: store.runs()),
        }
        over.set()
        lag = await lag
        started = time.perf_counter()
        answers = len([each async for each in store.answers(after(days=-1), after(days=999))])
        took_s = time.perf_counter() - started
    size = sum(file.stat().st_size for file in path.parent.iterdir() if file.name.startswith(path.name))
    print(f"\n{count} runs of 5 hops before, {size / 2**20:.0f} MB; load {os.getloadavg()[0]:.1f}")
    for name, each in taken.items():
        print(f"  {name:<18} median {median(each):7.2f} ms   worst {max(each):7.2f} ms")
    print(f"  loop lag meanwhile  p50 {lag[len(lag) // 2]:.2f} ms  p99 {lag[len(lag) * 99 // 100]:.2f} ms")
    print(f"  {answers} answers for a report in {took_s:.1f} s: {took_s / answers * 1e6:.0f} us each")
    return {name: median(each) for name, each in taken.items()}


async def test_nothing_grows_with_history(tmp_path):
    few, many = [await measure(tmp_path / f"{count}.db", count) for count in (FEW, MANY)]
    for name, taken in many.items():
        assert taken < 5 * few[name] + 5.0, name


async def test_a_save_does_not_wait_for_pruning(tmp_path):
    storage = Storage(url=Secret(f"sqlite:///{tmp_path}/canary.db"), keep_runs=10)
    async with open_store(storage) as store:
        await fill(store, 20_000, hops=HOPS)
        alone = await timed(30, lambda n: store.save_run(real_run(f"a{n}"), NOTHING, quiet=True))
        pruning = asyncio.create_task(store.prune(after(days=999)))
        marks = [time.perf_counter()]
        while not pruning.done():
            await store.save_run(real_run(f"b{len(marks)}"), NOTHING, quiet=True)
            marks.append(time.perf_counter())
        pruned = await pruning
    assert pruned.runs > 19_000
    gaps = [(b - a) * 1000 for a, b in pairwise(marks)]
    print(f"\n{len(gaps)} saves while {pruned.runs} runs went in {marks[-1] - marks[0]:.1f} s")
    print(f"  alone  median {median(alone):.1f} ms, worst {max(alone):.1f} ms")
    print(f"  beside median {median(gaps):.1f} ms, worst {max(gaps):.1f} ms")
    assert len(gaps) > 20
