"""What every notifier must do, over NOTIFIERS: a new row is tested the moment it stands there."""

import asyncio
import json
import logging
from dataclasses import fields, is_dataclass, replace

import pytest

from canary.core.notification import Reason, Rejected, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import NOTIFIERS, deliver, notify_test
from tests.fakes.llm_server import Cut, LlmServer
from tests.fakes.messages import NOW, TOLD, hostile, notification

SECRET = "s3cr3t-Tok3n-0123456789abcdef012"
SELF_TIMED = {"apprise"}  # it gives up on its service by itself
RECEIVERS = {  # kind: its options for a server at `url`, full of secrets
    "slack": lambda url: {"token": Secret(SECRET), "channel": "#c", "api_url": f"{url}/api/"},
    "slack_webhook": lambda url: {"url": Secret(f"{url}/services/T000/B000/{SECRET}")},
    "pagerduty": lambda url: {"routing_key": Secret(SECRET), "url": f"{url}/v2/enqueue"},
    "alertmanager": lambda url: {"url": url, "headers": {"Authorization": Secret(f"Bearer {SECRET}")}},
    "webhook": lambda url: {
        "url": Secret(f"{url}/{SECRET}?key={SECRET}"),
        "secret": Secret(SECRET),
        "headers": {"X-Key": Secret(SECRET)},
    },
    "statuspage": lambda url: {
        "api_key": Secret(SECRET),
        "page_id": "p",
        "components": {"chat-prod": "c1"},
        "url": url,
    },
    "apprise": lambda url: {"url": Secret(url.replace("http://", f"json://user:{SECRET}@") + "/?cto=0.3&rto=0.3")},
}
SAYS_NOTHING = {"statuspage"}  # a test that everybody could read would be a false alarm
ASKS_NO_WHY = {"apprise"}  # it says yes or no
OK = json.dumps({"ok": True, "channel": "C1", "ts": "1.2"}).encode()


def receiver(kind, url, **more):
    return Receiver(name="on-call", kind=kind, options=NOTIFIERS[kind].options(**RECEIVERS[kind](url), **more))


def reply(status=200, body=OK, headers=""):
    fixed = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return [(0.0, f"HTTP/1.1 {status} X\r\n{fixed}{headers}\r\n".encode() + body), (0.0, Cut.FIN)]


def refusal(status, headers=""):
    return reply(status, json.dumps({"ok": False, "error": "invalid_arguments"}).encode(), headers)


def echo(request):
    """A receiver that repeats all that it was sent, as debug pages do."""
    body = json.dumps([request.target, request.headers, request.body.decode()]).encode()
    return reply(400, body)


@pytest.fixture(params=sorted(NOTIFIERS))
def kind(request):
    return request.param


SILENT = [[], [(0.0, b"HTTP/1.1 20")]]


def patience_s(kind, script):
    """Short only where nothing will come: this machine may be busy."""
    return 0.2 if script in SILENT and kind not in SELF_TIMED else 10.0


async def attempt(kind, session, script, *, sent=None, **more):
    async with LlmServer(script) as server:
        target = receiver(kind, server.url, timeout_s=patience_s(kind, script))
        outcome = await deliver(target, sent or notification(), session=session, now=NOW, **more)
        return outcome, server.requests


def test_every_notifier_is_tried_here():
    assert set(RECEIVERS) == set(NOTIFIERS)


def test_options_are_plain(kind):
    """A config is built from their fields, and a secret shows nowhere."""
    options = receiver(kind, "http://127.0.0.1:1").options
    assert is_dataclass(options)
    assert type(options).__dataclass_params__.frozen
    assert "timeout_s" in {field.name for field in fields(options)}
    assert SECRET not in repr(options)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(reply(), Sent, id="200"),
        pytest.param(reply(body=OK[:-1] + b" " * 5_000_000 + b"}"), Sent, id="an answer of 5 MB"),
        pytest.param(refusal(429, "Retry-After: 30\r\n"), RetryLater, id="429"),
        pytest.param(refusal(500), RetryLater, id="500"),
        pytest.param(reply(502, b"<html>bad gateway</html>"), RetryLater, id="502 with HTML"),
        pytest.param(refusal(503, "Retry-After: 30\r\n"), RetryLater, id="503"),
        pytest.param(refusal(400), Rejected, id="400"),
        pytest.param(SILENT[0], RetryLater, id="no answer"),
        pytest.param(SILENT[1], RetryLater, id="half a status line"),
        pytest.param([(0.0, Cut.FIN)], RetryLater, id="closed"),
        pytest.param([(0.0, Cut.RST)], RetryLater, id="reset"),
        pytest.param([(0.0, b"SSH-2.0-OpenSSH\r\n\r\n"), (0.0, Cut.FIN)], RetryLater, id="not HTTP"),
    ],
)
async def test_retry_table(kind, session, script, expected):
    outcome, _ = await attempt(kind, session, script)
    if kind in ASKS_NO_WHY and expected is Rejected:
        expected = RetryLater
    assert isinstance(outcome, expected), outcome
    if expected is not Sent:
        assert outcome.why


