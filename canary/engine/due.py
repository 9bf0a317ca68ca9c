"""A run that should happen now, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Key: TypeAlias = tuple[str, str]  # the names of a pipeline and of one of its probes


class Why(StrEnum):
    SCHEDULE = "schedule"
    CONFIRM = "confirm"  # the run before it failed for the first time
    DEMAND = "demand"  # somebody asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """`due_s`: on the monotonic clock. `run_id` is known before the run begins, so that whoever asked can look for it.

    `confirms`: how many confirming runs in a row this one ends.
    """

    key: Key
    run_id: str
    due_s: float
    why: Why = Why.SCHEDULE
    confirms: int = 0
