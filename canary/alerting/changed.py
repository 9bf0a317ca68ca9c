"""What changed shortly before: versions that answers show by themselves, and deploys that people announced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from canary.alerting.routing import labels_of
from canary.alerting.rules import Rules
from canary.core.deploy import Deploy
from canary.core.history import Past
from canary.core.incident import Incident
from canary.core.measurement import Fingerprint
from canary.core.run import Run
from canary.core.units import format_duration

BEFORE = timedelta(hours=1)  # a deploy that is older is no suspect
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "model": "model",
        "system_fingerprint": "fingerprint",
        "server": "server",
        "litellm_version": "LiteLLM",
        "reasoning_field": "reasoning field",
    }
)


def changes(
    members: Sequence[Incident],
    rules: Rules,
    now: datetime,
    *,
    run: Run | None,
    history: Mapping[tuple[str, str], Sequence[Past]],
) -> tuple[str, ...]:
    """Sentences, deploys first; each once, although several hops show the same change."""
    began = min(each.opened_at or each.since for each in members)
    pipelines = {each.key.pipeline for each in members}
    deploys = (
        _deploy(each, began)
        for each in sorted(rules.deploys, key=lambda each: each.at)
        if began - BEFORE <= each.at <= now and _concerns(each, pipelines, rules)
    )
    return tuple(dict.fromkeys((*deploys, *_versions(run, history))))


def _versions(run: Run | None, history: Mapping[tuple[str, str], Sequence[Past]]) -> Iterator[str]:
    """Against the last answer of the same hop that was in order. What only one of the two tells is no change."""
    for result in run.results if run else ():
        before = next((past for past in reversed(history.get((result.hop, result.variant), ())) if past.clean), None)
        if before is not None:
            yield from _differences(before.fingerprint, result.measurement.fingerprint, result.hop)


def _differences(before: Fingerprint, after: Fingerprint, hop: str) -> Iterator[str]:
    for name, words in _NAMES.items():
        was, is_now = getattr(before, name), getattr(after, name)
        if was is not None and is_now is not None and was != is_now:
            place = f" at {hop}" if name in ("server", "reasoning_field") else ""
            yield f"{words} {was} -> {is_now}{place}"


def _deploy(deploy: Deploy, began: datetime) -> str:
    apart_s = (began - deploy.at).total_seconds()
    when = "before it began" if apart_s >= 0 else "after it began"
    return f"deploy {format_duration(abs(apart_s))} {when}: {deploy.text}"


def _concerns(deploy: Deploy, pipelines: set[str], rules: Rules) -> bool:
    if deploy.pipeline is not None:
        return deploy.pipeline in pipelines
    return any(deploy.labels.items() <= labels_of(rules, pipeline).items() for pipeline in pipelines)
