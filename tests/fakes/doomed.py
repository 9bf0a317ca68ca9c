"""Daemons that die at a chosen line between decision and delivery.

`python -m tests.fakes.doomed ENGINE_URL HOOK_URL` reads jobs from stdin, a JSON object a line: `{"database", "name",
"line", "runs"}`, and forks one life for each, so that all that is needed is imported once. A life opens the database,
remembers, runs what it is told to, and tells what is to be told until the outbox is empty; `line` says after how many
executed lines of `WATCHED` it kills itself with SIGKILL, None: never. Counting begins with the first run. For each job
one line comes back: `{"killed", "lines"}`.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import aiohttp

import canary
from canary.core.route import Match, Policy, Receiver, Route
from canary.core.secret import Secret
from canary.core.service import LogFormat, Service, Storage
from canary.core.spec import Assignment, Hop, Pipeline, Plan, Probe, QuestionTemplate
from canary.daemon import REAL_CLOCKS, Config, build
from canary.engine import log as logs
from canary.engine.due import Due
from canary.notify.webhook import WebhookOptions
from canary.store import open_store

PIPELINES = ("left", "right")
MOODS = ("ill", "well")  # how the run ids begin; the engine does as they say
CHECKS = ("reachable", "complete", "visible_content")
_ROOT = Path(canary.__file__).parent
_PARTS = ("store", "notify", "engine/archive.py", "engine/dispatch.py", "engine/cycle.py", "engine/teller.py")
WATCHED = tuple(str(_ROOT / part) for part in _PARTS)


class Doom:
    """Counts executed lines in all threads, once `armed`, and kills the process at the last one."""

    def __init__(self, last):
        self.last, self.lines, self.armed = last, 0, False

    def __call__(self, frame, _event, _arg):
        return self._line if frame.f_code.co_filename.startswith(WATCHED) else None

    def _line(self, _frame, event, _arg):
        if event == "line" and self.armed:
            self.lines += 1
            if self.lines == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


@dataclass(frozen=True, kw_only=True)
class Job:
    database: str
    name: str
    line: int | None
    runs: bool


def plan_of(job, engine_url, hook_url):
    """Two pipelines that share nothing; one failure opens, one pass closes, so every run has something to tell."""
    question = (QuestionTemplate(text="One?"),)
    probe = Probe(name="ask", summary="", questions=question, checks=CHECKS)
    pipelines = tuple(
        Pipeline(
            name=name,
            hops=(Hop(name="engine", url=f"{engine_url}/{name}", model="fake"),),
            assignments=(Assignment(probe=probe, deadline_s=10.0),),
        )
        for name in PIPELINES
    )
    hook = Receiver(name="hook", kind="webhook", options=WebhookOptions(url=Secret(f"{hook_url}/{job.name}")))
    policy = Policy(fail=1, of=1, recover=1)
    storage = Storage(url=Secret(f"sqlite:///{job.database}"))
    return Plan(
        pipelines=pipelines,
        receivers=(hook,),
        routes=(Route(match=Match(), receiver="hook", policy=policy),),
        service=Service(storage=storage),
    )


async def live(job, plan, doom):
    config = Config(load=lambda: plan, log=lambda _: None, seed=lambda: 7)
    async with open_store(plan.service.storage) as store, aiohttp.ClientSession() as session:
        running = build(plan, config, store=store, session=session, clocks=REAL_CLOCKS)
        await running.recall()
        moved = _watched(running.dispatcher)
        doom.armed = True
        over = asyncio.Event()
        telling = asyncio.create_task(_always(running.dispatcher, over))
        if job.runs:
            async with asyncio.TaskGroup() as group:
                for pipeline in PIPELINES:
                    group.create_task(_runs(running, pipeline))
        await running.settle(running.alerts.of_time(REAL_CLOCKS.wall()))
        while True:
            moved.clear()
            if not await store.queue_depth():
                break
            await moved.wait()
        over.set()
        await telling  # cancelled within a query, SQLAlchemy may wait for its connection for ever


async def _always(dispatcher, over):
    """Passes at any moment: what may be told at this one is what is asked here."""
    while not over.is_set():
        await dispatcher.flush()
        await asyncio.sleep(0.001)


async def _runs(running, pipeline):
    for mood in MOODS:
        await running.cycle.perform(Due(key=(pipeline, "ask"), run_id=f"{mood}-{pipeline}", due_s=0.0))


def _watched(dispatcher):
    """Set whenever something was told."""
    moved, told = asyncio.Event(), dispatcher.told

    def telling(*what):
        told(*what)
        moved.set()

    dispatcher.told = telling
    return moved


def life(job, plan):
    """In the child: never returns. One that hangs dies of SIGALRM."""
    signal.alarm(120)
    doom = Doom(job.line)
    threading.settrace(doom)
    sys.settrace(doom)
    asyncio.run(live(job, plan, doom))
    sys.settrace(None)
    os.write(1, f"{doom.lines}\n".encode())
    os._exit(0)


def main():
    engine_url, hook_url = sys.argv[1:]
    logs.configure(LogFormat.JSON, level=logging.ERROR)
    for line in sys.stdin:
        job = Job(**json.loads(line))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            try:
                life(job, plan_of(job, engine_url, hook_url))
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as said:
            lines = said.read()
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": killed, "lines": int(lines or 0), "status": status}), flush=True)


if __name__ == "__main__":
    main()
