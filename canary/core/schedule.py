"""When something is due: a probe, a maintenance window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """A fixed interval. The first run comes early in it, at a place of its own; jitter moves each run by up to that."""

    seconds: float
    jitter_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Five fields as in crontab(5), in the time zone that `timezone` names (IANA)."""

    expression: str
    timezone: str = "UTC"
    jitter_s: float = 0.0


Schedule: TypeAlias = Every | Cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """One window of time."""

    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurring:
    """A window of `duration_s` at each time that `cron` gives."""

    cron: Cron
    duration_s: float


Window: TypeAlias = Once | Recurring
