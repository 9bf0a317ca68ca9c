from dataclasses import fields, replace

import pytest

from canary.core.finding import Severity
from canary.core.notification import Message, Reason, Rejected, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.pagerduty import PagerDutyOptions
from tests.fakes.messages import HOPS, NOW, TOLD, hostile, notification
from tests.fakes.pagerduty_server import ROUTING_KEY, PagerDutyServer, flaws


@pytest.fixture
async def pagerduty():
    async with PagerDutyServer().running() as server:
        yield server


@pytest.fixture
def tell(pagerduty, session):
    async def send(sent, *, key=ROUTING_KEY):
        options = PagerDutyOptions(routing_key=Secret(key), url=pagerduty.url)
        receiver = Receiver(name="on-call", kind="pagerduty", options=options)
        return await deliver(receiver, sent, session=session, now=NOW)

    return send


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param([Reason.OPENED], "triggered", id="opened"),
        pytest.param([Reason.OPENED, Reason.OPENED], "triggered", id="sent twice"),
        pytest.param([Reason.OPENED, Reason.WORSE, Reason.REMINDER, Reason.ESCALATED], "triggered", id="goes on"),
        pytest.param([Reason.OPENED, Reason.ACKNOWLEDGED], "acknowledged", id="acknowledged"),
        pytest.param([Reason.OPENED, Reason.ACKNOWLEDGED, Reason.REMINDER], "acknowledged", id="stays acknowledged"),
        pytest.param([Reason.OPENED, Reason.RESOLVED], "resolved", id="resolved"),
        pytest.param([Reason.OPENED, Reason.ACKNOWLEDGED, Reason.RESOLVED, Reason.RESOLVED], "resolved", id="all"),
        pytest.param([Reason.REMINDER], "triggered", id="the first was lost for ever"),
    ],
)
async def test_its_incident_follows_our_page(pagerduty, tell, story, expected):
    for reason in story:
        assert await tell(notification(reason)) == Sent()
    assert pagerduty.incidents == {"p1": expected}


@pytest.mark.parametrize(
    ("reason", "severity", "expected"),
    [
        (Reason.OPENED, Severity.CRITICAL, "critical"),
        (Reason.OPENED, Severity.WARNING, "warning"),
        (Reason.TEST, Severity.CRITICAL, "info"),
    ],
)
async def test_severity(pagerduty, tell, reason, severity, expected):
    await tell(notification(reason, severity=severity))
    assert pagerduty.events[0]["payload"]["severity"] == expected


async def test_what_is_in_it(pagerduty, tell):
    await tell(notification())
    (event,) = pagerduty.events
    payload = event["payload"]
    assert payload["summary"] == "[CRITICAL] edge/nginx would cut the stream of agent"
    assert payload["source"] == "edge -> agent"
    assert payload["timestamp"] == "2026-11-29T14:02:00+00:00"
    assert payload["custom_details"]["Observed"] == "71.1 s, limit 60.0 s"
    assert payload["custom_details"]["Changed"] == ["vLLM 0.22.1 -> 0.23.0"]
    assert "Content" not in payload["custom_details"]
    assert event["links"][0] == {"href": "https://canary.example.com/runs/3f9a2b7c11de", "text": "Run"}


async def test_a_flapping_page_that_is_over_is_resolved(pagerduty, tell):
    await tell(notification())
    await tell(notification(Reason.FLAPPING, firing=False))
    assert pagerduty.incidents == {"p1": "resolved"}


@pytest.mark.parametrize("reason", TOLD)
async def test_hostile_text_keeps_to_the_limits(tell, reason):
    assert await tell(hostile(reason, times=300, items=60)) == Sent()


@pytest.mark.parametrize("text", ["한", "\U0001f480", "مرحبا", '"', "\\", "\n", "x"])
async def test_whatever_the_language_it_is_small_enough(tell, text):
    """PagerDuty counts bytes. Every text of the message is as long as it can be."""
    sent = hostile(items=60)
    full = text * 20_000
    words = {field.name: full for field in fields(Message) if isinstance(getattr(sent.message, field.name), str)}
    words = {name: word for name, word in words.items() if name != "severity"} | {"content": full}
    lists = dict.fromkeys(("pipelines", "probes", "changed", "notes"), (full,) * 60)
    hops = (replace(HOPS[0], hop=full, status=full, said=full),) * 60
    assert await tell(replace(sent, message=replace(sent.message, **words, **lists, hops=hops))) == Sent()


async def test_a_wrong_key_is_rejected(tell):
    outcome = await tell(notification(), key="0123456789abcdef0123456789abcdef")
    assert isinstance(outcome, Rejected)
    assert "routing_key" in outcome.why


def test_the_server_does_refuse():
    assert flaws(b" " * (512 * 1024 + 1)) == ["size"]
