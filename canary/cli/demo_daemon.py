"""The demo as it would be in earnest: the daemon on the built-in pipeline, with its history in a folder that goes."""

from __future__ import annotations

import asyncio
import logging
import secrets
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from canary.cli.probe import report
from canary.cli.screen import STYLES
from canary.core.run import Run
from canary.core.schedule import Every
from canary.core.secret import Secret
from canary.core.service import Listen, Service, Storage
from canary.core.spec import Assignment, Plan
from canary.core.verdict import worst
from canary.daemon import Config, run_daemon
from canary.demo.answers import answers
from canary.demo.pipeline import Demo, FaultNames, Limits, demo_pipeline
from canary.engine import log as logs

_EVERY_S = 60.0  # at a scale of 1, for the first probe; each further one comes half as often as the one before
_GRACE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The pipeline and what is asked of it; the questions are those of the first assignment's probe."""

    faults: FaultNames
    limits: Limits
    scale: float
    assignments: tuple[Assignment, ...]
    listen: Listen


@dataclass(slots=True, kw_only=True)
class Shown:
    """The first run of each probe as a whole, or as often as its findings change; else one line."""

    as_json_lines: bool
    every_verdict: bool
    seen: dict[str, object]

    def run(self, run: Run) -> None:
        findings = {(each.check, each.reason, each.origin) for each in run.findings}
        news = self.seen.get(run.probe) != findings
        self.seen[run.probe] = findings
        if self.as_json_lines or (news and run.results):
            report(run, as_json_object=self.as_json_lines, every_verdict=self.every_verdict)
            return
        status = worst(verdict for result in run.results for verdict in result.verdicts)
        line = Text(status.value, style=STYLES[status]).append(f"  {run.probe}  run {run.id}", style="not bold")
        Console(highlight=False).print(line.append(", as before" if not run.cut_short else f", {run.cut_short.value}"))


async def watch(watched: Watched, shown: Shown) -> None:
    """Until a signal comes."""
    seed = secrets.randbits(63)
    answer_for = answers(watched.assignments[0].probe, seed)
    with tempfile.TemporaryDirectory(prefix="canary-demo-") as folder:
        async with demo_pipeline(
            watched.faults, limits=watched.limits, scale=watched.scale, answer_for=answer_for
        ) as demo:
            plan = _plan(demo, watched, Path(folder))
            config = Config(load=lambda: plan, log=partial(logs.configure, level=logging.WARNING), seed=lambda: seed)
            await run_daemon(config, stop=asyncio.Event(), listening=partial(_say, watched, shown), finished=shown.run)


def _plan(demo: Demo, watched: Watched, folder: Path) -> Plan:
    assignments = tuple(
        replace(assignment, schedule=Every(seconds=_EVERY_S * watched.scale * 2**number))
        for number, assignment in enumerate(watched.assignments)
    )
    storage = Storage(url=Secret(f"sqlite:///{folder / 'canary.db'}"))
    service = Service(listen=watched.listen, storage=storage, shutdown_grace_s=_GRACE_S)
    return Plan(pipelines=(demo.pipeline(assignments=assignments),), service=service)


def _say(watched: Watched, shown: Shown, url: str) -> None:
    probes = ", ".join(assignment.probe.name for assignment in watched.assignments)
    line = f"Watching the demo pipeline ({probes}). Pages: {url}/  metrics: {url}/metrics  Ctrl-C ends it."
    Console(highlight=False, stderr=shown.as_json_lines).print(Text(line, style="bold"), soft_wrap=True)
