"""The daemon at a run a second: what it holds on to after a while is what it held on to at the start.

CANARY_SOAK_MINUTES says how long (3). Figures are printed; only ratios within the run are asserted.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import psutil
import pytest

from canary.demo.pipeline import WIDE, Demo, demo_pipeline

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
MINUTES = float(os.environ.get("CANARY_SOAK_MINUTES", "3"))
LINE_S = 5.0  # of watched_daemon.py
KEPT = 30  # pruned once a minute, so that each third of the shortest soak sees as many runs come as go
SLACK = {"rss": 0, "descriptors": 4, "threads": 4, "tasks": 4, "database": 2**20}  # a WAL that somebody reads grows on
SCALE = 0.02  # a run through five hops takes less than its second


@dataclass(frozen=True)
class Look:
    rss: int
    descriptors: int
    threads: int
    tasks: int
    database: int
    late_s: tuple[float, ...]


@contextmanager
def demo_in_thread() -> Iterator[Demo]:
    """The five servers on a loop of their own, so that the daemon's process is the daemon alone."""
    ready, over, demos = threading.Event(), asyncio.Event(), []
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with demo_pipeline({}, scale=SCALE, limits=WIDE) as demo:
            loops.append(asyncio.get_running_loop())
            demos.append(demo)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield demos[0]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


def config_of(folder: Path, demo: Demo) -> Path:
    hops = [{"name": hop.name, "url": hop.url, "model": hop.model} for hop in demo.pipeline().hops]
    probes = [{"use": "quick", "every": "1s", "deadline": "30s", "checks": ["reachable", "complete", "baseline"]}]
    plan = {
        "listen": {"address": "127.0.0.1:0"},
        "storage": {"url": f"sqlite:///{folder}/canary.db", "keep": {"runs": KEPT}},
        "pipelines": [{"name": "demo", "hops": hops, "probes": probes}],
    }
    path = folder / "canary.yaml"
    path.write_text(json.dumps(plan))
    return path


def looked(lines: Iterable[str], process: psutil.Process, folder: Path) -> Iterator[Look]:
    """A look at the process at each of its own lines."""
    for line in lines:
        said = json.loads(line)
        yield Look(
            rss=process.memory_info().rss,
            descriptors=process.num_fds(),
            threads=process.num_threads(),
            tasks=said["tasks"],
            database=sum(file.stat().st_size for file in folder.glob("canary.db*")),
            late_s=tuple(said["late_s"]),
        )


def test_nothing_grows(tmp_path: Path):
    with demo_in_thread() as demo, (tmp_path / "log").open("w+") as log:
        command = [sys.executable, ROOT / "tests/real/watched_daemon.py", config_of(tmp_path, demo)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=tmp_path) as daemon:
            assert daemon.stdout is not None
            looks = list(
                islice(looked(daemon.stdout, psutil.Process(daemon.pid), tmp_path), int(MINUTES * 60 / LINE_S))
            )
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate(timeout=90)
        log.seek(0)
        events = [json.loads(line) for line in log]
    assert daemon.returncode == 0
    runs = [event for event in events if event["event"] == "run"]
    third = len(looks) // 3
    early, late = looks[third : 2 * third], looks[2 * third :]  # the first third is the warm-up
    print(f"\n{MINUTES:g} min, {len(runs)} runs, {sum(event['answers'] for event in runs)} answers")
    grown: list[str] = []
    for name in ("rss", "descriptors", "threads", "tasks", "database"):
        before, after = (statistics.median(getattr(each, name) for each in part) for part in (early, late))
        print(f"{name}: {before:.0f} -> {after:.0f} ({after / before - 1:+.1%})")
        grown += [name] if after > before * 1.1 + SLACK[name] else []
    lags = sorted(late_s for each in looks[third:] for late_s in each.late_s)
    p50, p99 = lags[len(lags) // 2], lags[len(lags) * 99 // 100]
    print(
        f"loop lag: p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms, worst {lags[-1] * 1e3:.1f} ms of {len(lags)} ticks"
    )
    odd = [event for event in events if event["level"] != "info" and event["event"] != "run skipped"]
    assert odd == []  # on a busy machine a run may take longer than its second, and the next is skipped
    assert grown == []
    assert len(runs) > 30 * MINUTES, "it hardly ran"
