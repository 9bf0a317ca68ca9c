"""One run: a probe sent through every hop of a pipeline, what was seen, and what was concluded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from canary.core.engine_load import EngineLoad
from canary.core.finding import Finding
from canary.core.measurement import Measurement
from canary.core.observation import Observation
from canary.core.timeout import Timeout
from canary.core.verdict import Verdict

# The forms of a request that ask for a whole answer; those that prove budgets may be stopped half-way.
PLAIN, CONTROL = "plain", "control"
WHOLE = frozenset({PLAIN, CONTROL})


@dataclass(frozen=True, slots=True, kw_only=True)
class HopResult:
    """One form of the request at one hop. `timeouts` are the timers that were held against its stream.

    `engine_version`: what the hop says at `/version`, where it was asked; `load`: what it says at its `metrics_url`.
    """

    hop: str
    variant: str
    observation: Observation
    measurement: Measurement
    verdicts: tuple[Verdict, ...]
    timeouts: tuple[Timeout, ...] = ()
    engine_version: str | None = None
    load: EngineLoad | None = None


class CutShort(StrEnum):
    """Why a run was not finished. Nothing about the pipeline follows from any of them."""

    SHUTDOWN = "shutdown"
    DEADLINE = "deadline"
    BUG = "bug"  # our own


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`id` stands in the requests' headers too, so that a run can be found in the logs of every hop.

    A run that was `cut_short` has the results that were there by then, and no findings.
    """

    id: str
    pipeline: str
    probe: str
    started_at: datetime
    results: tuple[HopResult, ...]
    findings: tuple[Finding, ...] = ()
    finished_at: datetime | None = None
    cut_short: CutShort | None = None
