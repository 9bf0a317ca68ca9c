"""What a status page shows in every state that it can be in, made of pages, incidents and what people said of them."""

from dataclasses import replace
from datetime import timedelta

from canary.alerting.board import Chronicle, board
from canary.alerting.incidents import BLIND
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.route import Maintenance, Match
from canary.core.schedule import Cron, Once, Recurring
from canary.core.service import StatusPage
from canary.core.snapshot import Latest
from canary.core.status import Level, Note, Override
from canary.core.verdict import Status, Verdict
from tests.fakes.snapshots import NOW, finding, incident, page, pipeline, snapshot
from tests.fakes.stored import result_of

URL = "https://status.example.com"
SILENCE = Chronicle()
PUBLIC = StatusPage(public=True, title="Chat status")


def ago(**span):
    return NOW - timedelta(**span)


def latest(hop, status=Status.PASS, name="chat", at=NOW):
    verdict = Verdict(check="reachable", status=status, reason="r", message="m")
    return Latest(
        pipeline=name,
        probe="heavy",
        hop=hop,
        variant="plain",
        run_id="r1",
        at=at,
        measurement=result_of().measurement,
        verdicts=(verdict,),
    )


WELL = (latest("edge"), latest("vllm"))


def told_of(check="idle_timeout", severity=Severity.CRITICAL, *, state=State.FIRING, since=None, **more):
    """An incident at vllm that edge feels too, where it is critical."""
    affected = ("edge",) if severity is Severity.CRITICAL else ()
    found = finding(check=check, severity=severity, origin="vllm", affected=affected, **more)
    made = incident("chat", probe="heavy", state=state, found=found)
    return replace(made, since=since or made.since)


def page_of(made, *, page_id="a1b2", opened=None, **more):
    opened = opened or ago(minutes=12)
    return page(
        made,
        **{
            "id": page_id,
            "lead": made,
            "pipelines": ("chat",),
            "affected": made.finding.affected,
            "opened_at": opened,
            "began_at": opened,
            "changes": (opened,),
            **more,
        },
    )


def over(made, *, page_id="a1b2", opened=None, closed=None, **more):
    opened, closed = opened or ago(minutes=40), closed or ago(minutes=5)
    changes = more.pop("changes", (opened, closed))
    return page_of(made, page_id=page_id, opened=opened, members=(), resolved_at=closed, changes=changes, **more)


def note(text="We have found the cause.", page_id="a1b2", at=None):
    return Note(page_id=page_id, at=at or ago(minutes=3), text=text, author="kim")


def override(level, *, page_id=None, pipeline=None, at=None, lasting_s=3600.0):
    at = at or ago(minutes=2)
    ends_at = at + timedelta(seconds=lasting_s)
    return Override(id="o1", level=level, at=at, ends_at=ends_at, author="kim", page_id=page_id, pipeline=pipeline)


def shown(*, pages=(), incidents=(), latest=WELL, said=SILENCE, settings=PUBLIC, maintenance=(), pipelines=None):
    """The board of one pipeline `chat`: browser (not probed), edge, vllm."""
    pipelines = (pipeline(),) if pipelines is None else pipelines
    state = snapshot(
        *pipelines, pages=pages, incidents=incidents, latest=latest, status_page=settings, maintenance=maintenance
    )
    return board(state, said, URL)


DOWN = told_of()
SLOW = told_of("first_visible")
UNFELT = told_of("reachable", Severity.WARNING)
CALM = told_of(state=State.RECOVERING, since=ago(minutes=1))
SOON = Maintenance(
    name="upgrade", window=Once(starts_at=NOW + timedelta(hours=1), ends_at=NOW + timedelta(hours=2)), match=Match()
)
UNDER_WAY = Maintenance(
    name="upgrade", window=Once(starts_at=ago(hours=1), ends_at=NOW + timedelta(hours=1)), match=Match(hop="vllm")
)
JUST_OVER = Maintenance(name="upgrade", window=Once(starts_at=ago(hours=3), ends_at=ago(hours=1)))
WEEKLY = Maintenance(
    name="weekly",
    window=Recurring(cron=Cron(expression="0 3 * * sun"), duration_s=3600.0),
    match=Match(pipeline="chat"),
)

# Every state: what it is called, and the board.
STATES = {
    "nothing to watch": shown(pipelines=()),
    "well": shown(),
    "never asked": shown(latest=()),
    "told too long ago": shown(latest=(latest("edge", at=ago(minutes=26)), latest("vllm", at=ago(minutes=24)))),
    "cannot be told": shown(latest=(latest("edge", Status.UNKNOWN), latest("vllm"))),
    "down": shown(pages=(page_of(DOWN),), incidents=(DOWN,)),
    "slow": shown(pages=(page_of(SLOW),), incidents=(SLOW,)),
    "not felt": shown(pages=(page_of(UNFELT),), incidents=(UNFELT,)),
    "acknowledged": shown(pages=(page_of(DOWN, acked_by="kim", acked_at=ago(minutes=4)),), incidents=(DOWN,)),
    "recovering": shown(pages=(page_of(CALM),), incidents=(CALM,)),
    "settling": shown(pages=(page_of(DOWN, members=(), flapping=True, changes=(ago(minutes=20), ago(minutes=5))),)),
    "over": shown(pages=(over(DOWN),)),
    "noted": shown(pages=(page_of(DOWN),), incidents=(DOWN,), said=Chronicle(notes=(note(),))),
    "overridden": shown(
        pages=(page_of(DOWN),),
        incidents=(DOWN,),
        said=Chronicle(overrides=(override(Level.PARTIAL, pipeline="chat"),)),
    ),
    "maintenance soon": shown(maintenance=(SOON, WEEKLY)),
    "maintenance": shown(maintenance=(UNDER_WAY,)),
    "maintenance is over": shown(maintenance=(JUST_OVER,)),
    "down in maintenance": shown(pages=(page_of(DOWN),), incidents=(DOWN,), maintenance=(UNDER_WAY,)),
    "blind": shown(pages=(page_of(told_of(BLIND)),), incidents=(told_of(BLIND),)),
}
