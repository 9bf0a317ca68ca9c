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
from canary.core.span import DAYS, RANGES, Range, floor
from canary.core.spec import Assignment, Pipeline
from canary.web.pipeline_view import Past, PipelineView, pipeline_view
from canary.web.recent import Recent
from canary.web.records import Records
from canary.web.words import Words

_MOST_RUNS = 20
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is looked at, in which minute and in which language. `assignment` None: nothing probes it."""

    pipeline: Pipeline
    assignment: Assignment | None
    span: Range
    minute: datetime
    words: Words

    @property
    def name(self) -> str:
        """The same a minute later."""
        probe = self.assignment.probe.name if self.assignment else None
        return repr((self.pipeline.name, probe, self.span.name, self.words.language))

    def view(self, past: Past) -> PipelineView:
        return pipeline_view(self.pipeline, self.assignment, past, span=self.span, now=self.minute, t=self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a drawing is known by."""

    sight: Sight
    runs: tuple[RunRow, ...]
    pages: tuple[Page, ...]
    deploys: tuple[Deploy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    known: Known
    view: PipelineView


def sight_of(pipeline: Pipeline, probe: str | None, span: str, now: datetime, words: Words) -> Sight:
    """Of the probe and the range that were asked for, else of the first ones."""
    named = next((each for each in pipeline.assignments if each.probe.name == probe), None)
    return Sight(
        pipeline=pipeline,
        assignment=named or next(iter(pipeline.assignments), None),
        span=RANGES.get(span, RANGES["24h"]),
        minute=floor(now, _MINUTE),
        words=words,
    )


async def drawing_of(sight: Sight, records: Records, kept: Recent[Drawing], rendering: asyncio.Lock) -> Drawing:
    """Raises AwayError."""
    name, since = sight.pipeline.name, sight.span.starts(sight.minute)[0]
    known = Known(
        sight=sight,
        runs=await records.runs(name, _MOST_RUNS),
        pages=await records.pages(name, since),
        deploys=await records.deploys(since),
    )
    last = kept.get(sight.name)
    if last is not None and last.known == known:
        return last
    probe = sight.assignment.probe.name if sight.assignment else None
    past = Past(
        days=await records.days([name], DAYS.starts(sight.minute)[0]),
        spans=await records.spans(name, probe, sight.span, since) if probe is not None else (),
        pages=known.pages,
        deploys=known.deploys,
    )
    async with rendering:
        return kept.keep(sight.name, Drawing(known=known, view=await asyncio.to_thread(sight.view, past)))


def bare(sight: Sight) -> Drawing:
    """Where the store is away."""
    known = Known(sight=sight, runs=(), pages=(), deploys=())
    return Drawing(known=known, view=sight.view(Past()))
