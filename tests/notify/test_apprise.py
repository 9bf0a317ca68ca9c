import asyncio
import sys

import pytest

from canary.core.finding import Severity
from canary.core.notification import Reason, Rejected, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.apprise import AppriseOptions
from tests.fakes.llm_server import LlmServer, whole
from tests.fakes.messages import NOW, notification


async def tell(session, url, sent=None):
    receiver = Receiver(name="mail", kind="apprise", options=AppriseOptions(url=Secret(url)))
    return await deliver(receiver, sent or notification(), session=session, now=NOW)


@pytest.mark.parametrize(
    ("reason", "severity", "kind"),
    [
        (Reason.OPENED, Severity.CRITICAL, "failure"),
        (Reason.OPENED, Severity.WARNING, "warning"),
        (Reason.RESOLVED, Severity.CRITICAL, "success"),
        (Reason.TEST, Severity.WARNING, "info"),
    ],
)
async def test_title_text_and_kind(session, reason, severity, kind):
    async with LlmServer([(0.0, whole(b"{}"))]) as server:
        url = server.url.replace("http://", "json://")
        assert await tell(session, url, notification(reason, severity=severity)) == Sent()
        body = server.requests[0].json
    assert body["type"] == kind
    assert body["title"].endswith("] edge/nginx would cut the stream of agent")
    assert "People wait 60 s" in body["message"]


@pytest.mark.parametrize("url", ["nonsense", "nosuchservice://x", "json://"])
async def test_a_url_that_it_does_not_know_is_rejected(session, url):
    outcome = await tell(session, url)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.why.startswith("apprise does not take this URL")


async def test_it_says_why_not(session):
    async with LlmServer([(0.0, whole(b"no", 500))]) as server:
        outcome = await tell(session, server.url.replace("http://", "json://user:s3cr3t-pass@"))
    assert isinstance(outcome, RetryLater)
    assert "error=500" in outcome.why
    assert "s3cr3t" not in outcome.why


async def test_two_at_once_do_not_hear_of_each_other(session):
    """Its log is one for all, and only a receiver's own secrets are taken out of what it is told."""
    async with LlmServer([(0.2, whole(b"no", 500))]) as one, LlmServer([(0.2, whole(b"no", 503))]) as other:
        urls = [server.url.replace("http://", "json://") for server in (one, other)]
        outcomes = await asyncio.gather(*(tell(session, url) for url in urls))
    assert ["error=500" in each.why for each in outcomes] == [True, False]
    assert ["error=503" in each.why for each in outcomes] == [False, True]


async def test_without_the_extra_it_says_what_to_install(session):
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "apprise"}
    sys.modules["apprise"] = None  # what Python itself does to block an import
    try:
        outcome = await tell(session, "json://127.0.0.1")
    finally:
        del sys.modules["apprise"]
        sys.modules.update(kept)
    assert outcome == Rejected(why="apprise is not installed: pip install 'reasoning-canary[apprise]'")
