"""What is kept of runs and pages, as it is read back: for commands that look back, and for pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from canary.core.engine_load import EngineLoad
from canary.core.finding import Finding
from canary.core.incident import Incident, Page, Transition
from canary.core.measurement import Measurement
from canary.core.notification import Notification, Withheld
from canary.core.run import CutShort
from canary.core.status import Note
from canary.core.timeout import Timeout
from canary.core.verdict import Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One line of history. `status`: the worst verdict at any hop.

    `first_visible_s`: the longest wait for the first visible text at any hop, of those where it came; `never_visible`:
    how many answers it never came in. `tokens`: in and out, estimated where nobody reported them.
    """

    id: str
    pipeline: str
    probe: str
    started_at: datetime
    finished_at: datetime | None
    status: Status
    cut_short: CutShort | None
    first_visible_s: float | None
    never_visible: int
    tokens: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """`transcript`: as text that `wire.transcript.loads` reads, where it was kept and has not been pruned."""

    hop: str
    variant: str
    measurement: Measurement
    verdicts: tuple[Verdict, ...]
    timeouts: tuple[Timeout, ...] = ()
    engine_version: str | None = None
    load: EngineLoad | None = None
    transcript: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    row: RunRow
    results: tuple[StoredResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of one notification so far: `sent_at`, or `dead_at`, or still waiting. `why`: the last failure."""

    notification: Notification
    attempts: int
    sent_at: datetime | None = None
    dead_at: datetime | None = None
    due_at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Why somebody was not told: the latest of its kind, how often, and since when."""

    withheld: Withheld
    first_at: datetime
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A page and all that belongs to it: incidents of its cause, their changes, who was told and who was not.

    `notes`: what people told everybody of it.
    """

    page: Page
    incidents: tuple[Incident, ...] = ()
    transitions: tuple[Transition, ...] = ()
    deliveries: tuple[Delivered, ...] = ()
    withheld: tuple[Held, ...] = ()
    notes: tuple[Note, ...] = ()
