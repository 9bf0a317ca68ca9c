"""From incidents to levels: the one place that says how bad for people each kind of finding is.

- A finding that does not reach the hop nearest to people is `degraded_performance`, whatever its check.
- One that does is a `major_outage` where people get no usable answer, and a `partial_outage` where they get a late,
  wrong or odd one.
- A monitor that cannot tell says nothing about its target: no level comes from it, and it is told apart.
- A hop is as bad as the worst incident that begins at it or reaches it; a pipeline is as bad as its worst incident.
- A person's word on a page counts instead of what the page's incidents say. On a pipeline it is the pipeline's level,
  and no hop of it is shown as worse than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from canary.alerting.incidents import ACTIVE, BLIND
from canary.core.finding import Severity
from canary.core.incident import Incident, Page
from canary.core.status import Level, Override

NO_ANSWER = frozenset({"reachable", "complete", "visible_content", "idle_timeout"})
ORDER = tuple(Level)

# The impact of an incident, and the indicator of the whole page, from the worst level: as Statuspage blends them. Its
# own pages also say `maintenance`, but its documentation names these four only, and some programs know no other.
IMPACTS: Mapping[Level, str] = MappingProxyType(
    {
        Level.OPERATIONAL: "none",
        Level.MAINTENANCE: "none",
        Level.DEGRADED: "minor",
        Level.PARTIAL: "major",
        Level.MAJOR: "critical",
    }
)


def level_of(check: str, severity: Severity) -> Level:
    if check == BLIND:
        return Level.OPERATIONAL
    if severity is not Severity.CRITICAL:
        return Level.DEGRADED
    return Level.MAJOR if check in NO_ANSWER else Level.PARTIAL


def worst_of(levels: Iterable[Level]) -> Level:
    return max(levels, key=ORDER.index, default=Level.OPERATIONAL)


def page_level(page: Page, overrides: Iterable[Override]) -> Level:
    """By its severity and the incident that speaks for it, unless a person said otherwise."""
    said = newest(each for each in overrides if each.page_id == page.id)
    if said:
        return said.level
    return level_of(page.lead.finding.check, page.severity) if page.lead else Level.OPERATIONAL


def newest(overrides: Iterable[Override]) -> Override | None:
    return max(overrides, key=lambda each: each.at, default=None)


def standing(
    pages: Iterable[Page], incidents: Sequence[Incident], overrides: Sequence[Override] = ()
) -> Mapping[tuple[str, str | None], Level]:
    """By (pipeline, hop), and by (pipeline, None) for all of it; what is not there is operational.

    Only incidents that belong to one of `pages` count.
    """
    found: dict[tuple[str, str | None], Level] = {}
    for page in pages:
        said = newest(each for each in overrides if each.page_id == page.id)
        for incident in incidents:
            if incident.id not in page.members or incident.state not in ACTIVE:
                continue
            level = said.level if said else level_of(incident.key.check, incident.severity)
            for hop in (None, incident.key.origin, *incident.finding.affected):
                place = (incident.key.pipeline, hop)
                found[place] = worst_of((found.get(place, Level.OPERATIONAL), level))
    return MappingProxyType(found)


def with_words(
    found: Mapping[tuple[str, str | None], Level], overrides: Sequence[Override]
) -> Mapping[tuple[str, str | None], Level]:
    """What people said of pipelines, on top. `overrides`: those that hold now."""
    levels = dict(found)
    for pipeline in {each.pipeline for each in overrides if each.pipeline is not None}:
        said = newest(each for each in overrides if each.pipeline == pipeline)
        assert said is not None  # noqa: S101  # there is one at least
        levels[pipeline, None] = said.level
        for place in found:
            if place[0] == pipeline and place[1] is not None:
                levels[place] = min(found[place], said.level, key=ORDER.index)
    return MappingProxyType(levels)
