import json
from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest

from canary.core.finding import Severity
from canary.core.notification import Reason, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.alertmanager import AlertmanagerOptions, labels_of, render
from canary.notify.kind import Errand
from tests.fakes.llm_server import Cut, LlmServer, whole
from tests.fakes.messages import NOW, SINCE, notification

OPTIONS = AlertmanagerOptions(url="http://am:9093/prefix/", labels={"team": "llm", "page": "mine"})


def alerts(sent, *, handle=None, now=NOW, options=OPTIONS):
    request = render(Errand(notification=sent, now=now, handle=handle), options)
    assert request.url == "http://am:9093/prefix/api/v2/alerts"
    return json.loads(request.body)


def ends(alert):
    return datetime.fromisoformat(alert["endsAt"])


def test_labels_rest_on_the_page_alone():
    (alert,) = alerts(notification(title="other", pipelines=("other",), where="other", observed=1.0))
    assert alert["labels"] == {
        "alertname": "ReasoningCanary",
        "severity": "critical",
        "check": "idle_timeout",
        "page": "p1",
        "team": "llm",
    }


@pytest.mark.parametrize(
    ("reason", "firing", "left"),
    [
        pytest.param(Reason.OPENED, True, timedelta(days=365), id="opened"),
        pytest.param(Reason.REMINDER, True, timedelta(days=365), id="reminder"),
        pytest.param(Reason.ACKNOWLEDGED, True, timedelta(days=365), id="acknowledged"),
        pytest.param(Reason.RESOLVED, False, timedelta(0), id="resolved"),
        pytest.param(Reason.FLAPPING, False, timedelta(0), id="flapping and over"),
        pytest.param(Reason.TEST, True, timedelta(minutes=5), id="a test ends by itself"),
    ],
)
def test_when_it_ends(reason, firing, left):
    (alert,) = alerts(notification(reason, firing=firing))
    assert ends(alert) - NOW == left


def test_it_never_ends_before_it_starts():
    """Alertmanager refuses that; nor does it end in time to come, and our clock may have been set back."""
    now = SINCE - timedelta(hours=1)
    (alert,) = alerts(notification(Reason.RESOLVED), now=now)
    assert alert["startsAt"] == alert["endsAt"] == now.isoformat()


def test_another_severity_ends_the_alert_of_before():
    warning = notification(severity=Severity.WARNING)
    handle = json.dumps(labels_of(Errand(notification=warning, now=NOW), OPTIONS))
    now, before = alerts(notification(Reason.WORSE), handle=handle)
    assert (now["labels"]["severity"], ends(now) > NOW) == ("critical", True)
    assert (before["labels"]["severity"], ends(before)) == ("warning", NOW)


def test_the_same_labels_are_one_alert():
    handle = json.dumps(labels_of(Errand(notification=notification(), now=NOW), OPTIONS))
    assert len(alerts(notification(Reason.REMINDER), handle=handle)) == 1


def test_that_another_check_speaks_for_a_page_is_no_other_alert():
    handle = json.dumps(labels_of(Errand(notification=notification(check="reachable"), now=NOW), OPTIONS))
    (alert,) = alerts(notification(Reason.CHANGED, check="complete", cause="it hangs"), handle=handle)
    assert alert["labels"]["check"] == "reachable"
    assert "it hangs" in alert["annotations"]["description"]


async def test_the_handle_is_what_was_sent(session):
    async with LlmServer([(0.0, whole(b""))]) as server:
        options = AlertmanagerOptions(url=server.url, headers={"Authorization": Secret("Bearer t0ken")})
        receiver = Receiver(name="am", kind="alertmanager", options=options)
        outcome = await deliver(receiver, notification(), session=session, now=NOW)
        request = server.requests[0]
    assert isinstance(outcome, Sent)
    assert outcome.handle.startswith("alertmanager {")
    assert json.loads(outcome.handle.removeprefix("alertmanager ")) == request.json[0]["labels"]
    assert request.headers["authorization"] == "Bearer t0ken"


def answer(clock, status=200):
    date = format_datetime(clock, usegmt=True)
    return [(0.0, whole(b"", status, date=date, connection="close")), (0.0, Cut.FIN)]


BEHIND = NOW - timedelta(seconds=60)


@pytest.mark.parametrize(
    ("reason", "theirs", "ends_at"),
    [
        pytest.param(Reason.RESOLVED, BEHIND, [0.0, -60.0], id="theirs is behind"),
        pytest.param(Reason.RESOLVED, SINCE - timedelta(seconds=60), [0.0, -785.0], id="by more than the page lasted"),
        pytest.param(Reason.RESOLVED, NOW, [0.0], id="the same"),
        pytest.param(Reason.RESOLVED, NOW + timedelta(seconds=60), [0.0], id="theirs is ahead"),
        pytest.param(Reason.REMINDER, BEHIND, [365 * 86400.0], id="nothing ends"),
    ],
)
async def test_what_ends_ends_by_the_clock_of_alertmanager(session, reason, theirs, ends_at):
    async with LlmServer(answer(theirs)) as server:
        receiver = Receiver(name="am", kind="alertmanager", options=AlertmanagerOptions(url=server.url))
        assert isinstance(await deliver(receiver, notification(reason), session=session, now=NOW), Sent)
        told = [request.json[0] for request in server.requests]
    assert [(ends(alert) - NOW).total_seconds() for alert in told] == ends_at
    assert all(alert["startsAt"] <= alert["endsAt"] for alert in told)


async def test_the_alert_of_another_severity_ends_by_the_clock_of_alertmanager_too(session):
    handle = json.dumps(labels_of(Errand(notification=notification(severity=Severity.WARNING), now=NOW), OPTIONS))
    async with LlmServer(answer(BEHIND)) as server:
        receiver = Receiver(name="am", kind="alertmanager", options=AlertmanagerOptions(url=server.url))
        await deliver(receiver, notification(Reason.WORSE), session=session, now=NOW, handle=f"alertmanager {handle}")
        last = server.requests[-1].json
    assert [(alert["labels"]["severity"], ends(alert) > NOW) for alert in last] == [
        ("critical", True),
        ("warning", False),
    ]
    assert ends(last[1]) == BEHIND


async def test_an_end_that_is_refused_the_second_time_is_tried_again(session):
    answers = [answer(BEHIND), answer(BEHIND, 503)]
    async with LlmServer(lambda _: answers.pop(0)) as server:
        receiver = Receiver(name="am", kind="alertmanager", options=AlertmanagerOptions(url=server.url))
        outcome = await deliver(receiver, notification(Reason.RESOLVED), session=session, now=NOW)
    assert isinstance(outcome, RetryLater)
