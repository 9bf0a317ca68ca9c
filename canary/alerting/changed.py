"""What changed shortly before: versions that answers show by themselves, and deploys that people announced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from canary.alerting.routing import labels_of
from canary.alerting.rules import Rules
from canary.analysis import fingerprint
from canary.core.deploy import Deploy
from canary.core.history import Past
from canary.core.run import Run
from canary.core.units import format_duration

BEFORE = timedelta(hours=3)  # an older deploy is no suspect; a regression is seen after three runs, half an hour apart


def deploys(pipelines: Sequence[str], rules: Rules, *, began: datetime, now: datetime) -> tuple[str, ...]:
    """Those that concern one of the pipelines, oldest first."""
    return tuple(
        _deploy(each, began)
        for each in sorted(rules.deploys, key=lambda each: each.at)
        if began - BEFORE <= each.at <= now and _concerns(each, pipelines, rules)
    )


def versions(run: Run, history: Mapping[tuple[str, str], Sequence[Past]]) -> tuple[str, ...]:
    """Against the last answer of the same hop that was in order; with the hop where only one shows the change."""
    shown: dict[str, list[str]] = {}
    for result in run.results:
        before = next((past for past in reversed(history.get((result.hop, result.variant), ())) if past.clean), None)
        for each in fingerprint.changes(before.fingerprint, result.measurement.fingerprint) if before else ():
            shown.setdefault(each, []).append(result.hop)
    return tuple(each if len(set(hops)) > 1 else f"{each} at {hops[0]}" for each, hops in shown.items())


def _deploy(deploy: Deploy, began: datetime) -> str:
    apart_s = (began - deploy.at).total_seconds()
    when = "before it began" if apart_s >= 0 else "after it began"
    return f"deploy {format_duration(abs(apart_s))} {when}: {deploy.text}"


def _concerns(deploy: Deploy, pipelines: Sequence[str], rules: Rules) -> bool:
    if deploy.pipeline is not None:
        return deploy.pipeline in pipelines
    return any(deploy.labels.items() <= labels_of(rules, pipeline).items() for pipeline in pipelines)
