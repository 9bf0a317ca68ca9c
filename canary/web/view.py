"""What the first page shows, taken out of a snapshot. Pure; texts are as they came, and the template escapes them.

A hop has one card, though several probes ask it in several forms. Its state is the worst verdict of all of them; its
times are those of one whole answer: the one that used most of its limit, then the slowest. Where no visible text came,
that took longer than any.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from canary.analysis.remember import values_of
from canary.checks.idle_timeout import FIRES_LATER
from canary.core.finding import Severity
from canary.core.incident import Incident, Page, State
from canary.core.run import WHOLE
from canary.core.snapshot import Latest, Snapshot
from canary.core.spec import Hop, Pipeline
from canary.core.verdict import Status, Verdict, worst
from canary.web.metrics import headroom, reasoning_share
from canary.web.pipeline_view import messages_of, speaker_of, title_of
from canary.web.sayings import felt
from canary.web.words import Words

NEVER_S = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The timeout that came nearest to firing, of those that would have fired the first to cut.

    `left`: share of its limit; negative: it would have fired.
    """

    timeout: str
    left: float
    limit_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One hop. `status` None: never asked. `first_visible_s`: `NEVER_S` where no visible text came, None: not told.

    `at`: of its newest answer; `run_id`: of the run that `said` is from, else of the newest.
    """

    name: str
    probed: bool
    status: Status | None = None
    said: Verdict | None = None
    first_visible_s: float | None = None
    limit_s: float | None = None
    nearest: Nearest | None = None
    reasoning_share: float | None = None
    at: datetime | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLine:
    name: str
    last: datetime | None
    next: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One pipeline; `cards` from the user down. `severity`: of its worst incident that fires."""

    name: str
    labels: tuple[tuple[str, str], ...]
    status: Status | None
    severity: Severity | None
    cards: tuple[Card, ...]
    probes: tuple[ProbeLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A page that is open. `feels`: what people notice, "" where not known; `messages`: of its members, each once."""

    page: Page
    title: str
    feels: str
    messages: tuple[str, ...]
    pipelines: tuple[str, ...]
    seen_by: tuple[str, ...]
    recovering: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """`summary`: which of the sentences `status_…` fits best."""

    at: datetime
    summary: str
    rows: tuple[Row, ...]
    opens: tuple[Open, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def view_of(snapshot: Snapshot, t: Words) -> View:
    answers: dict[str, dict[str, list[Latest]]] = defaultdict(lambda: defaultdict(list))
    for latest in snapshot.latest:
        answers[latest.pipeline][latest.hop].append(latest)
    rows = tuple(_row(pipeline, snapshot, answers[pipeline.name]) for pipeline in snapshot.plan.pipelines)
    opens = tuple(_open(page, snapshot.incidents, t) for page in snapshot.pages if page.resolved_at is None)
    return View(
        at=snapshot.at,
        summary=_summary(rows, opens),
        rows=rows,
        opens=opens,
        problems=snapshot.readiness.problems,
        notes=snapshot.readiness.notes,
    )


def _summary(rows: Sequence[Row], opens: Sequence[Open]) -> str:
    """The worst that can be said, and never that all is well while something is not known."""
    states = {card.status for row in rows for card in row.cards if card.probed}
    if opens:
        return "incidents"
    if Status.FAIL in states:
        return "troubled"
    if Status.UNKNOWN in states:
        return "unknown"
    return "waiting" if None in states or not states else "all"


def _row(pipeline: Pipeline, snapshot: Snapshot, answers: Mapping[str, Sequence[Latest]]) -> Row:
    """`answers`: by hop."""
    firing = {each.severity for each in snapshot.incidents if each.key.pipeline == pipeline.name and _fires(each)}
    names = [assignment.probe.name for assignment in pipeline.assignments]
    return Row(
        name=pipeline.name,
        labels=tuple(sorted(pipeline.labels.items())),
        status=_worst([latest for mine in answers.values() for latest in mine]),
        severity=next((severity for severity in Severity if severity in firing), None),
        cards=tuple(_card(hop, pipeline, answers.get(hop.name, ())) for hop in pipeline.hops),
        probes=tuple(
            ProbeLine(
                name=name,
                last=snapshot.last_runs.get((pipeline.name, name)),
                next=snapshot.next_runs.get((pipeline.name, name)),
            )
            for name in names
        ),
    )


def _card(hop: Hop, pipeline: Pipeline, mine: Sequence[Latest]) -> Card:
    if not mine:
        return Card(name=hop.name, probed=hop.url is not None)
    limits = {assignment.probe.name: assignment.first_visible_s for assignment in pipeline.assignments}
    whole = [each for each in mine if each.variant in WHOLE]
    slowest = max(whole, key=lambda each: _slowness(each, limits.get(each.probe)), default=None)
    status, newest = _worst(mine), max(mine, key=lambda each: each.at)
    speaker, said = _said(mine, status) or (newest, None)
    return Card(
        name=hop.name,
        probed=True,
        status=status,
        said=said,
        first_visible_s=_first_visible_s(slowest) if slowest else None,
        limit_s=limits.get(slowest.probe) if slowest else None,
        nearest=_nearest(mine),
        reasoning_share=reasoning_share(slowest.measurement) if slowest else None,
        at=newest.at,
        run_id=speaker.run_id,
    )


def _first_visible_s(latest: Latest) -> float | None:
    values = values_of(latest.measurement)
    if values.get("zero_visible"):
        return NEVER_S
    return latest.measurement.time_to_first_visible_content_s


def _slowness(latest: Latest, limit_s: float | None) -> tuple[float, float]:
    first_s = _first_visible_s(latest)
    if first_s is None:
        return (-1.0, -1.0)
    if first_s == NEVER_S:
        return (NEVER_S, NEVER_S)
    return (first_s / limit_s if limit_s else 0.0, first_s)


def _worst(latest: Sequence[Latest]) -> Status | None:
    return worst(verdict for each in latest for verdict in each.verdicts) if latest else None


def _said(latest: Iterable[Latest], status: Status | None) -> tuple[Latest, Verdict] | None:
    """The first verdict that made the state what it is, and its answer; none where all is well."""
    if status is Status.PASS:
        return None
    return next(((each, verdict) for each in latest for verdict in each.verdicts if verdict.status is status), None)


def _nearest(latest: Iterable[Latest]) -> Nearest | None:
    found = [
        (verdict.reason == FIRES_LATER, left, verdict)
        for each in latest
        for verdict in each.verdicts
        if (left := headroom(verdict)) is not None
    ]
    if not found:
        return None
    _, left, verdict = min(found, key=lambda each: each[:2])
    return Nearest(timeout=verdict.subject or "", left=left, limit_s=verdict.limit)


def _open(page: Page, incidents: Iterable[Incident], t: Words) -> Open:
    members = [incident for incident in incidents if incident.id in page.members]
    lead = speaker_of(page, members)
    return Open(
        page=page,
        title=title_of(page, t, members),
        feels=felt(t, lead.finding) if lead else "",
        messages=messages_of(members),
        pipelines=page.pipelines or tuple(dict.fromkeys(member.key.pipeline for member in members)),
        seen_by=tuple(dict.fromkeys(f"{member.key.pipeline} / {member.key.probe}" for member in members)),
        recovering=bool(members) and all(member.state is State.RECOVERING for member in members),
    )


def _fires(incident: Incident) -> bool:
    return incident.state in (State.FIRING, State.RECOVERING)
