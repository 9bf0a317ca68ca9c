"""Who is told of what, and from when on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from canary.core.finding import Severity
from canary.core.schedule import Window

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When a finding becomes an incident, and how long people are reminded of it.

    `fail` of the last `of` runs open it, `recover` passes in a row close it, not sooner than `hold_s` after it opened.
    `unknown` runs in a row in which nothing could be told are an incident of the monitor itself.
    """

    fail: int = 2
    of: int = 3
    recover: int = 2
    hold_s: float = 0.0
    unknown: int = 5
    remind_s: float | None = None
    escalate_after_s: float | None = None
    escalate_to: str | None = None  # a receiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a route, silence or window is about; what is left out fits everything. `labels` are the pipeline's."""

    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    pipeline: str | None = None
    probe: str | None = None
    check: str | None = None
    hop: str | None = None  # the origin
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Where messages go. `kind` is a row of `notify.NOTIFIERS`, `options` that row's own options, `edits` its too."""

    name: str
    kind: str
    options: object
    edits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The first route that fits decides the policy and tells its receiver; `go_on` lets later ones tell theirs too."""

    match: Match
    receiver: str
    policy: Policy = field(default_factory=Policy)
    go_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """A planned time in which nobody is told of what fits; measuring goes on."""

    name: str
    window: Window
    match: Match = field(default_factory=Match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The same, made by a person at run time."""

    id: str
    match: Match
    starts_at: datetime
    ends_at: datetime
    author: str
    comment: str = ""
