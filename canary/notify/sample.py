"""A message that says that it is a test, and that looks like a real one."""

from __future__ import annotations

from datetime import datetime

from canary.core.finding import Severity
from canary.core.notification import HopRow, Message, Notification, Reason

_HOPS = (
    HopRow(
        hop="agent",
        status="FAIL",
        first_token_s=71.2,
        first_visible_s=71.2,
        longest_silence_s=71.2,
        reasoning_share=0.0,
        said="made up",
    ),
    HopRow(
        hop="litellm",
        status="PASS",
        first_token_s=0.31,
        first_visible_s=71.1,
        longest_silence_s=0.42,
        reasoning_share=0.93,
        said="made up",
    ),
)


def sample(receiver: str, *, now: datetime) -> Notification:
    """Its ids are new with every second, so that two tests are two pages."""
    stamp = int(now.timestamp())
    message = Message(
        title=f"Test message for the receiver {receiver}",
        users_feel="Nobody feels anything: somebody asked for this message, to see that messages arrive.",
        where="agent -> litellm (made up)",
        cause="A page names the hop where things go wrong; this one names none. Where it must be closed, close it.",
        severity=Severity.WARNING,
        firing=True,
        since=now,
        pipelines=("made-up",),
        probes=("made-up",),
        check="idle_timeout",
        reason="test",
        observed=71.2,
        limit=60.0,
        unit="s",
        hops=_HOPS,
    )
    page = f"test-{stamp}"
    return Notification(
        id=f"{page}-{receiver}", page_id=page, receiver=receiver, reason=Reason.TEST, at=now, message=message
    )
