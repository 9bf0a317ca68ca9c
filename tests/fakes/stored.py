"""Runs, conclusions and notifications to be stored, made of recorded streams."""

from datetime import UTC, datetime, timedelta
from functools import cache

from sqlalchemy import delete, select

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.core.conclusion import Conclusion
from canary.core.finding import Finding, HopVerdict, Severity
from canary.core.incident import Event, Incident, IncidentKey, Page, State, Told, Transition
from canary.core.notification import HopRow, Message, Notification, Reason
from canary.core.run import HopResult, Run
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, Verdict
from canary.store.record import record
from canary.store.runs import save as save_record
from canary.store.tables import RESULTS, RUNS, SERIES
from canary.store.transcripts import Keep
from canary.wire.decode import decode
from tests.fakes.exchanges import recorded

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
GOOD, BAD = "vllm-chat-unbudgeted", "vllm-0.22.1-chat-ignored"
TIMER = Timeout(name="ui", phase=TimerPhase.IDLE, clock=Clock.VISIBLE, limit_s=30.0, hop="browser")


def after(**span):
    return NOON + timedelta(**span)


@cache
def result_of(name=GOOD, hop="vllm", variant="plain", status=None):
    """What a recorded stream is; with a `status` that is its only verdict."""
    observation = decode(recorded(name))
    evidence = Evidence(observation=observation, measurement=measure(observation), timeouts=(TIMER,))
    verdict = Verdict(check="reachable", status=status or Status.PASS, reason="r", message="m", observed=1.5, unit="s")
    return HopResult(
        hop=hop,
        variant=variant,
        observation=observation,
        measurement=evidence.measurement,
        verdicts=(verdict,) if status else judge(evidence),
        timeouts=(TIMER,),
    )


def finding_of(message="it is slow"):
    verdict = Verdict(check="complete", status=Status.FAIL, reason="cut", message=message, observed=1.0, limit=2.0)
    return Finding(
        check="complete",
        reason="cut",
        origin="vllm",
        severity=Severity.CRITICAL,
        message=message,
        variant="plain",
        edge=("litellm", "vllm"),
        affected=("litellm",),
        evidence=(HopVerdict(hop="vllm", variant="plain", verdict=verdict),),
    )


def run_of(run_id, at=NOON, *, status=Status.PASS, hops=("vllm", "litellm"), results=None, **more):
    """A run with one verdict a hop, and a finding where it failed."""
    results = results or tuple(result_of(hop=hop, status=status) for hop in hops)
    failed = status is Status.FAIL and "cut_short" not in more
    findings = (finding_of(),) if failed else ()
    fields = {"pipeline": "chat", "probe": "heavy", "findings": findings, "finished_at": at, **more}
    return Run(id=run_id, started_at=at, results=results, **fields)


KEY = IncidentKey(pipeline="chat", probe="heavy", check="complete", origin="vllm")


def incident_of(incident_id="i1", state=State.FIRING, since=NOON, run_id="r1"):
    return Incident(
        id=incident_id,
        key=KEY,
        cause="c1",
        state=state,
        since=since,
        window=(Status.FAIL, Status.FAIL),
        severity=Severity.CRITICAL,
        finding=finding_of(),
        run_id=run_id,
        opened_at=since,
    )


def page_of(page_id="p1", opened_at=NOON, resolved_at=None, members=("i1",), **more):
    return Page(
        id=page_id,
        cause="c1",
        opened_at=opened_at,
        severity=Severity.CRITICAL,
        members=members,
        resolved_at=resolved_at,
        changes=(opened_at,),
        told=(Told(receiver="slack", at=opened_at, reason="opened"),),
        **more,
    )


def transition_of(incident_id="i1", at=NOON, event=Event.FAILED_ENOUGH, run_id="r1"):
    return Transition(
        incident_id=incident_id,
        key=KEY,
        at=at,
        before=State.PENDING,
        after=State.FIRING,
        event=event,
        severity=Severity.CRITICAL,
        run_id=run_id,
    )


def notification_of(notification_id="n1", *, page_id="p1", receiver="slack", at=NOON, run_id="r1"):
    message = Message(
        title="chat is slow",
        users_feel="People wait 31 s",
        where="litellm → vllm",
        cause="cut",
        severity=Severity.CRITICAL,
        firing=True,
        since=at,
        pipelines=("chat",),
        probes=("heavy",),
        check="complete",
        reason="cut",
        observed=31.0,
        hops=(HopRow(hop="vllm", status="FAIL", first_token_s=0.3),),
        run_id=run_id,
    )
    return Notification(
        id=notification_id, page_id=page_id, receiver=receiver, reason=Reason.OPENED, at=at, message=message
    )


def conclusion_of(run_id="r1", at=NOON):
    """A first page: one of each."""
    return Conclusion(
        incidents=(incident_of(since=at, run_id=run_id),),
        pages=(page_of(opened_at=at),),
        transitions=(transition_of(at=at, run_id=run_id),),
        notifications=(notification_of(at=at, run_id=run_id),),
    )


NOTHING = Conclusion()


async def fill(store, count, *, hops=("vllm", "litellm"), every_s=300.0, begin=NOON, prefix="f", **more):
    """Many equal runs in one transaction, one `every_s`."""
    made = record(run_of("?", hops=hops, **more), quiet=True, keep=Keep(most_bytes=0, passed_every=10**9))
    async with store.database.writing() as connection:
        await save_record(connection, made)
        series = (await connection.execute(select(SERIES))).all()
        ids = {(row.hop, row.variant): row.id for row in series if row.pipeline == made.run["pipeline"]}
        for start in range(0, count, 5000):
            numbers = range(start, min(start + 5000, count))
            runs = [
                made.run | {"id": f"{prefix}{n:07}", "started_at": begin + timedelta(seconds=n * every_s)}
                for n in numbers
            ]
            await connection.execute(RUNS.insert(), runs)
            rows = [
                row | {"run_id": run["id"], "at": run["started_at"], "series_id": ids[place]}
                for run in runs
                for place, row in made.results
            ]
            await connection.execute(RESULTS.insert(), rows)
        await connection.execute(delete(RUNS).where(RUNS.c.id == "?"))
