"""Who hears of an incident, and under which policy.

The first route that fits gives the policy and its receiver; with `go_on` the next one that fits adds its own receiver.
Without any route a single receiver gets everything, since it can mean nothing else; several of them get nothing until a
route says what is whose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from canary.alerting.rules import Rules
from canary.core.finding import Severity
from canary.core.incident import Incident, IncidentKey
from canary.core.route import Match, Policy, Route

_DEFAULT = Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Index into the plan's routes; None: the only receiver, by default."""

    receiver: str
    policy: Policy
    route: int | None = None


def fits(match: Match, key: IncidentKey, severity: Severity, labels: Mapping[str, str]) -> bool:
    """Whether all that the match names is so. A label that the pipeline lacks fits no value."""
    named = (
        (match.pipeline, key.pipeline),
        (match.probe, key.probe),
        (match.check, key.check),
        (match.hop, key.origin),
        (match.severity, severity),
    )
    return all(wanted in (None, is_so) for wanted, is_so in named) and all(
        labels.get(name) == value for name, value in match.labels.items()
    )


def labels_of(rules: Rules, pipeline: str) -> Mapping[str, str]:
    found = rules.pipeline(pipeline)
    return found.labels if found else MappingProxyType({})


def chosen(rules: Rules, key: IncidentKey, severity: Severity) -> tuple[Chosen, ...]:
    """Each receiver once, in the order of the routes; empty: nobody."""
    if not rules.routes:
        only = rules.receivers if len(rules.receivers) == 1 else ()
        return tuple(Chosen(receiver=receiver.name, policy=_DEFAULT) for receiver in only)
    found: dict[str, Chosen] = {}
    for index, route in _fitting(rules, key, severity):
        found.setdefault(route.receiver, Chosen(receiver=route.receiver, policy=route.policy, route=index))
        if not route.go_on:
            break
    return tuple(found.values())


def policy_for(rules: Rules, key: IncidentKey, severity: Severity) -> Policy:
    """By which a finding's runs are counted: that of the first route that fits."""
    return next((route.policy for _, route in _fitting(rules, key, severity)), _DEFAULT)


def audience(rules: Rules, incident: Incident) -> tuple[Chosen, ...]:
    return chosen(rules, incident.key, incident.severity)


def _fitting(rules: Rules, key: IncidentKey, severity: Severity) -> list[tuple[int, Route]]:
    labels = labels_of(rules, key.pipeline)
    return [(index, route) for index, route in enumerate(rules.routes) if fits(route.match, key, severity, labels)]
