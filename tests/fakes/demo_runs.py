"""Runs over the real demo pipeline, many at once: one running pipeline per worker, its faults set anew for each run."""

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from canary.cli.demo import BUDGETS
from canary.config.presets import catalogue
from canary.config.probes import canned_probes
from canary.core.spec import Assignment
from canary.demo.answers import answers
from canary.demo.generation import Model
from canary.demo.pipeline import WIDE, demo_pipeline
from canary.engine.run import run_probe
from canary.engine.visit import Occasion

SEED = 7
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCALE = 0.25
# At this scale 0.3 s of thinking, then 0.4 s of answer, in 14 events: long enough to tell a stream from a burst, and a
# cut after 2 s of the demo's time (0.5 s here) falls into the answer. Few events keep this machine idle; a stream takes
# three times as long as the fastest engine would, so that neither stream nor burst is near that on a busy one.
MODEL = Model(
    reasoning_tokens=450, answer_tokens=600, thinking_tokens_per_s=375.0, tokens_per_s=375.0, stream_interval=75
)
HEAVY, TINY = canned_probes()["reasoning-heavy"], canned_probes()["tiny-budget"]
MOST_TRIES = 4
MOST_LAG_S = 0.1  # of the loop; a whole answer takes 0.7 s
DEADLINE_S = 10.0  # of a request; an answer takes 0.7 s, and five times as long on a busy machine
SHORT_DEADLINE_S = 2.5  # where one hop never answers


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One run: `faults` by hop; the budget probe or the plain one."""

    faults: tuple[tuple[str, tuple[str, ...]], ...] = ()
    budgets: bool = False
    deadline_s: float = DEADLINE_S

    @property
    def assignment(self):
        if self.budgets:
            return Assignment(probe=TINY, deadline_s=self.deadline_s, budgets=BUDGETS)
        return Assignment(probe=HEAVY, deadline_s=self.deadline_s)


def occasion(run_id="test", *, seed=SEED, watch=lambda _: None):
    return Occasion(run_id=run_id, seed=seed, now=lambda: NOW, catalogue=catalogue(), watch=watch)


def stalled(run):
    """Whether this machine was too busy for the run, which is then made again.

    The demo's servers share our loop: what we were late by, they were late by too, and then a stream does come in a
    burst and does break off.
    """
    return any((result.measurement.loop_lag_s or 0.0) > MOST_LAG_S for result in run.results)


async def runs_of(asked, *, workers):
    """`{asked: run}`."""
    waiting = list(dict.fromkeys(asked))[::-1]
    done = {}

    async def work():
        async with demo_pipeline({}, scale=SCALE, limits=WIDE, model=MODEL, answer_for=answers(HEAVY, SEED)) as demo:
            while waiting:
                each = waiting.pop()
                demo.set_faults(dict(each.faults))
                for _ in range(MOST_TRIES):
                    done[each] = await run_probe(demo.pipeline(), each.assignment, occasion())
                    if not stalled(done[each]):
                        break

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, len(waiting))):
            group.create_task(work())
    return done


@contextmanager
def in_thread(demo):
    """What `demo_pipeline(…)` runs, on a loop of its own, so that it goes on while the test blocks its thread."""
    ready, over = threading.Event(), asyncio.Event()
    running = []

    async def serve():
        async with demo as started:
            running.append((asyncio.get_running_loop(), started))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait()
    loop, started = running[0]
    try:
        yield started
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
