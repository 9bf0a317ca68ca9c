"""What people who look from outside are told: levels, and what a person says beside or against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Level(StrEnum):
    """How a component fares, best first, in the words of Statuspage, which other programs know."""

    OPERATIONAL = "operational"
    MAINTENANCE = "under_maintenance"
    DEGRADED = "degraded_performance"
    PARTIAL = "partial_outage"
    MAJOR = "major_outage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a person tells everybody about a page; public where there is a public status page."""

    page_id: str
    at: datetime
    text: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A person's word on a page or on a pipeline, one of both, against what was measured, for a time."""

    id: str
    level: Level
    at: datetime
    ends_at: datetime
    author: str
    page_id: str | None = None
    pipeline: str | None = None

    def holds(self, now: datetime) -> bool:
        return self.at <= now < self.ends_at
