"""The board in the shape of Statuspage's API v2, which other programs read: https://metastatuspage.com/api

Every documented member is there, also where it is empty: those who read it are strict. Times are ISO 8601 in UTC with
milliseconds. Ids follow from names, so that they are the same after a restart. What we do not know has no word there:
a component that nobody could tell about is `operational` (no outage is known) and says so in its description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from canary.alerting.board import Board, Component, Planned
from canary.alerting.ids import id_of
from canary.alerting.published import Phase, PublicIncident, Update
from canary.alerting.standing import IMPACTS
from canary.core.observation import Json
from canary.core.status import Level

DESCRIPTIONS: Mapping[Level, str] = MappingProxyType(
    {
        Level.OPERATIONAL: "All Systems Operational",
        Level.MAINTENANCE: "Service Under Maintenance",
        Level.DEGRADED: "Partially Degraded Service",
        Level.PARTIAL: "Partial System Outage",
        Level.MAJOR: "Major Service Outage",
    }
)
UNTOLD = "The monitoring cannot tell at present how this fares."
_UNTOLD_TOO = "No Known Outage; Some Components Cannot Be Checked"


def summary(board: Board) -> Json:
    return {
        **_page(board),
        **_status(board),
        **_components(board),
        "incidents": [_incident(each, board) for each in board.incidents if each.resolved_at is None],
        "scheduled_maintenances": [_planned(each, board) for each in board.planned if not each.is_over(board.at)],
    }


def _unresolved(board: Board) -> Json:
    open_ones = [_incident(each, board) for each in board.incidents if each.resolved_at is None]
    return {**_page(board), "incidents": open_ones}


def _incidents(board: Board) -> Json:
    return {**_page(board), "incidents": [_incident(each, board) for each in board.incidents]}


def _maintenances(which: Callable[[Planned, datetime], bool]) -> Callable[[Board], Json]:
    def document(board: Board) -> Json:
        found = [_planned(each, board) for each in board.planned if which(each, board.at)]
        return {**_page(board), "scheduled_maintenances": found}

    return document


# By path below /api/v2/.
DOCUMENTS: Mapping[str, Callable[[Board], Json]] = MappingProxyType(
    {
        "summary.json": summary,
        "status.json": lambda board: {**_page(board), **_status(board)},
        "components.json": lambda board: {**_page(board), **_components(board)},
        "incidents.json": _incidents,
        "incidents/unresolved.json": _unresolved,
        "scheduled-maintenances.json": _maintenances(lambda _each, _now: True),
        "scheduled-maintenances/upcoming.json": _maintenances(lambda each, now: each.starts_at > now),
        "scheduled-maintenances/active.json": _maintenances(Planned.is_open),
    }
)


def _page(board: Board) -> dict[str, Json]:
    page = {"id": board.id, "name": board.title, "url": board.url, "time_zone": "Etc/UTC"}
    return {"page": {**page, "updated_at": _time(board.changed_at)}}


def _status(board: Board) -> dict[str, Json]:
    untold = board.level is Level.OPERATIONAL and not board.told
    description = _UNTOLD_TOO if untold else DESCRIPTIONS[board.level]
    return {"status": {"indicator": IMPACTS[board.level], "description": description}}


def _components(board: Board) -> dict[str, Json]:
    return {"components": [_component(each, board) for each in board.components]}


def _component(component: Component, board: Board) -> dict[str, Json]:
    group = board.component(component.pipeline)
    is_group = component.hop is None
    touching = [each.updated_at for each in board.incidents if _touches(each, component)]
    own = [each.id for each in board.components if each.pipeline == component.pipeline and each.hop is not None]
    return {
        "id": component.id,
        "name": component.name,
        "status": component.level.value,
        "created_at": _time(board.since),
        "updated_at": _time(max([board.since, *touching])),
        "position": component.position,
        "description": UNTOLD if component.level is Level.OPERATIONAL and not component.told else None,
        "showcase": False,
        "start_date": None,
        "group_id": None if is_group or group is None else group.id,
        "page_id": board.id,
        "group": is_group,
        "only_show_if_degraded": False,
        **({"components": own} if is_group else {}),
    }


def _touches(incident: PublicIncident, component: Component) -> bool:
    return any(component.pipeline == pipeline and component.hop in (None, hop) for pipeline, hop in incident.places)


def _incident(incident: PublicIncident, board: Board) -> Json:
    found = board.touched(incident.places)
    calm = [update.at for update in incident.updates if update.phase is Phase.MONITORING]
    return {
        **_event(incident.id, incident.title, board, found),
        "status": incident.phase.value,
        "impact": incident.impact,
        "created_at": _time(incident.began_at),
        "started_at": _time(incident.began_at),
        "updated_at": _time(incident.updated_at),
        "monitoring_at": _time(calm[0]) if calm else None,
        "resolved_at": _time(incident.resolved_at) if incident.resolved_at else None,
        "incident_updates": [_update(each, incident, found) for each in reversed(incident.updates)],
    }


def _event(event_id: str, name: str, board: Board, touched: Iterable[Component]) -> dict[str, Json]:
    """What incidents and maintenances have in common."""
    return {
        "id": event_id,
        "name": name,
        "shortlink": f"{board.url}/incidents/{event_id}",
        "page_id": board.id,
        "reminder_intervals": None,
        "components": [_component(each, board) for each in touched],
    }


def _update(update: Update, incident: PublicIncident, touched: Iterable[Component]) -> Json:
    changed = _changed(update, incident, touched)
    text = incident.text(update)
    return _told(update.id, incident.id, update.phase.value, text, update.at) | {"affected_components": changed}


def _changed(update: Update, incident: PublicIncident, touched: Iterable[Component]) -> Json:
    """At the beginning and at the end; between them we know of no single component's change."""
    before, after = Level.OPERATIONAL, incident.level
    if update.phase is Phase.RESOLVED and update is incident.updates[-1]:
        before, after = after, before
    elif update is not incident.updates[0]:
        return None
    return [
        {"code": each.id, "name": each.name, "old_status": before.value, "new_status": after.value} for each in touched
    ]


