"""What a page costs, with nine days and with ninety days of twenty hops behind it.

    pytest -m bench -s tests/bench/test_pages.py

The time is from the request to the last byte, over loopback, warm. A tenth of a second is what a page may take on a
machine with nothing else to do. A pipeline's past is drawn anew after each run, and that is measured on its own; until
the next one it is shown as it was drawn. Asserted are only ratios, in processor time of server and client, which a busy
machine changes little: of both histories, and of both ways to the same page. What shows ninety days has more to draw
once there are ninety, and then no more.
"""

import gc
import os
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from statistics import median

import pytest
from aiohttp import ClientSession

from canary.core.conclusion import Conclusion
from canary.core.secret import Secret
from canary.core.service import Listen, Storage
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.engine.records import records_of
from canary.store import open_store
from canary.web.app import app
from canary.web.serve import serve
from tests.fakes import snapshots
from tests.fakes.long_history import fill_history
from tests.fakes.stored import conclusion_of, result_of, run_of

pytestmark = pytest.mark.bench
HOPS = tuple(f"hop-{number:02}" for number in range(20))
STREAMS = ("edge-nginx-buffers", "edge-agent-strips-reasoning", "litellm-chat-unbudgeted", "vllm-chat-unbudgeted")
PAGES = {
    "front": "/",
    "pipeline, after a run": "/pipelines/chat",
    "pipeline, a day": "/pipelines/chat",
    "pipeline, a week": "/pipelines/chat?range=7d",
    "pipeline, a month": "/pipelines/chat?range=30d",
    "pipeline, 90 days": "/pipelines/chat?range=90d",
    "incident": "/incidents/p1",
    "run of 20 hops": "/runs/newest",
}
NOW = snapshots.NOW
TIMES = 15


def run_of_all(name, at=NOW):
    """Twenty hops, each a real stream."""
    results = tuple(result_of(STREAMS[place % 4], hop=hop) for place, hop in enumerate(reversed(HOPS)))
    return run_of(name, at, results=results)


@asynccontextmanager
async def site(path, days):
    timer = Timeout(name="ui", phase=TimerPhase.IDLE, clock=Clock.VISIBLE, limit_s=30.0, hop="browser")
    pipeline = snapshots.pipeline("chat", hops=HOPS)
    hops = (replace(pipeline.hops[0], timeouts=(timer,)), *pipeline.hops[1:])
    run, listen = run_of_all("newest"), Listen(port=0)
    given = snapshots.snapshot(replace(pipeline, hops=hops), runs=[run], listen=listen)
    storage = Storage(url=Secret(f"sqlite:///{path}"), passed_transcript_every=1)
    async with open_store(storage) as store:
        await fill_history(store, HOPS, days=days, now=NOW)
        gc.collect()  # what it took to make a history is not what a daemon holds
        gc.freeze()
        await store.save_run(run, Conclusion(), quiet=True)
        await store.save_conclusion(conclusion_of("newest", at=NOW))
        application = app(
            snapshot=lambda: given, actions=snapshots.Recorder().actions(), listen=listen, records=records_of(store)
        )
        async with serve(application, listen) as url, ClientSession(url) as session:
            yield store, session


async def costs(path, days):
    found, numbers = {}, count(1)
    async with site(path, days) as (store, session):
        for name, asked in PAGES.items():
            taken, worked, size = [], [], 0
            for _ in range(TIMES + 2):
                if name == "pipeline, after a run":
                    number = next(numbers)
                    another = run_of_all(f"run-{number}", NOW - timedelta(seconds=number))
                    await store.save_run(another, Conclusion(), quiet=True)
                started, began = time.perf_counter(), time.process_time()
                async with session.get(asked) as response:
                    size = len(await response.read())
                    assert response.status == 200, asked
                taken.append((time.perf_counter() - started) * 1000)
                worked.append((time.process_time() - began) * 1000)
            found[name] = median(worked[2:])
            waited = f"median {median(taken[2:]):6.1f} ms   worst {max(taken[2:]):6.1f} ms"
            print(f"  {name:<22} {waited}   processor {found[name]:6.1f} ms   {size / 1000:.0f} kB")
    return found


async def test_no_page_grows_with_history(tmp_path):
    found = {}
    for days in (9, 90):
        print(f"\n{days} days of {len(HOPS)} hops; load {os.getloadavg()[0]:.1f}")
        found[days] = await costs(tmp_path / f"{days}.db", days)
    for name, taken in found[90].items():
        if name not in ("pipeline, a month", "pipeline, 90 days"):  # which have nine days only to show
            assert taken < 3.0 * found[9][name] + 20.0, name  # of ten times the history
    assert found[90]["pipeline, a day"] < 0.5 * found[90]["pipeline, after a run"]  # which draws
