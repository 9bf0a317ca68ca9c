"""What people outside see, as one value: components and how they fare, incidents, planned maintenance. Pure.

A pipeline is a group, its probed hops are the components in it. What nobody could tell of a component is said (`told`),
and is no outage: the levels that other programs know have no word for it. Nor does an answer tell anything once three
more should have come: a monitor that stands still must not look like a service that is well.

A maintenance window is public where it is about whole pipelines or hops. One that only quiets a check, a probe or a
severity is an affair of those who are paged, and so is every silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from canary.alerting.calendar import occurrences
from canary.alerting.ids import id_of
from canary.alerting.incidents import ACTIVE, BLIND
from canary.alerting.published import PublicIncident, Said, published, shows, spoken
from canary.alerting.standing import newest, standing, with_words, worst_of
from canary.core.incident import Incident, Page
from canary.core.route import Maintenance, Match
from canary.core.schedule import Every
from canary.core.snapshot import Snapshot
from canary.core.spec import Pipeline
from canary.core.status import Level, Note, Override
from canary.core.verdict import Status

MOST_INCIDENTS = 50  # as many as Statuspage shows
AHEAD = timedelta(days=30)
BACK = timedelta(days=1)  # so that who follows a window also sees that it is over
MOST_OF_A_WINDOW = 10
GRACE = timedelta(minutes=10)  # beyond three intervals, as long as a slow run may take


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """`hop` None: the whole pipeline, a group. `told`: whether it is known how it fares."""

    id: str
    pipeline: str
    hop: str | None
    level: Level
    told: bool
    position: int

    @property
    def name(self) -> str:
        return spoken(self.hop or self.pipeline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One occurrence of a maintenance window."""

    id: str
    name: str
    starts_at: datetime
    ends_at: datetime
    places: tuple[tuple[str, str], ...]

    def is_open(self, now: datetime) -> bool:
        return self.starts_at <= now < self.ends_at

    def is_over(self, now: datetime) -> bool:
        return self.ends_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """`components`: each group before its own. `incidents`: newest first. `planned`: the next one first.

    `changed_at`: when the newest of what is shown came to be.
    """

    id: str
    title: str
    url: str
    at: datetime
    since: datetime
    changed_at: datetime
    components: tuple[Component, ...]
    incidents: tuple[PublicIncident, ...]
    planned: tuple[Planned, ...]

    @property
    def level(self) -> Level:
        return worst_of(component.level for component in self.components)

    @property
    def told(self) -> bool:
        return all(component.told for component in self.components)

    def component(self, pipeline: str, hop: str | None = None) -> Component | None:
        return next((each for each in self.components if (each.pipeline, each.hop) == (pipeline, hop)), None)

    def touched(self, places: Iterable[tuple[str, str]]) -> tuple[Component, ...]:
        """Of (pipeline, hop), those that the plan has."""
        return tuple(found for place in places if (found := self.component(*place)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronicle:
    """What the store adds to a snapshot: pages of the past, what people said of them, and overrides."""

    pages: tuple[Page, ...] = ()
    notes: tuple[Note, ...] = ()
    overrides: tuple[Override, ...] = ()


def board(snapshot: Snapshot, chronicle: Chronicle, url: str) -> Board:
    """`url`: how links to us begin."""
    now, settings = snapshot.at, snapshot.plan.service.status_page
    overrides = [each for each in chronicle.overrides if each.holds(now)]
    pages = {page.id: page for page in (*chronicle.pages, *snapshot.pages)}  # the snapshot is newer
    told = {page.id: _said(page, chronicle, now) for page in pages.values()}
    shown = [page for page in pages.values() if shows(page, told[page.id], settings.min_age_s, now)]
    incidents = sorted(
        (published(page, snapshot.incidents, told[page.id], content=settings.content) for page in shown),
        key=lambda each: (each.began_at, each.id),
        reverse=True,
    )
    planned = tuple(sorted(_planned(snapshot, now), key=lambda each: (each.starts_at, each.id)))
    levels = with_words(_maintained(standing(shown, snapshot.incidents, overrides), planned, now), overrides)
    return Board(
        id=id_of("status page", settings.title)[:12],
        title=spoken(settings.title),
        url=url,
        at=now,
        since=snapshot.started_at,
        changed_at=_changed_at(snapshot, incidents, planned, overrides),
        components=tuple(_components(snapshot, levels)),
        incidents=_most(incidents),
        planned=planned,
    )


def component_id(pipeline: str, hop: str | None) -> str:
    return id_of("component", pipeline, *([hop] if hop is not None else []))[:12]


def _said(page: Page, chronicle: Chronicle, now: datetime) -> Said:
    """What held when it was over holds for ever after: history does not change by itself."""
    moments = [now] if page.resolved_at is None else [now, page.resolved_at]
    return Said(
        notes=[each for each in chronicle.notes if each.page_id == page.id],
        overrides=[
            each for each in chronicle.overrides if each.page_id == page.id and any(each.holds(at) for at in moments)
        ],
    )


def _most(incidents: Sequence[PublicIncident]) -> tuple[PublicIncident, ...]:
    """All that go on, however old, and the newest of the others."""
    over = [each for each in incidents if each.resolved_at is not None][:MOST_INCIDENTS]
    return tuple(each for each in incidents if each.resolved_at is None or each in over)


def _components(snapshot: Snapshot, levels: Mapping[tuple[str, str | None], Level]) -> Iterator[Component]:
    told, blind, position = _told(snapshot), _blind(snapshot.incidents), 0
    for pipeline in snapshot.plan.pipelines:
        hops = [hop.name for hop in pipeline.hops if hop.url is not None]
        known = [(pipeline.name, hop) in told and (pipeline.name, hop) not in blind for hop in hops]
        for hop, is_told in ((None, all(known)), *zip(hops, known, strict=True)):
            position += 1
            yield Component(
                id=component_id(pipeline.name, hop),
                pipeline=pipeline.name,
                hop=hop,
                level=levels.get((pipeline.name, hop), Level.OPERATIONAL),
                told=is_told,
                position=position,
            )


def _told(snapshot: Snapshot) -> set[tuple[str, str]]:
    """(pipeline, hop) of which at least one newest answer has a verdict that is one, and is not too old."""
    oldest = {
        (pipeline.name, each.probe.name): snapshot.at - timedelta(seconds=3 * each.schedule.seconds) - GRACE
        for pipeline in snapshot.plan.pipelines
        for each in pipeline.assignments
        if isinstance(each.schedule, Every)
    }
    return {
        (latest.pipeline, latest.hop)
        for latest in snapshot.latest
        if any(verdict.status is not Status.UNKNOWN for verdict in latest.verdicts)
        and latest.at >= oldest.get((latest.pipeline, latest.probe), latest.at)
    }


def _blind(incidents: Iterable[Incident]) -> set[tuple[str, str]]:
    firing = [each for each in incidents if each.key.check == BLIND and each.state in ACTIVE]
    return {(each.key.pipeline, hop) for each in firing for hop in (each.key.origin, *each.finding.affected)}


def _planned(snapshot: Snapshot, now: datetime) -> Iterator[Planned]:
    for maintenance in snapshot.plan.maintenance:
        places = tuple(_touched(maintenance, snapshot.plan.pipelines))
        if not places or not _is_public(maintenance.match):
            continue
        for window in occurrences(maintenance.window, now - BACK, now + AHEAD, MOST_OF_A_WINDOW):
            yield Planned(
                id=id_of("maintenance", maintenance.name, window.starts_at.isoformat()),
                name=spoken(maintenance.name),
                starts_at=window.starts_at,
                ends_at=window.ends_at,
                places=places,
            )


def _is_public(match: Match) -> bool:
    return match.probe is None and match.check is None and match.severity is None


def _touched(maintenance: Maintenance, pipelines: Iterable[Pipeline]) -> Iterator[tuple[str, str]]:
    match = maintenance.match
    for pipeline in pipelines:
        labelled = all(pipeline.labels.get(name) == value for name, value in match.labels.items())
        if labelled and match.pipeline in (None, pipeline.name):
            yield from ((pipeline.name, hop.name) for hop in pipeline.hops if match.hop in (None, hop.name) and hop.url)


def _maintained(
    levels: Mapping[tuple[str, str | None], Level], planned: Iterable[Planned], now: datetime
) -> Mapping[tuple[str, str | None], Level]:
    """What is being worked on says so, unless it fails worse; planned work explains no outage away."""
    found = dict(levels)
    for pipeline, hop in (place for each in planned if each.is_open(now) for place in each.places):
        for place in ((pipeline, hop), (pipeline, None)):
            found[place] = worst_of((found.get(place, Level.OPERATIONAL), Level.MAINTENANCE))
    return MappingProxyType(found)


def _changed_at(
    snapshot: Snapshot,
    incidents: Iterable[PublicIncident],
    planned: Iterable[Planned],
    overrides: Iterable[Override],
) -> datetime:
    said = newest(overrides)
    moments = [
        snapshot.started_at,
        *(each.updated_at for each in incidents),
        *(at for each in planned for at in (each.starts_at, each.ends_at) if at <= snapshot.at),
        *([said.at] if said else []),
    ]
    return max(moments)
