"""What one run says of each key: it failed, it passed, or nothing.

- FAILED: the run has this finding, or one that is the same fault seen at another hop (`cause.moved`). An exact key
  comes first, and each finding counts for one incident only.
- PASSED: it has none, and its check was judged PASS or WARN at the hop at fault, in the form of the request that had
  failed, and failed there in no other form.
- UNKNOWN: all else. Not asked, could not be judged, or failing in the shadow of another finding: that a symptom is
  explained now does not say that it is cured. A run that was cut short says nothing at all.

Nothing can be said at a hop where no verdict is anything but UNKNOWN. That is a sighting of its own, `blind`, of the
monitor and not of the pipeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from canary.alerting.cause import cause_of, key_of, moved
from canary.alerting.incidents import ACTIVE, BLIND, Seen
from canary.alerting.rules import Rules
from canary.core.finding import Finding, HopVerdict, Severity
from canary.core.incident import Incident
from canary.core.run import CutShort, Run
from canary.core.spec import Pipeline
from canary.core.verdict import Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What the run says of one incident; None: of one that there is not yet."""

    incident: Incident | None
    seen: Seen


def sightings(run: Run, incidents: Sequence[Incident], rules: Rules) -> tuple[Sighting, ...]:
    """For each incident of the run's probe, then for each finding that none of them has. `incidents`: those not OK."""
    pipeline = rules.pipeline(run.pipeline)
    if pipeline is None or run.cut_short is CutShort.SHUTDOWN:
        return ()
    own = [each for each in incidents if (each.key.pipeline, each.key.probe) == (run.pipeline, run.probe)]
    findings = _findings(run, pipeline)
    taken = _taken(run, own, findings, [hop.name for hop in pipeline.hops])
    found = [Sighting(incident=each, seen=_seen(run, each, taken.get(each.id), rules)) for each in own]
    new = [finding for finding in findings if finding not in taken.values()]
    return (*found, *(Sighting(incident=None, seen=_failed(run, finding, rules)) for finding in new))


def _findings(run: Run, pipeline: Pipeline) -> list[Finding]:
    """Those at hops that there still are, after a reload in mid-run; of two with one key, the first."""
    probed = [hop.name for hop in pipeline.hops if hop.url is not None]
    findings = [] if run.cut_short else [finding for finding in run.findings if finding.origin in probed]
    by_key = {key_of(run.pipeline, run.probe, finding): finding for finding in reversed(findings)}
    blind = _blind(run, probed)
    return [*reversed(by_key.values()), *((blind,) if blind else ())]


def _taken(run: Run, own: Sequence[Incident], findings: Sequence[Finding], hops: Sequence[str]) -> dict[str, Finding]:
    """By incident id. Of several incidents that a finding could continue, one that people know of, then the oldest."""
    taken: dict[str, Finding] = {}
    keys = {each.key: each.id for each in own}
    left = []
    for finding in findings:
        exact = keys.get(key_of(run.pipeline, run.probe, finding))
        if exact is None:
            left.append(finding)
        else:
            taken[exact] = finding
    by_weight = sorted(own, key=lambda each: (each.state not in ACTIVE, each.since))
    for finding in left:
        key = key_of(run.pipeline, run.probe, finding)
        for incident in by_weight:
            if incident.id not in taken and moved(incident, key, finding, hops):
                taken[incident.id] = finding
                break
    return taken


def _seen(run: Run, incident: Incident, finding: Finding | None, rules: Rules) -> Seen:
    if finding is not None:
        return _failed(run, finding, rules)
    status = _told_again(run, incident) if incident.key.check == BLIND else _judged(run, incident)
    return Seen(key=incident.key, cause=incident.cause, status=status, severity=incident.severity)


def _failed(run: Run, finding: Finding, rules: Rules) -> Seen:
    key = key_of(run.pipeline, run.probe, finding)
    cause = cause_of(key, rules)
    return Seen(key=key, cause=cause, status=Status.FAIL, severity=finding.severity, finding=finding, at=run.started_at)


def _judged(run: Run, incident: Incident) -> Status:
    if run.cut_short is not None:
        return Status.UNKNOWN
    key, finding = incident.key, incident.finding
    verdicts = [
        (result.variant, verdict)
        for result in run.results
        for verdict in result.verdicts
        if result.hop == key.origin and verdict.check == key.check and key.subject in (None, verdict.subject)
    ]
    if any(verdict.status is Status.FAIL for _, verdict in verdicts):
        return Status.UNKNOWN
    in_its_form = [verdict for variant, verdict in verdicts if variant == finding.variant]
    of_all = in_its_form or [verdict for _, verdict in verdicts]
    decisive = [verdict for verdict in of_all if verdict.subject == finding.subject] or of_all
    return Status.PASS if decisive and all(_good(verdict) for verdict in decisive) else Status.UNKNOWN


def _good(verdict: Verdict) -> bool:
    return verdict.status in (Status.PASS, Status.WARN)


def _told_again(run: Run, incident: Incident) -> Status:
    return Status.PASS if incident.key.origin in _told(run) else Status.UNKNOWN


def _told(run: Run) -> set[str]:
    """The hops of which something can be said."""
    return {
        result.hop for result in run.results if any(verdict.status is not Status.UNKNOWN for verdict in result.verdicts)
    }


def _blind(run: Run, probed: Sequence[str]) -> Finding | None:
    """One finding for all hops of which nothing can be said, at the lowest of them."""
    told, asked = _told(run), {result.hop for result in run.results if result.verdicts}
    untold = [hop for hop in probed if hop not in told and (hop in asked or run.cut_short is not None)]
    if not untold:
        return None
    evidence = tuple(
        HopVerdict(hop=result.hop, variant=result.variant, verdict=verdict)
        for result in run.results
        if result.hop in untold
        for verdict in result.verdicts[:1]
    )
    origin = untold[-1]
    reasons = Counter(found.verdict.reason for found in evidence if found.hop == origin)
    reason = run.cut_short.value if run.cut_short else next(iter(reasons), "no_verdict")
    why = f"the run was cut short ({reason})" if run.cut_short else f"nothing could be judged ({reason})"
    return Finding(
        check=BLIND,
        reason=reason,
        origin=origin,
        severity=Severity.WARNING,
        message=f"nothing can be said of {', '.join(reversed(untold))}: {why}.",
        variant=run.results[0].variant if run.results else "",
        affected=tuple(reversed(untold[:-1])),
        evidence=evidence,
    )
