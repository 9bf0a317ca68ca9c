"""Snapshots as the daemon would publish them, counted from real runs, and actions that only write down what was asked."""

import asyncio
from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from canary.analysis.remember import values_of
from canary.core import metrics
from canary.core.finding import Finding, Severity
from canary.core.incident import Incident, IncidentKey, Page, State
from canary.core.service import Listen, Service
from canary.core.snapshot import Distribution, Exemplar, Latest, Series, Snapshot
from canary.core.spec import Plan
from canary.core.verdict import Status
from canary.web.actions import Actions, Done

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
DURATIONS = {
    metrics.FIRST_REASONING: "time_to_first_reasoning_token_s",
    metrics.FIRST_VISIBLE: "time_to_first_visible_content_s",
    metrics.FIRST_TOKEN: "time_to_first_token_s",
    metrics.DURATION: "total_s",
}


def snapshot(*pipelines, runs=(), at=NOW, listen=None, **more):
    """What is known after `runs`, all of which ended just now."""
    plan = Plan(pipelines=pipelines, service=Service(listen=listen or Listen()))
    return Snapshot(
        at=at,
        started_at=at - timedelta(hours=1),
        plan=plan,
        latest=latest_of(runs, at),
        counters=counters_of(runs),
        distributions=distributions_of(runs, at),
        last_runs={(run.pipeline, run.probe): at for run in runs},
        next_runs={(run.pipeline, run.probe): at + timedelta(minutes=5) for run in runs},
        **{"last_reload_at": at, **more},
    )


def latest_of(runs, at=NOW):
    return tuple(
        Latest(
            pipeline=run.pipeline,
            probe=run.probe,
            hop=result.hop,
            variant=result.variant,
            run_id=run.id,
            at=at,
            measurement=result.measurement,
            verdicts=result.verdicts,
        )
        for run in runs
        for result in run.results
    )


def counters_of(runs):
    counts = Counter()
    for run in runs:
        for result in run.results:
            place = (run.pipeline, result.hop, run.probe, result.variant)
            missing = values_of(result.measurement).get("zero_visible", 0.0)
            counts[Series(metric=metrics.FIRST_VISIBLE_MISSING, labels=place)] += missing
            for verdict in result.verdicts:
                labels = (*place, verdict.check, verdict.status.value, verdict.reason)
                counts[Series(metric=metrics.VERDICTS, labels=labels)] += 1
                if verdict.check == "visible_content" and verdict.status is Status.FAIL:
                    counts[Series(metric=metrics.ZERO_VISIBLE, labels=(*place, verdict.reason))] += 1
            for kind, tokens in (
                (metrics.TokenKind.REASONING, result.measurement.reasoning_tokens),
                (metrics.TokenKind.VISIBLE, result.measurement.visible_tokens),
            ):
                if tokens is not None:
                    counts[Series(metric=metrics.TOKENS, labels=(*place, kind.value))] += tokens.value
    return dict(counts)


def distributions_of(runs, at=NOW):
    values = {}
    for run in runs:
        for result in run.results:
            place = (run.pipeline, result.hop, run.probe, result.variant)
            for metric, name in DURATIONS.items():
                value = getattr(result.measurement, name)
                if value is not None:
                    values.setdefault(Series(metric=metric, labels=place), []).append((value, run.id))
    return {series: distribution(seen, at) for series, seen in values.items()}


def distribution(values, at=NOW):
    """Of pairs (value, run id)."""
    counts = [0] * (len(metrics.BUCKETS_S) + 1)
    exemplars = {}
    for value, run_id in values:
        bucket = bisect_left(metrics.BUCKETS_S, value)
        counts[bucket] += 1
        exemplars[bucket] = Exemplar(value=value, run_id=run_id, at=at)
    return Distribution(counts=tuple(counts), total=sum(value for value, _ in values), exemplars=exemplars)


def again(before, runs):
    """The snapshot after more runs: what counts goes on counting."""
    counters = Counter(before.counters) + Counter(counters_of(runs))
    kept = {series: before.counters.get(series, 0.0) for series in before.counters}
    distributions = dict(before.distributions)
    for series, new in distributions_of(runs, before.at).items():
        old = distributions.get(series)
        counts = new.counts if old is None else tuple(map(sum, zip(old.counts, new.counts, strict=True)))
        total = new.total + (old.total if old else 0.0)
        distributions[series] = Distribution(counts=counts, total=total, exemplars=new.exemplars)
    return replace(before, counters=kept | counters, distributions=distributions)


def finding(message="edge/nginx would have cut the stream at 60.0 s", **more):
    given = {
        "check": "idle_timeout",
        "reason": "would_fire",
        "origin": "agent",
        "severity": Severity.CRITICAL,
        "message": message,
        "variant": "plain",
    }
    return Finding(**given | more)


def incident(pipeline="demo", *, probe="reasoning-heavy", state=State.FIRING, id="i1", at=NOW, found=None):
    found = found or finding()
    return Incident(
        id=id,
        key=IncidentKey(pipeline=pipeline, probe=probe, check=found.check, origin=found.origin, subject=found.subject),
        cause="cause",
        state=state,
        since=at - timedelta(minutes=12),
        window=(Status.FAIL, Status.FAIL),
        severity=found.severity,
        finding=found,
        run_id="r1",
        opened_at=at - timedelta(minutes=12),
    )


def page(*incidents, at=NOW, **more):
    given = {
        "id": "p1",
        "cause": "cause",
        "opened_at": at - timedelta(minutes=12),
        "severity": incidents[0].severity,
        "members": tuple(each.id for each in incidents),
        "affected": ("edge", "ui"),
    }
    return Page(**given | more)


class Recorder:
    """`asked`: (action, arguments) in order; each answers with `answer`, which may also be an exception to raise."""

    def __init__(self, answer=None):
        self.asked = []
        self.answer = answer or Done(message="it was done", ids=("x1",))

    def actions(self):
        names = ("reload", "probe", "deploy", "acknowledge", "silence", "unsilence")
        return Actions(**{name: self._action(name) for name in names})

    def _action(self, name):
        async def act(*arguments):
            await asyncio.sleep(0)
            self.asked.append((name, *arguments))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return act
