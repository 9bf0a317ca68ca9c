"""A store as the daemon leaves it: real runs over the demo's servers, saved one after the other."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from canary.config.presets import catalogue
from canary.config.probes import canned_probes
from canary.core.conclusion import Conclusion
from canary.core.run import CutShort, Run
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.spec import Assignment, BudgetTest
from canary.demo.answers import answers
from canary.demo.generation import Model
from canary.demo.pipeline import WIDE, demo_pipeline
from canary.engine.run import run_probe
from canary.engine.visit import Occasion
from canary.store import open_store

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SEED = 7
MODEL = Model(
    reasoning_tokens=600, answer_tokens=60, thinking_tokens_per_s=3000.0, tokens_per_s=3000.0, stream_interval=60
)
HEAVY, TINY = canned_probes()["reasoning-heavy"], canned_probes()["tiny-budget"]
HOPS = ("ui", "edge", "agent", "gateway", "engine")  # from the user down
_ASKED = Assignment(probe=HEAVY, deadline_s=20.0)
_PROVEN = Assignment(probe=TINY, deadline_s=20.0, budgets=(BudgetTest(parameter="thinking_token_budget", tokens=32),))


@dataclass(frozen=True)
class Made:
    """`id` of the run, so many `minutes` after NOON, with these faults."""

    id: str
    minutes: int
    assignment: Assignment = _ASKED
    faults: tuple[tuple[str, tuple[str, ...]], ...] = ()


MADE = (
    Made("aaa111", 0),
    Made("aaa222", 10, faults=(("agent", ("strip_reasoning",)),)),
    Made("bbb111", 20, faults=(("gateway", ("html_502",)),)),
    Made("ccc111", 30, assignment=_PROVEN, faults=(("gateway", ("drop_parameter",)),)),
    Made("ddd111", 40),
)
SHUT_DOWN = Run(
    id="eee111",
    pipeline="demo",
    probe="reasoning-heavy",
    started_at=NOON + timedelta(minutes=50),
    results=(),
    cut_short=CutShort.SHUTDOWN,
)


async def demo_runs() -> list[Run]:
    """Those of MADE, then SHUT_DOWN."""
    runs = []
    async with demo_pipeline({}, limits=WIDE, model=MODEL, answer_for=answers(HEAVY, SEED)) as demo:
        for made in MADE:
            demo.set_faults(dict(made.faults))
            at = NOON + timedelta(minutes=made.minutes)
            occasion = Occasion(run_id=made.id, seed=SEED, now=lambda at=at: at, catalogue=catalogue())
            runs.append(replace(await run_probe(demo.pipeline(), made.assignment, occasion), finished_at=at))
    return [*runs, SHUT_DOWN]


def storage_at(path, **more) -> Storage:
    """Every transcript is kept, unless `more` says otherwise."""
    return Storage(url=Secret(f"sqlite:///{path}"), **{"passed_transcript_every": 1, **more})


@asynccontextmanager
async def filled(storage, runs):
    """The open store, with these runs in it and nothing concluded from them."""
    async with open_store(storage) as store:
        for run in runs:
            await store.save_run(run, Conclusion(), quiet=True)
        yield store
