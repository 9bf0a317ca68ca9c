"""How one incident moves: a table that can be printed, and the counting that feeds it.

- One bad run tells nobody: `fail` of the last `of` judged runs make an incident fire. A `baseline` failure stands for
  three of the last five runs already, so one is enough: a policy on top of it would count twice. `blind` needs its
  streak, and ends with the first run that can tell.
- A pending incident is dropped once no failure in its window can count any more. `recover` does not end it: a fault
  that comes in every second run must be able to collect its failures.
- One that fires is over after `recover` passes in a row, not sooner than `hold_s` after it began to fire.
- UNKNOWN moves nothing. It neither breaks a streak of passes nor takes a place in the window; only its own streak
  grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from canary.alerting.ids import id_of
from canary.core.finding import Finding, Severity
from canary.core.incident import Event, Incident, IncidentKey, State, Transition
from canary.core.route import Policy
from canary.core.verdict import Status

BLIND = "blind"  # the check of a finding about the monitor itself: nothing could be told, again and again
COUNT_BY_THEMSELVES = frozenset({"baseline"})

NEXT: Mapping[tuple[State, Event], State] = MappingProxyType(
    {
        (State.OK, Event.FAILED): State.PENDING,
        (State.OK, Event.FAILED_ENOUGH): State.FIRING,
        (State.PENDING, Event.FAILED): State.PENDING,
        (State.PENDING, Event.FAILED_ENOUGH): State.FIRING,
        (State.PENDING, Event.PASSED): State.PENDING,
        (State.PENDING, Event.PASSED_ENOUGH): State.OK,
        (State.PENDING, Event.GONE): State.OK,
        (State.FIRING, Event.FAILED): State.FIRING,
        (State.FIRING, Event.FAILED_ENOUGH): State.FIRING,
        (State.FIRING, Event.PASSED): State.RECOVERING,
        (State.FIRING, Event.PASSED_ENOUGH): State.OK,
        (State.FIRING, Event.GONE): State.OK,
        (State.RECOVERING, Event.FAILED): State.FIRING,
        (State.RECOVERING, Event.FAILED_ENOUGH): State.FIRING,
        (State.RECOVERING, Event.PASSED): State.RECOVERING,
        (State.RECOVERING, Event.PASSED_ENOUGH): State.OK,
        (State.RECOVERING, Event.GONE): State.OK,
    }
)
ACTIVE = (State.FIRING, State.RECOVERING)  # people are, or should be, told of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one run says of one key. `status` is FAIL, with its finding, PASS or UNKNOWN. `at`: when it was sent."""

    key: IncidentKey
    cause: str
    status: Status
    severity: Severity
    finding: Finding | None = None
    at: datetime | None = None


def step(
    incident: Incident | None, seen: Seen, policy: Policy, now: datetime, run_id: str
) -> tuple[Incident | None, Transition | None]:
    """The incident after the run, in state OK if it is over; None: there is none. A transition if its state changed."""
    if seen.status is Status.UNKNOWN:
        return (None if incident is None else replace(incident, unknowns=incident.unknowns + 1)), None
    if seen.finding is not None:
        counted = _failed(incident, seen, seen.finding, policy, now, run_id)
    elif incident is not None:
        counted = _passed(incident, policy)
    else:
        return None, None
    return enter(counted, event_of(counted, seen.status, policy, now), now, run_id=run_id)


def enter(
    incident: Incident, event: Event, now: datetime, *, run_id: str | None = None
) -> tuple[Incident, Transition | None]:
    """Follow the table. Raises KeyError for what the table does not have: a bug of the caller."""
    after = NEXT[incident.state, event]
    if after is incident.state:
        return incident, None
    began = now if after is State.FIRING and incident.opened_at is None else incident.opened_at
    transition = Transition(
        incident_id=incident.id,
        key=incident.key,
        at=now,
        before=incident.state,
        after=after,
        event=event,
        severity=incident.severity,
        run_id=run_id,
    )
    return replace(incident, state=after, since=now, opened_at=began), transition


def event_of(incident: Incident, status: Status, policy: Policy, now: datetime) -> Event:
    """What the latest status, already in the window, amounts to."""
    if status is Status.FAIL:
        return Event.FAILED_ENOUGH if incident.window.count(Status.FAIL) >= policy.fail else Event.FAILED
    return Event.PASSED_ENOUGH if passed_enough(incident, policy, now) else Event.PASSED


def passed_enough(incident: Incident, policy: Policy, now: datetime) -> bool:
    """Whether it is over. For what fires time counts too, so this can become true without another run."""
    if incident.state in ACTIVE:
        since = incident.opened_at
        held = since is None or not since <= now < since + timedelta(seconds=policy.hold_s)  # the clock may be set back
        return incident.passes >= policy.recover and held
    return not any(_helped(incident.window, more, policy) for more in range(1, policy.fail))


def _helped(window: Sequence[Status], more: int, policy: Policy) -> bool:
    """Whether what is in the window would make `more` new failures enough, though they are not by themselves."""
    return window[more - policy.of :].count(Status.FAIL) + more >= policy.fail


def counting(check: str, policy: Policy) -> Policy:
    """The policy as it applies to this check's findings."""
    if check in COUNT_BY_THEMSELVES:
        return replace(policy, fail=1, of=1)
    if check == BLIND:
        return replace(policy, fail=policy.unknown, of=policy.unknown, recover=1, hold_s=0.0)
    return policy


def _failed(
    incident: Incident | None, seen: Seen, finding: Finding, policy: Policy, now: datetime, run_id: str
) -> Incident:
    before = incident or Incident(
        id=id_of("incident", *_parts(seen.key), run_id),
        key=seen.key,
        cause=seen.cause,
        state=State.OK,
        since=now,
        window=(),
        severity=finding.severity,
        finding=finding,
        run_id=run_id,
        seen_at=seen.at,
    )
    return replace(
        before,
        key=seen.key,
        cause=seen.cause,
        window=(*before.window, Status.FAIL)[-policy.of :],
        severity=finding.severity,
        finding=finding,
        run_id=run_id,
        passes=0,
        unknowns=0,
    )


def _passed(incident: Incident, policy: Policy) -> Incident:
    window = (*incident.window, Status.PASS)[-policy.of :]
    return replace(incident, window=window, passes=incident.passes + 1, unknowns=0)


def _parts(key: IncidentKey) -> tuple[str, ...]:
    return key.pipeline, key.probe, key.check, key.origin, key.subject or ""
