import json
from datetime import datetime, timedelta

import pytest

from canary.core.finding import Severity
from canary.core.notification import Reason, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.alertmanager import AlertmanagerOptions, labels_of, render
from canary.notify.kind import Errand
from tests.fakes.llm_server import LlmServer, whole
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
    """Alertmanager refuses that, and our clock may have been set back."""
    (alert,) = alerts(notification(Reason.RESOLVED), now=SINCE - timedelta(hours=1))
    assert ends(alert) == SINCE


def test_another_severity_ends_the_alert_of_before():
    warning = notification(severity=Severity.WARNING)
    handle = json.dumps(labels_of(Errand(notification=warning, now=NOW), OPTIONS))
    now, before = alerts(notification(Reason.WORSE), handle=handle)
    assert (now["labels"]["severity"], ends(now) > NOW) == ("critical", True)
    assert (before["labels"]["severity"], ends(before)) == ("warning", NOW)


def test_the_same_labels_are_one_alert():
    handle = json.dumps(labels_of(Errand(notification=notification(), now=NOW), OPTIONS))
    assert len(alerts(notification(Reason.REMINDER), handle=handle)) == 1


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
