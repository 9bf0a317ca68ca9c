"""Which findings are one thing: for counting (the key), and for people (the cause).

A key belongs to one probe at one pipeline. A cause is the same check, about the same subject, failing at the same
place: the URL of the hop at fault. Pipelines and probes that share a hop share its causes.

Two kinds of subject say no more than how the fault was noticed, so no key and no cause has them: whom we suspect of a
cut, and which of several timers would fire first. And all numbers of a baseline that move at one hop are one cause.

A finding can also be explained by another one, of another check or from further down, that some other run located
better: the failure is among the other's evidence, at the same place. Then both are one cause, if they have one origin
or if nothing below the explained one was judged, so that nothing speaks against a common fault further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from canary.alerting.rules import Rules
from canary.core.finding import Finding
from canary.core.incident import Incident, IncidentKey
from canary.core.verdict import Status

_HOW_IT_WAS_NOTICED = frozenset({"complete", "idle_timeout"})
_ONE_CAUSE = frozenset({"baseline"})


def key_of(pipeline: str, probe: str, finding: Finding) -> IncidentKey:
    subject = None if finding.check in _HOW_IT_WAS_NOTICED else finding.subject
    return IncidentKey(pipeline=pipeline, probe=probe, check=finding.check, origin=finding.origin, subject=subject)


def cause_of(key: IncidentKey, rules: Rules) -> str:
    """Equal for all that is one thing to people."""
    subject = f" {key.subject}" if key.subject and key.check not in _ONE_CAUSE else ""
    return f"{key.check}{subject} @ {rules.place(key.pipeline, key.origin)}"


def moved(incident: Incident, key: IncidentKey, finding: Finding, hops: Sequence[str]) -> bool:
    """Whether the finding is the incident's fault, located at another hop than before.

    One run may see only that it lies "at or below" a hop, the next one where. A fault near its limit passes at the hop
    where it is born and fails one further up. The symptom never stopped, so the stretches of failing hops touch: the
    origin of one lies in the other. Counting goes on, and no second page opens. `hops`: of the pipeline, in order.
    """
    same = replace(incident.key, origin=key.origin) == key
    return same and (
        finding.origin in _stretch(incident.finding, hops) or incident.key.origin in _stretch(finding, hops)
    )


def _stretch(finding: Finding, hops: Sequence[str]) -> Sequence[str]:
    """From the origin to the topmost affected hop, with those in between that could not be judged."""
    places = [index for index, hop in enumerate(hops) if hop == finding.origin or hop in finding.affected]
    return hops[min(places) : max(places) + 1] if places else ()


def renamed(incident: Incident, rules: Rules) -> Incident:
    """As it is, or under its hop's new name: the plan has none of the old one, and one at the same place."""
    key = incident.key
    pipeline = rules.pipeline(key.pipeline)
    hops = [] if pipeline is None else [hop.name for hop in pipeline.hops]
    for name in hops if key.origin not in hops else ():
        new = replace(key, origin=name)
        if cause_of(new, rules) == incident.cause:
            return replace(incident, key=new, finding=replace(incident.finding, origin=name))
    return incident


def one_cause(one: Incident, other: Incident, rules: Rules) -> bool:
    return one.cause == other.cause or _explains(one, other, rules) or _explains(other, one, rules)


def _explains(cause: Incident, other: Incident, rules: Rules) -> bool:
    place = rules.place(other.key.pipeline, other.key.origin)
    if other.finding.edge is not None and place != rules.place(cause.key.pipeline, cause.key.origin):
        return False
    return any(
        found.verdict.status is Status.FAIL
        and key_of("", "", replace(other.finding, check=found.verdict.check, subject=found.verdict.subject))
        == key_of("", "", other.finding)
        and rules.place(cause.key.pipeline, found.hop) == place
        for found in cause.finding.evidence
    )
