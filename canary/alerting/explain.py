"""Would it notify, whom, when, and why not: the same decisions as the daemon's, asked before or after the fact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from canary.alerting.cause import cause_of, key_of
from canary.alerting.incidents import ACTIVE, counting
from canary.alerting.pages import regroup
from canary.alerting.routing import Chosen, audience, policy_for
from canary.alerting.rules import Known, Rules
from canary.alerting.telling import Decision, announced_to, decisions
from canary.core.finding import Finding
from canary.core.incident import Incident, Page, State
from canary.core.notification import Reason
from canary.core.route import Policy
from canary.core.units import format_duration, plural
from canary.core.verdict import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`page`: the one that it is on, or would be. `decisions`: what each receiver would hear now, were it to fire.

    `missing`: how many failures more it takes to fire; 0: it does.
    """

    incident: Incident
    policy: Policy
    routes: tuple[Chosen, ...]
    missing: int
    page: Page
    joins: bool
    decisions: tuple[Decision, ...]

    @property
    def would_notify(self) -> bool:
        return self.missing == 0 and any(decision.told for decision in self.decisions)


def explain_finding(
    finding: Finding, pipeline: str, probe: str, known: Known, rules: Rules, now: datetime
) -> Explanation:
    """Of a finding that the next run may have; one that is an incident already is explained as that."""
    key = key_of(pipeline, probe, finding)
    existing = next((each for each in known.incidents if each.key == key), None)
    if existing is not None:
        return explain_incident(existing, known, rules, now)
    incident = Incident(
        id="",
        key=key,
        cause=cause_of(key, rules),
        state=State.OK,
        since=now,
        window=(),
        severity=finding.severity,
        finding=finding,
        run_id="",
    )
    return explain_incident(incident, known, rules, now)


def explain_incident(incident: Incident, known: Known, rules: Rules, now: datetime) -> Explanation:
    policy = counting(incident.key.check, policy_for(rules, incident.key, incident.severity))
    fires = incident.state in ACTIVE
    firing = incident if fires else replace(incident, state=State.FIRING, opened_at=now)
    others = tuple(each for each in known.incidents if each.id != incident.id)
    page = _page_with(firing, regroup(known.pages, (*others, firing), rules, now))
    members = tuple(each for each in (*others, firing) if each.id in page.members)
    return Explanation(
        incident=incident,
        policy=policy,
        routes=audience(rules, incident),
        missing=0 if fires else _missing(incident.window, policy),
        page=page,
        joins=len(members) > 1,
        decisions=decisions(page, members, rules, now),
    )


def explain_page(page: Page, known: Known, rules: Rules, now: datetime) -> tuple[Explanation, ...]:
    """One for each member; none where nothing fires any more."""
    members = [each for each in known.incidents if each.id in page.members]
    return tuple(explain_incident(each, known, rules, now) for each in members)


def lines(explanation: Explanation, now: datetime) -> tuple[str, ...]:
    """Sentences for a terminal."""
    return tuple(_lines(explanation, now))


def _page_with(incident: Incident, pages: Sequence[Page]) -> Page:
    return next(page for page in pages if incident.id in page.members and page.resolved_at is None)


def _missing(window: Sequence[Status], policy: Policy) -> int:
    """Failures in a row, from now on, until there are enough in the window."""
    return next(
        more
        for more in range(policy.fail + 1)
        if (*window, *[Status.FAIL] * more)[-policy.of :].count(Status.FAIL) >= policy.fail
    )


def _lines(explanation: Explanation, now: datetime) -> Iterator[str]:
    incident, policy, page = explanation.incident, explanation.policy, explanation.page
    key = incident.key
    subject = f" ({key.subject})" if key.subject else ""
    yield f"{key.check}{subject} at {key.origin}, seen by {key.pipeline}/{key.probe}: {incident.state}"
    yield (
        f"it fires after {policy.fail} failures in {plural(policy.of, 'run')}"
        f" and is over after {_passes(policy.recover)}"
    )
    if explanation.missing:
        yield f"not yet: {Reason.NOT_ENOUGH_FAILURES}, {plural(explanation.missing, 'more failure')} in a row would do"
    if explanation.joins:
        yield f"it shares page {page.id} with {plural(len(page.members) - 1, 'other incident')} of one cause"
    if page.acked_by:
        yield f"acknowledged by {page.acked_by}: no reminders, no escalation"
    for decision in explanation.decisions:
        yield _decided(decision, explanation, now)
    for route in explanation.routes:
        yield from _later(route)


def _decided(decision: Decision, explanation: Explanation, now: datetime) -> str:
    who = decision.receiver
    if who is None:
        return f"nobody is told: {decision.reason}"
    if decision.told:
        when = "then" if explanation.missing else "now"
        return f"{who} is told {when}: {decision.reason}"
    heard = who in announced_to(explanation.page)
    until = f" until {_moment(decision.until, now)}" if decision.until else ""
    because = f", {decision.because}" if decision.because else ""
    return f"{who} is told nothing{' more' if heard else ''}: {decision.reason}{until}{because}"


def _later(route: Chosen) -> Iterator[str]:
    policy = route.policy
    by = "as the only receiver" if route.route is None else f"by route {route.route + 1}"
    yield f"{route.receiver} is reached {by}"
    if policy.remind_s is not None:
        yield f"{route.receiver} is reminded every {format_duration(policy.remind_s)} until somebody acknowledges"
    if policy.escalate_after_s is not None and policy.escalate_to is not None:
        after = format_duration(policy.escalate_after_s)
        yield f"{policy.escalate_to} hears of it after {after} without an acknowledgement"


def _moment(moment: datetime, now: datetime) -> str:
    """With its date only where that is not today."""
    return moment.strftime("%H:%M %Z" if abs(moment - now) < timedelta(hours=12) else "%Y-%m-%d %H:%M %Z")


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes in a row"
