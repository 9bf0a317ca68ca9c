"""`canary incidents`: what is wrong now, and what changed."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from canary.cli.when import now
from canary.core.conclusion import Conclusion
from canary.core.finding import Finding, Severity
from canary.core.incident import Event, Incident, IncidentKey, Page, State, Transition
from canary.core.verdict import Status
from tests.fakes.stored_runs import filled, storage_at

HOSTILE = "\x1b[2J\x9b31m\u202egnp\n"
BUDGET = Finding(
    check="budget",
    reason="ignored",
    origin="gateway",
    edge=("gateway", "engine"),
    severity=Severity.CRITICAL,
    subject="thinking_token_budget",
    message="`thinking_token_budget` is lost between gateway and engine",
    variant="thinking_token_budget=32",
)


def incident(name, state, *, finding=BUDGET, minutes=12):
    at = now() - timedelta(minutes=minutes)
    key = IncidentKey(
        pipeline="chat", probe="tiny", check=finding.check, origin=finding.origin, subject=finding.subject
    )
    return Incident(
        id=name,
        key=key,
        cause="c",
        state=state,
        since=at,
        window=(Status.FAIL,),
        severity=finding.severity,
        finding=finding,
        run_id=f"run-of-{name}",
        opened_at=None if state is State.PENDING else at,
    )


def change(name, before, after, event, *, minutes):
    key = incident(name, after).key
    at = now() - timedelta(minutes=minutes)
    return Transition(
        incident_id=name, key=key, at=at, before=before, after=after, event=event, severity=Severity.CRITICAL
    )


FIRING = incident("fire1", State.FIRING)
CONCLUSION = Conclusion(
    incidents=(
        incident(
            "pend1", State.PENDING, finding=replace(BUDGET, check="answer", reason="wrong", edge=None, subject=None)
        ),
        FIRING,
        incident("over1", State.OK),
    ),
    pages=(
        Page(id="page1", cause="c", opened_at=now(), severity=Severity.CRITICAL, members=("fire1",), acked_by="kim"),
    ),
    transitions=(
        change("fire1", State.OK, State.PENDING, Event.FAILED, minutes=60),
        change("fire1", State.PENDING, State.FIRING, Event.FAILED_ENOUGH, minutes=12),
        change("over1", State.RECOVERING, State.OK, Event.PASSED_ENOUGH, minutes=100),
    ),
)


@pytest.fixture
def store(tmp_path):
    """Makes a store with this conclusion in it; returns its URL."""

    def make(conclusion):
        storage = storage_at(tmp_path / "canary.db")

        async def fill():
            async with filled(storage, []) as opened:
                await opened.save_conclusion(conclusion)

        asyncio.run(fill())
        return storage.url.reveal()

    return make


def test_what_is_open_and_what_changed(canary, store):
    said = canary("incidents", "--storage", store(CONCLUSION))
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    assert words.startswith(
        "FIRING CRITICAL budget ignored (thinking_token_budget), between gateway and engine `thinking"
    )
    assert re.search(r"\(1[2-9] min( \d+ s)?\)", words)
    assert "incident fire1; run run-of-fire1; page page1, acknowledged by kim" in words
    assert words.index("PENDING CRITICAL answer wrong, at gateway") > words.index("page page1")
    changes = said.out.split("changes since", 1)[1].splitlines()[1:]
    assert [line.split("  ")[1] for line in changes] == ["recovering → ok", "ok → pending", "pending → firing"]
    assert changes[2].endswith("chat, tiny: budget thinking_token_budget at gateway")
    assert "over1" not in words


def test_only_what_is_open(canary, store):
    url = store(CONCLUSION)
    assert "changes since" not in canary("incidents", "--open", "--storage", url).out
    found = canary("incidents", "--open", "--storage", url, "--json").json
    assert sorted(each["id"] for each in found["incidents"]) == ["fire1", "pend1"]
    assert "transitions" not in found


def test_changes_since(canary, store):
    url = store(CONCLUSION)
    found = canary("incidents", "--since", "45m", "--storage", url, "--json").json
    assert [each["after"] for each in found["transitions"]] == ["firing"]
    assert [page["acked_by"] for page in found["pages"]] == ["kim"]


def test_nothing_is_wrong(canary, store):
    assert "no incident is open" in canary("incidents", "--open", "--storage", store(Conclusion())).out


def test_the_state_machine_needs_no_store(canary):
    said = canary("incidents", "--diagram")
    assert said.code == 0
    table, mermaid = said.out.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == [state.value for state in State]
    assert mermaid.startswith("stateDiagram-v2")
    assert f"{State.PENDING} --> {State.FIRING}" in mermaid


def test_stored_text_is_shown_and_not_obeyed(canary, store):
    finding = replace(BUDGET, message=HOSTILE, reason=HOSTILE, subject=HOSTILE, origin=HOSTILE)
    url = store(Conclusion(incidents=(incident("fire1", State.FIRING, finding=finding),)))
    for options in ((), ("--json",)):
        said = canary("incidents", "--storage", url, *options)
        assert "fire1" in said.out
        assert not set(said.out) & {"\x1b", "\x9b", "\u202e"}
    assert json.loads(said.out)["incidents"][0]["finding"]["message"] == HOSTILE
