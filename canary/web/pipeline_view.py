"""What the page of a pipeline shows: each hop over time, with all that may explain a change on the same axis. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from canary.analysis.fingerprint import changes
from canary.core.deploy import Deploy
from canary.core.incident import Incident, Page
from canary.core.measurement import Fingerprint
from canary.core.span import DAYS, Day, Range, Span, Spread
from canary.core.spec import Assignment, Hop, Pipeline
from canary.core.timeout import Clock, TimerPhase
from canary.web.bars import Strip, strip
from canary.web.chart import Axis, Chart, Drawn, Level, Line, draw
from canary.web.sayings import headline
from canary.web.words import Words

_MOST_MARKS = 60
_LOOKS = ("one", "two", "three", "four")  # as many as there are clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the store has of a pipeline. `spans`: of one probe, oldest first; `pages` and `deploys` newest first."""

    days: Sequence[Day] = ()
    spans: Sequence[Span] = ()
    pages: Sequence[Page] = ()
    deploys: Sequence[Deploy] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """`kind`: incident, deploy or version."""

    at: datetime
    kind: str
    text: str
    until: datetime | None = None
    page_id: str | None = None
    severity: str | None = None

    def ends(self, now: datetime) -> datetime:
        """An incident without an end goes on; anything else is a moment."""
        return self.until or (now if self.kind == "incident" else self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HopCharts:
    """`bars` None: nothing is known of its days."""

    name: str
    bars: Strip | None
    charts: tuple[Drawn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineView:
    axis: Axis
    hops: tuple[HopCharts, ...]
    marks: tuple[Mark, ...]
    bars: Strip


def strips(days: Iterable[Day], now: datetime, t: Words) -> Mapping[tuple[str, str], Strip]:
    """By (pipeline, hop)."""
    by_place: dict[tuple[str, str], dict[datetime, Day]] = {}
    for day in days:
        by_place.setdefault((day.pipeline, day.hop), {})[day.at] = day
    starts = DAYS.starts(now)
    return {place: strip({at: day.counts for at, day in mine.items()}, starts, t) for place, mine in by_place.items()}


def pipeline_view(  # what is shown, of whom, over which time, in which language
    pipeline: Pipeline, assignment: Assignment | None, past: Past, *, span: Range, now: datetime, t: Words
) -> PipelineView:
    starts = span.starts(now)
    bare = Axis(starts=starts, end=starts[-1] + span.grain)
    marks = tuple(_marks(pipeline, past, bare, now, t))
    axis = Axis(
        starts=starts,
        end=bare.end,
        incidents=[(bare.place(each.at), bare.place(each.until or now)) for each in marks if each.kind == "incident"],
        marks=[(bare.place(each.at), each.kind) for each in marks if each.kind != "incident"],
    )
    days = strips(past.days, now, t)
    probed = [hop for hop in pipeline.hops if hop.url is not None]
    by_hop: dict[str, dict[datetime, Span]] = {hop.name: {} for hop in pipeline.hops}
    for each in past.spans:
        by_hop.setdefault(each.hop, {})[each.at] = each
    return PipelineView(
        axis=axis,
        hops=tuple(
            HopCharts(
                name=hop.name,
                bars=days.get((pipeline.name, hop.name)),
                charts=tuple(
                    draw(chart, axis, t) for chart in _charts(hop, pipeline, assignment, by_hop[hop.name], starts, t)
                ),
            )
            for hop in probed
        ),
        marks=marks,
        bars=days.get((pipeline.name, "")) or strip({}, DAYS.starts(now), t),
    )


def _charts(
    hop: Hop,
    pipeline: Pipeline,
    assignment: Assignment | None,
    spans: Mapping[datetime, Span],
    starts: Sequence[datetime],
    t: Words,
) -> Iterator[Chart]:
    shown = [spans.get(start) for start in starts]
    yield _firsts(shown, assignment.first_visible_s if assignment else None, t)
    yield _silences(shown, pipeline.hops[: pipeline.hops.index(hop)], t)
    share = [each.reasoning_share if each else None for each in shown]
    line = Line(name=t("reasoning_share"), look="one", values=_means(share), band=_reach(share))
    yield Chart(title=t("reasoning_share"), lines=(line,), share=True)


def _firsts(shown: Sequence[Span | None], limit_s: float | None, t: Words) -> Chart:
    visible = [each.first_visible if each else None for each in shown]
    thought = [each.first_reasoning if each else None for each in shown]
    return Chart(
        title=t("first_visible"),
        lines=(
            Line(name=t("first_visible"), look="one", values=_means(visible), band=_reach(visible)),
            Line(name=t("first_reasoning"), look="two", values=_means(thought)),
        ),
        levels=(Level(name=t("limit", value="").strip(), value=limit_s),) if limit_s else (),
        never=[each.never if each else 0 for each in shown],
    )


def _silences(shown: Sequence[Span | None], listeners: Sequence[Hop], t: Words) -> Chart:
    """`listeners`: the hops above, whose idle timeouts watch this one. A line for each of their clocks."""
    timers = [timer for above in listeners for timer in above.timeouts if timer.phase is TimerPhase.IDLE]
    clocks = [clock for clock in Clock if any(timer.clock is clock for timer in timers)] or [Clock.VISIBLE]
    return Chart(
        title=t("longest_silence"),
        lines=tuple(
            Line(
                name=t(f"clock_{clock}"),
                look=look,
                values=[each.silences.get(clock.value) if each else None for each in shown],
            )
            for look, clock in zip(_LOOKS, clocks, strict=False)
        ),
        levels=tuple(Level(name=f"{timer.hop or ''}/{timer.name}".strip("/"), value=timer.limit_s) for timer in timers),
    )


def _means(spreads: Sequence[Spread | None]) -> list[float | None]:
    return [each.mean if each else None for each in spreads]


def _reach(spreads: Sequence[Spread | None]) -> list[tuple[float, float] | None]:
    return [(each.least, each.most) if each else None for each in spreads]


def _marks(pipeline: Pipeline, past: Past, axis: Axis, now: datetime, t: Words) -> Iterator[Mark]:
    """Newest first, the newest so many."""
    found = [*_incidents(past.pages, t), *_deploys(pipeline, past.deploys), *_versions(pipeline, past.spans)]
    inside = [each for each in found if each.ends(now) >= axis.starts[0] and each.at <= axis.end]
    yield from sorted(inside, key=lambda mark: (mark.at, mark.kind, mark.text), reverse=True)[:_MOST_MARKS]


def _incidents(pages: Iterable[Page], t: Words) -> Iterator[Mark]:
    for page in pages:
        yield Mark(
            at=page.opened_at,
            kind="incident",
            text=title_of(page, t),
            until=page.resolved_at,
            page_id=page.id,
            severity=page.severity.value,
        )


def messages_of(incidents: Iterable[Incident]) -> tuple[str, ...]:
    """What their findings say; of several probes that see the same, what the first one says."""
    told: dict[tuple[object, ...], str] = {}
    for each in incidents:
        told.setdefault((each.key.check, each.finding.reason, each.key.origin, each.key.subject), each.finding.message)
    return tuple(dict.fromkeys(told.values()))


def speaker_of(page: Page, members: Sequence[Incident] = ()) -> Incident | None:
    """What speaks for the page; of one from before pages had a voice, its first member."""
    return page.lead or next(iter(members), None)


def title_of(page: Page, t: Words, members: Sequence[Incident] = ()) -> str:
    speaker = speaker_of(page, members)
    return headline(t, speaker.finding) if speaker else page.id


def _deploys(pipeline: Pipeline, deploys: Iterable[Deploy]) -> Iterator[Mark]:
    for each in deploys:
        mine = each.pipeline == pipeline.name or (
            each.pipeline is None and each.labels.items() <= pipeline.labels.items()
        )
        if mine:
            yield Mark(at=each.at, kind="deploy", text=each.text)


def _versions(pipeline: Pipeline, spans: Sequence[Span]) -> Iterator[Mark]:
    """To the span in which the new one was first the latest. What every hop shows is said once."""
    seen: dict[tuple[datetime, str], list[str]] = {}
    told: dict[str, list[Span]] = {hop.name: [] for hop in pipeline.hops}
    for each in spans:
        if each.hop in told and each.fingerprint is not None:
            told[each.hop].append(each)
    for hop in pipeline.hops:
        for before, after in pairwise(told[hop.name]):
            if before.fingerprint is after.fingerprint or before.fingerprint == after.fingerprint:
                continue
            for change in changes(before.fingerprint or Fingerprint(), after.fingerprint or Fingerprint()):
                seen.setdefault((after.at, change), []).append(hop.name)
    for (at, change), hops in seen.items():
        yield Mark(at=at, kind="version", text=f"{change} ({', '.join(hops)})")
