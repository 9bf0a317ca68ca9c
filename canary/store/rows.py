"""What is read back from the store and is of no use to anybody else: rows, not the things that they were made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from canary.core.notification import Notification


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """`due_at`: by the wall clock, which may have been set since.

    `handle`: what the same receiver gave back for the last message of the same page that it took.
    """

    notification: Notification
    attempts: int
    due_at: datetime
    handle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A row that does not fit what it was written from; see aside. `unsent`: nobody was told what it says."""

    table: str
    key: str
    why: str
    unsent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many rows went, by noun. `before`: of the runs that began earlier, none is left but what is still needed."""

    runs: int = 0
    transcripts: int = 0
    incidents: int = 0
    pages: int = 0
    notifications: int = 0
    spans: int = 0
    others: int = 0  # silences, deploys, and series without a result
    before: datetime | None = field(default=None, compare=False)
