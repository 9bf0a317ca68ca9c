"""Whether the config still asks for what an incident is about. What it asks for no more could never pass again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from canary.alerting.incidents import BLIND
from canary.alerting.rules import Rules
from canary.core.incident import Incident, IncidentKey
from canary.core.spec import Assignment, Pipeline

_ALWAYS_LOOKED_AT = frozenset({"idle_timeout", "streaming", "budget", BLIND})  # whatever checks a probe names


def _has_limit(_key: IncidentKey, _pipeline: Pipeline, assignment: Assignment) -> bool:
    return assignment.first_visible_s is not None


def _has_budget(key: IncidentKey, _pipeline: Pipeline, assignment: Assignment) -> bool:
    return any(each.parameter == key.subject for each in assignment.budgets)


def _has_timers(key: IncidentKey, pipeline: Pipeline, _assignment: Assignment) -> bool:
    names = [hop.name for hop in pipeline.hops]
    return any(hop.timeouts for hop in pipeline.hops[: names.index(key.origin)])


def _has_known_answer(_key: IncidentKey, _pipeline: Pipeline, assignment: Assignment) -> bool:
    return any(question.solver is not None for question in assignment.probe.questions)


def _has_stream(key: IncidentKey, pipeline: Pipeline, _assignment: Assignment) -> bool:
    """Subject `visible`: one document holds nothing back. Subject `reasoning`: somebody must say that there is any."""
    names = [hop.name for hop in pipeline.hops]
    hop, *below = pipeline.hops[names.index(key.origin) :]
    if key.subject == "visible":
        return hop.stream
    return hop.forwards_reasoning is True or any(each.url is not None for each in below)


_NEEDS: Mapping[str, Callable[[IncidentKey, Pipeline, Assignment], bool]] = MappingProxyType(
    {
        "first_visible": _has_limit,
        "budget": _has_budget,
        "idle_timeout": _has_timers,
        "answer": _has_known_answer,
        "streaming": _has_stream,
    }
)


def still_asked(incident: Incident, rules: Rules) -> bool:
    key = incident.key
    pipeline, hop, assignment = rules.pipeline(key.pipeline), rules.hop(key.pipeline, key.origin), rules.assignment(key)
    if pipeline is None or hop is None or hop.url is None or assignment is None:
        return False
    checks = assignment.probe.checks
    if checks is not None and key.check not in checks and key.check not in _ALWAYS_LOOKED_AT:
        return False
    needs = _NEEDS.get(key.check)
    return needs is None or needs(key, pipeline, assignment)
