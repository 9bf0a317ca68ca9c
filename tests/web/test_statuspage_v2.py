"""Every document in every state is what its schema says; and what the states mean in Statuspage's words."""

import pytest
from jsonschema import Draft202012Validator

from canary.core.status import Level
from canary.web.statuspage_v2 import DESCRIPTIONS, DOCUMENTS, UNTOLD
from tests.fakes.boards import STATES
from tests.fakes.statuspage_schema import SCHEMAS


def test_every_document_has_its_schema():
    assert set(SCHEMAS) == set(DOCUMENTS)
    assert set(DESCRIPTIONS) == set(Level)


@pytest.mark.parametrize("path", DOCUMENTS)
@pytest.mark.parametrize("state", STATES)
def test_it_is_what_statuspage_documents(state, path):
    found = list(Draft202012Validator(SCHEMAS[path]).iter_errors(DOCUMENTS[path](STATES[state])))
    assert found == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_the_schemas_can_fail(path):
    document = DOCUMENTS[path](STATES["down in maintenance"]) | {"page": {"id": "x"}}
    assert list(Draft202012Validator(SCHEMAS[path]).iter_errors(document))


@pytest.mark.parametrize(
    ("state", "indicator", "description"),
    [
        ("well", "none", "All Systems Operational"),
        ("nothing to watch", "none", "All Systems Operational"),
        ("never asked", "none", "No Known Outage; Some Components Cannot Be Checked"),
        ("blind", "none", "No Known Outage; Some Components Cannot Be Checked"),
        ("down", "critical", "Major Service Outage"),
        ("slow", "major", "Partial System Outage"),
        ("not felt", "minor", "Partially Degraded Service"),
        ("maintenance", "none", "Service Under Maintenance"),
        ("down in maintenance", "critical", "Major Service Outage"),
        ("overridden", "major", "Partial System Outage"),
        ("over", "none", "All Systems Operational"),
    ],
)
def test_status(state, indicator, description):
    assert DOCUMENTS["status.json"](STATES[state])["status"] == {"indicator": indicator, "description": description}


@pytest.mark.parametrize(
    ("state", "every", "unresolved"),
    [
        ("well", [], []),
        ("down", ["investigating"], ["investigating"]),
        ("acknowledged", ["identified"], ["identified"]),
        ("recovering", ["monitoring"], ["monitoring"]),
        ("settling", ["monitoring"], ["monitoring"]),
        ("over", ["resolved"], []),
    ],
)
def test_incidents(state, every, unresolved):
    def statuses(path):
        return [each["status"] for each in DOCUMENTS[path](STATES[state])["incidents"]]

    assert statuses("incidents.json") == every
    assert statuses("incidents/unresolved.json") == statuses("summary.json") == unresolved


@pytest.mark.parametrize(
    ("state", "every", "upcoming", "active", "summary"),
    [
        ("well", [], 0, 0, 0),
        ("maintenance soon", ["scheduled"] * 6, 6, 0, 6),
        ("maintenance", ["in_progress"], 0, 1, 1),
        ("maintenance is over", ["completed"], 0, 0, 0),
    ],
)
def test_maintenance(state, every, upcoming, active, summary):
    def found(path):
        return DOCUMENTS[path](STATES[state])["scheduled_maintenances"]

    assert [each["status"] for each in found("scheduled-maintenances.json")] == every
    counts = [len(found(f"scheduled-maintenances/{which}.json")) for which in ("upcoming", "active")]
    assert [*counts, len(found("summary.json"))] == [upcoming, active, summary]


def test_groups_and_their_own():
    chat, edge, vllm = DOCUMENTS["components.json"](STATES["well"])["components"]
    assert (chat["group"], chat["components"]) == (True, [edge["id"], vllm["id"]])
    assert edge["group_id"] == vllm["group_id"] == chat["id"]


def test_what_is_not_known_is_said():
    chat, edge, vllm = DOCUMENTS["components.json"](STATES["cannot be told"])["components"]
    assert [chat["description"], edge["description"], vllm["description"]] == [UNTOLD, UNTOLD, None]


def test_updates_come_newest_first_and_say_what_changed():
    (incident,) = DOCUMENTS["incidents.json"](STATES["over"])["incidents"]
    resolved, investigating = incident["incident_updates"]
    assert [each["new_status"] for each in resolved["affected_components"]] == ["operational"] * 2
    assert [each["new_status"] for each in investigating["affected_components"]] == ["major_outage"] * 2
    assert incident["resolved_at"] == resolved["created_at"] == "2026-01-31T11:55:00.000Z"
