"""The log: one line per run and per change, as JSON or for a person's eyes.

Everything goes through one handler, so that what libraries say through `logging` has the same form. Secrets are a type
that shows as `***`; nothing that a target said is logged, but for the sentences of verdicts. Tracebacks show no local
variables, as the console's default does: those hold prompts and headers, and to print them takes seconds.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TextIO

import structlog
from structlog.types import Processor

from canary.analysis.remember import never_visible
from canary.core.run import Run
from canary.core.service import LogFormat
from canary.core.verdict import Status, worst
from canary.engine.due import Why

_QUIET = {
    "aiohttp.access": logging.WARNING,
    "alembic": logging.WARNING,
    "apscheduler": logging.ERROR,
    "slack_sdk": logging.ERROR,
}


def configure(wanted: LogFormat | None, *, stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """`wanted` None: for a person on a terminal, else JSON. May be called again after a reload."""
    out = stream or sys.stderr
    for_people = wanted is LogFormat.CONSOLE or (wanted is None and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: list[Processor] = (
        [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)]
        if for_people
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(least)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def run_line(run: Run, *, why: Why) -> Mapping[str, object]:
    """What one line says of a run: the worst of every number, and what was found."""
    waits = [result.measurement.time_to_first_visible_content_s for result in run.results]
    shown = [seconds for seconds in waits if seconds is not None]
    verdicts = [verdict for result in run.results for verdict in result.verdicts]
    line: dict[str, object] = {
        "run": run.id,
        "pipeline": run.pipeline,
        "probe": run.probe,
        "why": why.value,
        "status": worst(verdicts).value if run.cut_short is None else Status.UNKNOWN.value,
        "answers": len(run.results),
        "never_visible": never_visible(run.results),
        "first_visible_s": round(max(shown), 3) if shown else None,
    }
    if run.finished_at is not None:
        line["took_s"] = round((run.finished_at - run.started_at).total_seconds(), 3)
    if run.cut_short is not None:
        line["cut_short"] = run.cut_short.value
    if run.findings:
        line["findings"] = [f"{each.check} {each.reason} at {each.origin}" for each in run.findings]
    return line