@pytest.mark.parametrize("status", [429, 503])
async def test_it_says_how_long_to_wait(kind, session, status):
    outcome, _ = await attempt(kind, session, refusal(status, "Retry-After: 30\r\n"))
    assert outcome.after_s == (None if kind in ASKS_NO_WHY else 30.0)


async def test_nobody_listens(kind, session):
    async with LlmServer() as server:
        url = server.url
    outcome = await deliver(receiver(kind, url, timeout_s=10.0), notification(), session=session, now=NOW)
    assert isinstance(outcome, RetryLater), outcome


async def test_it_does_not_try_again_by_itself(kind, session):
    """Whoever owns the outbox does; two who retry multiply."""
    _, requests = await attempt(kind, session, refusal(500))
    assert len(requests) == 1


async def test_a_redirect_is_not_followed(kind, session):
    """It would hand payload and credentials to whoever it names."""
    async with LlmServer(reply()) as other:
        script = reply(307, b"{}", f"Location: {other.url}/\r\n")
        outcome, _ = await attempt(kind, session, script)
        if kind not in {"slack", "apprise"}:  # their libraries follow; what they talk to is fixed
            assert other.requests == []
            assert isinstance(outcome, Rejected)


@pytest.mark.parametrize("script", [echo, SILENT[0], refusal(500), reply()], ids=["echo", "silent", "500", "200"])
async def test_no_secret_leaks(kind, session, script, caplog):
    """Into what became of it, or into the log at INFO and above."""
    caplog.set_level(logging.INFO)
    outcome, _ = await attempt(kind, session, script)
    assert SECRET not in repr(outcome)
    assert SECRET[:16] not in repr(outcome)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("reason", TOLD)
async def test_every_reason_is_rendered(kind, session, reason):
    outcome, requests = await attempt(kind, session, reply(), sent=notification(reason))
    assert isinstance(outcome, Sent), outcome
    assert requests


@pytest.mark.parametrize("reason", sorted(set(Reason) - set(TOLD)))
async def test_a_reason_for_silence_does_not_break_it(kind, session, reason):
    outcome, _ = await attempt(kind, session, reply(), sent=notification(reason))
    assert isinstance(outcome, Sent), outcome


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(hostile(), id="markup and controls"),
        pytest.param(hostile(times=2000), id="5 MB in all"),
        pytest.param(hostile(items=2000), id="2000 in every list"),
    ],
)
async def test_hostile_text_arrives_harmless(kind, session, sent):
    outcome, requests = await attempt(kind, session, reply(), sent=sent)
    assert isinstance(outcome, Sent), outcome
    assert outcome.note == ""
    for request in requests:
        body = request.body.decode()
        assert len(body) < 400_000
        for harmful in (
            "\x00",
            "\\u0000",
            "\x1b",
            "\\u001b",
            "\u202e",
            "\\u202e",
            "\u2066",
            "\u061c",
            "\\u061c",
            "\\ud800",
        ):
            assert harmful not in body
        json.loads(body)


async def test_a_handle_of_another_kind_is_none(kind, session):
    """The receiver was another one when the page opened."""
    outcome, requests = await attempt(
        kind, session, reply(), handle='other {"asked": "#c", "channel": "C1", "ts": "1"}'
    )
    assert isinstance(outcome, Sent), outcome
    assert b"asked" not in requests[0].body


@pytest.mark.parametrize("bad", ["\n", "\r\nX-Evil: 1", "\x00"])
async def test_a_secret_of_two_lines_is_rejected(kind, session, bad):
    fine = receiver(kind, "http://127.0.0.1:1").options
    name = next(field.name for field in fields(fine) if isinstance(getattr(fine, field.name), Secret | dict))
    broken = {"A": Secret(SECRET + bad)} if name == "headers" else Secret(SECRET + bad)
    target = Receiver(name="on-call", kind=kind, options=replace(fine, **{name: broken}))
    outcome = await deliver(target, notification(), session=session, now=NOW)
    assert outcome == Rejected(why="a secret of this receiver holds a line break or another control character")


async def test_a_test_message_says_so(kind, session):
    async with LlmServer(reply()) as server:
        outcome = await notify_test(receiver(kind, server.url), session=session, now=NOW)
        assert isinstance(outcome, Sent)
        if kind in SAYS_NOTHING:
            assert server.requests[0].method == "GET"
            return
        assert "TEST" in server.requests[0].body.decode() or "Test message" in server.requests[0].body.decode()


async def test_a_cancelled_attempt_is_cancelled(kind, session):
    """A shutdown is no failed delivery."""
    async with LlmServer() as server:
        slow = replace(receiver(kind, server.url).options, timeout_s=60.0)
        target = Receiver(name="on-call", kind=kind, options=slow)
        task = asyncio.ensure_future(deliver(target, notification(), session=session, now=NOW))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