def _told(update_id: str, event_id: str, status: str, body: str, at: datetime) -> dict[str, Json]:
    """One update of an incident or a maintenance."""
    return {
        "id": update_id,
        "incident_id": event_id,
        "status": status,
        "body": body,
        "created_at": _time(at),
        "updated_at": _time(at),
        "display_at": _time(at),
        "affected_components": None,
        "deliver_notifications": False,
        "custom_tweet": None,
        "tweet_id": None,
    }


def _planned(planned: Planned, board: Board) -> Json:
    made_at = min(board.since, planned.starts_at)
    story = [("scheduled", made_at, "Maintenance is planned.")]
    if planned.starts_at <= board.at:
        story.append(("in_progress", planned.starts_at, "Maintenance has begun."))
    if planned.is_over(board.at):
        story.append(("completed", planned.ends_at, "Maintenance is over."))
    status, at, _ = story[-1]
    touched = board.touched(planned.places)
    return {
        **_event(planned.id, planned.name, board, touched),
        "shortlink": board.url,
        "status": status,
        "impact": IMPACTS[Level.MAINTENANCE],
        "created_at": _time(made_at),
        "started_at": _time(made_at),
        "updated_at": _time(at),
        "monitoring_at": None,
        "resolved_at": _time(planned.ends_at) if planned.is_over(board.at) else None,
        "scheduled_for": _time(planned.starts_at),
        "scheduled_until": _time(planned.ends_at),
        "incident_updates": [
            _told(id_of("update", planned.id, word)[:16], planned.id, word, body, when)
            for word, when, body in reversed(story)
        ],
    }


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
