"""What is drawn of a pipeline's past, kept until it would be drawn otherwise.

A run adds to the spans and days of its pipeline in the transaction that adds its row. So while the newest runs are the
same ones, there is nothing new to read or to draw. They are read before the spans: a drawing may be newer than what it
is known by, and never older. It is made anew each minute all the same, because an open incident grows, and because a
clock that was set back stores runs behind the newest ones.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from canary.core.deploy import Deploy
from canary.core.incident import Page
from canary.core.kept import RunRow
from canary.core.span import DAYS, Range, floor
from canary.core.spec import Assignment, Pipeline
from canary.web.pipeline_view import Past, PipelineView, pipeline_view
from canary.web.recent import Recent
from canary.web.records import Records
from canary.web.words import Words

_MOST_RUNS = 20
_MOST_KEPT = 16  # a third of a megabyte each
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is looked at, and in which language."""

    pipeline: Pipeline
    assignment: Assignment | None
    span: Range
    words: Words

    @property
    def name(self) -> str:
        probe = self.assignment.probe.name if self.assignment else ""
        return repr((self.pipeline.name, probe, self.span.name, self.words.language))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """All but `view` is what it depends on."""

    sight: Sight
    now: datetime
    runs: tuple[RunRow, ...]
    pages: tuple[Page, ...]
    deploys: tuple[Deploy, ...]
    view: PipelineView | None = None


class Gallery:
    """`rendering`: held while something is drawn."""

    __slots__ = ("_kept", "_rendering")
