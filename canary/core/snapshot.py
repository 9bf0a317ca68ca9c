"""The state of the daemon at one moment, for whoever shows it. Immutable: a new one takes the place of the old."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from canary.core.incident import Incident, Page
from canary.core.measurement import Measurement
from canary.core.spec import Plan
from canary.core.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest:
    """The newest answer of one hop to one variant of one probe."""

    pipeline: str
    probe: str
    hop: str
    variant: str
    run_id: str
    at: datetime
    measurement: Measurement
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """The newest value that fell into a bucket, and the run it came from."""

    value: float
    run_id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """`counts`: how many values fell into each bucket, not cumulative; the last one has no upper bound."""

    counts: tuple[int, ...]
    total: float
    exemplars: Mapping[int, Exemplar] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One labelled line of a metric; `labels` in the order that the metric names them."""

    metric: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """`problems` are sentences; none means ready. `notes` are worth knowing, and no reason not to be."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """`counters` and `distributions` only grow while the process lives; those of what the plan no longer has are gone.

    `next_runs`: by (pipeline, probe). `tokens_today`: used by each pipeline that has a limit, since midnight UTC.
    `waiting`, `dead_letters`: notifications not yet delivered, and given up within the last day.
    """

    at: datetime
    started_at: datetime
    plan: Plan
    latest: tuple[Latest, ...] = ()
    incidents: tuple[Incident, ...] = ()
    pages: tuple[Page, ...] = ()
    counters: Mapping[Series, float] = field(default_factory=lambda: MappingProxyType({}))
    distributions: Mapping[Series, Distribution] = field(default_factory=lambda: MappingProxyType({}))
    last_runs: Mapping[tuple[str, str], datetime] = field(default_factory=lambda: MappingProxyType({}))
    next_runs: Mapping[tuple[str, str], datetime] = field(default_factory=lambda: MappingProxyType({}))
    schedule_lag_s: float = 0.0
    loop_lag_s: float = 0.0
    last_reload_ok: bool = True
    last_reload_at: datetime | None = None
    tokens_today: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    waiting: int = 0
    dead_letters: int = 0
    store_up: bool = True
    readiness: Readiness = field(default_factory=Readiness)
