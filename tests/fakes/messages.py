"""Notifications to send: one as they are, and one in which everything that can be hostile is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from canary.core.finding import Severity
from canary.core.notification import HopRow, Message, Notification, Reason

SINCE = datetime(2026, 11, 29, 14, 2, tzinfo=UTC)
NOW = SINCE + timedelta(minutes=12, seconds=5)
TOLD = (
    Reason.OPENED,
    Reason.WORSE,
    Reason.BETTER,
    Reason.CHANGED,
    Reason.REMINDER,
    Reason.ESCALATED,
    Reason.ACKNOWLEDGED,
    Reason.FLAPPING,
    Reason.RESOLVED,
    Reason.TEST,
)
HOPS = (
    HopRow(hop="edge", status="FAIL", first_token_s=71.2, first_visible_s=71.2, longest_silence_s=71.1, said="cut"),
    HopRow(hop="한국어-agent", status="FAIL", said="timeout"),
    HopRow(
        hop="vllm",
        status="PASS",
        first_token_s=0.31,
        first_visible_s=71.0,
        longest_silence_s=0.4,
        reasoning_share=0.934,
    ),
)
MESSAGE = Message(
    title="edge/nginx would cut the stream of agent",
    users_feel="People wait 60 s and then see an error.",
    where="edge -> agent",
    cause="The agent does not forward reasoning, so nginx hears nothing for 71.1 s.",
    severity=Severity.CRITICAL,
    firing=True,
    since=SINCE,
    pipelines=("chat-prod", "chat-eu"),
    probes=("reasoning-heavy",),
    check="idle_timeout",
    reason="fires",
    observed=71.1,
    limit=60.0,
    unit="s",
    changed=("vLLM 0.22.1 -> 0.23.0",),
    hops=HOPS,
    repeat="curl -N http://agent:8000/v1/chat/completions -d '{\"stream\": true}'",
    run_id="3f9a2b7c11de",
    run_url="https://canary.example.com/runs/3f9a2b7c11de",
    page_url="https://canary.example.com/incidents/p1",
    notes=("A deploy was noted 3 min before.",),
)
_BAD = (
    "<script>alert(1)</script> <!channel> <@U123> <https://evil.example|click> & ``` *b* ~s~ "
    "\x00\x01\x1b[2J\u202egnp.exe\u2066\u061c \ud800 \U0001f480 مرحبا 한국어 \r\n\t{{template}} ${jndi} %s {0} "
)


def notification(reason=Reason.OPENED, *, page="p1", firing=None, at=NOW, **message):
    firing = reason is not Reason.RESOLVED if firing is None else firing
    return Notification(
        id=f"{page}-on-call-{reason.value}",
        page_id=page,
        receiver="on-call",
        reason=reason,
        at=at,
        message=replace(MESSAGE, firing=firing, **message),
    )


def hostile(reason=Reason.OPENED, *, times=1, items=1, page="p1"):
    """Every text of the message is bad, `times` over; every list has `items`."""
    bad = _BAD * times
    row = HopRow(hop=bad, status=bad, first_token_s=1.0, said=bad)
    return notification(
        reason,
        page=page,
        title=bad,
        users_feel=bad,
        where=bad,
        cause=bad,
        check=bad,
        unit=bad,
        pipelines=(bad,) * items,
        probes=(bad,) * items,
        changed=(bad,) * items,
        notes=(bad,) * items,
        hops=(row,) * items,
        repeat=bad,
        run_id=bad,
        run_url="javascript:alert(1)",
        page_url="https://ok.example/" + bad,
        content=bad,
    )
