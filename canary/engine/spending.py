"""Tokens that each pipeline used since midnight UTC: from the store once, then counted as answers come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime


@dataclass(slots=True)
class Spending:
    day: date
    tokens: Counter[str] = field(default_factory=Counter)

    def add(self, pipeline: str, tokens: int, now: datetime) -> None:
        self._turn(now)
        self.tokens[pipeline] += tokens

    def of(self, pipeline: str, now: datetime) -> int:
        self._turn(now)
        return self.tokens[pipeline]

    def today(self, pipelines: Mapping[str, int | None], now: datetime) -> Mapping[str, int]:
        """Of those pipelines that have a limit."""
        return {name: self.of(name, now) for name, limit in pipelines.items() if limit is not None}

    def _turn(self, now: datetime) -> None:
        """A wall clock that is set back a day does not bring the day's tokens back."""
        if now.date() > self.day:
            self.day = now.date()
            self.tokens.clear()
