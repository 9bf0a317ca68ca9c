"""The state of a finding over time, and what people are told about as one thing.

An incident belongs to one finding of one probe at one pipeline. A page gathers the incidents that share a cause: the
same check failing at the same place, whichever probes and pipelines see it. People get one message for a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from canary.core.finding import Finding, Severity
from canary.core.notification import HopRow
from canary.core.verdict import Status


class State(StrEnum):
    OK = "ok"
    PENDING = "pending"  # it failed, but not often enough to tell anybody
    FIRING = "firing"
    RECOVERING = "recovering"  # it passed, but not often enough to be over


class Event(StrEnum):
    """What one run, or time, does to an incident."""

    FAILED = "failed"
    FAILED_ENOUGH = "failed_enough"
    PASSED = "passed"
    PASSED_ENOUGH = "passed_enough"
    GONE = "gone"  # its probe, pipeline or hop is in the config no more


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentKey:
    pipeline: str
    probe: str
    check: str
    origin: str
    subject: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """`id` is new each time one opens (leaves OK). `window` holds the last statuses, newest last; UNKNOWN is not in it.

    `cause`: equal for incidents that are one thing to people. `finding` is the latest. `since`: when the state was
    entered; `opened_at`: when it began to fire, None before. `seen_at`: when the first run that showed it was sent,
    None where nobody wrote that down yet.
    """

    id: str
    key: IncidentKey
    cause: str
    state: State
    since: datetime
    window: tuple[Status, ...]
    severity: Severity
    finding: Finding
    run_id: str  # the latest run that showed the finding
    opened_at: datetime | None = None
    passes: int = 0
    unknowns: int = 0
    seen_at: datetime | None = None

    @property
    def first_seen_at(self) -> datetime:
        """As people are told it: of an older incident, when it began to fire."""
        return self.seen_at or self.opened_at or self.since


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One change of an incident; a row of history. `run_id` None: time or a reload did it."""

    incident_id: str
    key: IncidentKey
    at: datetime
    before: State
    after: State
    event: Event
    severity: Severity
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A receiver was told this at that time, when the page was as severe and reached as far as this.

    `fault`: check and reason of the finding that spoke for it; None where nobody wrote that down yet.
    """

    receiver: str
    at: datetime
    reason: str
    severity: Severity | None = None
    affected: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What people are told about as one thing. `members`: ids of incidents that fire now; `affected`: hops, top first.

    `changes`: when it opened or closed within the last hour, for flapping; `flapping`: said once, then quiet until it
    settles. Flapping without members it is not over yet: people still have to hear how it ended. `told`: when each
    receiver last heard each reason, oldest first; from RESOLVED on it begins anew. `lead`: the incident that speaks for
    all, as it was when it last fired; `hops` and `changed`: what its last run showed, for messages that come later.
    `pipelines`, `probes`: all that have seen it since it opened. What was over and fires again opens anew; `began_at`
    is when it opened first, None where nobody wrote that down yet.
    """

    id: str
    cause: str
    opened_at: datetime
    severity: Severity
    members: tuple[str, ...]
    affected: tuple[str, ...] = ()
    resolved_at: datetime | None = None
    acked_by: str | None = None
    acked_at: datetime | None = None
    flapping: bool = False
    changes: tuple[datetime, ...] = ()
    told: tuple[Told, ...] = ()
    lead: Incident | None = None
    pipelines: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    hops: tuple[HopRow, ...] = ()
    changed: tuple[str, ...] = ()
    began_at: datetime | None = None
