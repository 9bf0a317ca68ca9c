"""Snapshots as the daemon publishes them, counted from runs, and actions that only write down what was asked."""

import asyncio
from bisect import bisect_left
from datetime import UTC, datetime, timedelta

from canary.checks import judge
from canary.core.finding import Finding, Severity
from canary.core.incident import Incident, IncidentKey, Page, State
from canary.core.metrics import BUCKETS_S
from canary.core.run import HopResult, Run
from canary.core.schedule import Every
from canary.core.service import Listen, Service, StatusPage
from canary.core.snapshot import Distribution, Exemplar, Latest, Snapshot
from canary.core.spec import Assignment, Hop, Pipeline, Plan, Probe
from canary.core.verdict import Status
from canary.engine.tally import Tally
from canary.web.actions import Actions, Done

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def snapshot(*pipelines, runs=(), at=NOW, listen=None, tally=None, status_page=None, maintenance=(), **more):
    """What is known after `runs`, all of which ended just now."""
    tally = tally or tally_of(runs)
    return Snapshot(
        at=at,
        started_at=at - timedelta(hours=1),
        plan=Plan(
            pipelines=pipelines,
            service=Service(listen=listen or Listen(), status_page=status_page or StatusPage()),
            maintenance=maintenance,
        ),
        last_runs={(run.pipeline, run.probe): at for run in runs},
        next_runs={(run.pipeline, run.probe): at + timedelta(minutes=5) for run in runs},
        **{
            "counters": dict(tally.counters),
            "distributions": dict(tally.distributions),
            "last_reload_at": at,
            "latest": latest_of(runs, at),
            **more,
        },
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


def tally_of(runs):
    tally = Tally()
    for run in runs:
        tally.run(run)
        for result in run.results:
            tally.tokens((run.pipeline, result.hop, run.probe, result.variant), result.measurement)
    return tally


def distribution(*values, run_id="r1", at=NOW):
    """Of these seconds."""
    counts = [0] * (len(BUCKETS_S) + 1)
    exemplars = {}
    for value in values:
        bucket = bisect_left(BUCKETS_S, value)
        counts[bucket] += 1
        exemplars[bucket] = Exemplar(value=value, run_id=run_id, at=at)
    return Distribution(counts=tuple(counts), total=sum(values), exemplars=exemplars)


def result(given, *, hop="vllm", variant="plain"):
    """`given`: evidence; judged as a run does it."""
    return HopResult(
        hop=hop,
        variant=variant,
        observation=given.observation,
        measurement=given.measurement,
        verdicts=judge(given),
        timeouts=given.timeouts,
    )


def run(*results, pipeline="chat", probe="heavy", run_id="r1", at=NOW, findings=()):
    return Run(id=run_id, pipeline=pipeline, probe=probe, started_at=at, results=results, findings=findings)


def pipeline(name="chat", *, hops=("edge", "vllm"), probe="heavy", first_visible_s=20.0, **more):
    """The first hop is a browser, which is not probed."""
    asked = Probe(name=probe, summary="", questions=())
    return Pipeline(
        name=name,
        hops=(Hop(name="browser"), *(Hop(name=hop, url=f"http://{hop}.internal/v1/chat/completions") for hop in hops)),
        assignments=(Assignment(probe=asked, schedule=Every(seconds=300.0), first_visible_s=first_visible_s),),
        **more,
    )


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


def incident(pipeline="demo", *, probe="reasoning-heavy", state=State.FIRING, incident_id="i1", at=NOW, found=None):
    found = found or finding()
    return Incident(
        id=incident_id,
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
        self.answer = answer if answer is not None else Done(message="it was done", ids=("x1",))

    def actions(self):
        names = ("reload", "probe", "deploy", "acknowledge", "silence", "unsilence", "note", "override", "unoverride")
        return Actions(**{name: self._action(name) for name in names})

    def _action(self, name):
        async def act(*arguments):
            await asyncio.sleep(0)
            self.asked.append((name, *arguments))
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return act
