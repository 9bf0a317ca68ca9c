"""A real Alertmanager: our alerts appear, stay one, change severity, end; and its own receivers hear of it."""

import asyncio
import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from aiohttp import web

from canary.core.finding import Severity
from canary.core.notification import Reason, Rejected, Sent
from canary.core.route import Receiver
from canary.notify import deliver, notify_test
from canary.notify.alertmanager import AlertmanagerOptions
from tests.fakes.messages import hostile, notification
from tests.fakes.served import served
from tests.real.lab.processes import Command, free_port, running

pytestmark = pytest.mark.real

LIMIT_S = 30.0
CONFIG = """
route: {receiver: hook, group_by: [page], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers:
  - name: hook
    webhook_configs: [{url: '%s/told', send_resolved: true}]
"""


def real_now():
    return datetime.now(UTC)  # noqa: TID251  # its clock is the machine's


class Told:
    """What Alertmanager tells its own receiver: (severity, status) of each alert of a group."""

    def __init__(self):
        self.queue = asyncio.Queue()

    async def take(self, request):
        body = await request.json()
        self.queue.put_nowait({(each["labels"]["severity"], each["status"]) for each in body["alerts"]})
        return web.Response()

    async def until(self, expected):
        """The first telling that is `expected`; what came before it."""
        before = []
        async with asyncio.timeout(LIMIT_S):
            while (heard := await self.queue.get()) != expected:
                before.append(heard)
        return before


@pytest.fixture
def binary():
    found = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if found is None:
        missing = "Alertmanager is not installed; on Debian: apt-get install prometheus-alertmanager"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@pytest.fixture
async def told():
    told = Told()
    app = web.Application()
    app.router.add_post("/told", told.take)
    async with served(app) as told.url:
        yield told


@pytest.fixture
def alertmanager(binary, told, tmp_path):
    """Its base URL."""
    port = free_port()
    config = tmp_path / "alertmanager.yml"
    config.write_text(CONFIG % told.url)
    command = Command(
        name="alertmanager",
        argv=(
            binary,
            f"--config.file={config}",
            f"--storage.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ),
        ready_url=f"http://127.0.0.1:{port}/-/ready",
        ready_limit_s=LIMIT_S,
        env={},
        folder=tmp_path,
    )
    with running(command):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def tell(alertmanager, session):
    async def send(sent, handle=None, ahead_s=0.0):
        """`ahead_s`: by how much our clock is ahead of Alertmanager's."""
        options = AlertmanagerOptions(url=alertmanager, labels={"team": "llm"})
        receiver = Receiver(name="am", kind="alertmanager", options=options)
        now = real_now() + timedelta(seconds=ahead_s)
        return await deliver(receiver, sent, session=session, now=now, handle=handle)

    return send


@pytest.fixture
def active(alertmanager, session):
    async def ask():
        async with session.get(f"{alertmanager}/api/v2/alerts", params={"active": "true"}) as response:
            return await response.json()

    return ask


def lately(reason, **message):
    return notification(reason, at=real_now(), since=real_now() - timedelta(minutes=5), **message)


async def test_a_page_from_its_opening_to_its_end(tell, active, told):
    opened = await tell(lately(Reason.OPENED, severity=Severity.WARNING))
    assert isinstance(opened, Sent)
    await told.until({("warning", "firing")})
    for _ in range(3):
        assert await tell(lately(Reason.REMINDER, severity=Severity.WARNING), opened.handle) == opened
    (alert,) = await active()
    assert alert["labels"] == {
        "alertname": "ReasoningCanary",
        "severity": "warning",
        "check": "idle_timeout",
        "page": "p1",
        "team": "llm",
    }
    assert alert["annotations"]["summary"] == "edge/nginx would cut the stream of agent"
    assert datetime.fromisoformat(alert["endsAt"]) > real_now() + timedelta(days=300)

    worse = await tell(lately(Reason.WORSE), opened.handle)
    assert [each["labels"]["severity"] for each in await active()] == ["critical"]
    await told.until({("critical", "firing"), ("warning", "resolved")})

    assert isinstance(await tell(lately(Reason.RESOLVED), worse.handle), Sent)
    assert await active() == []
    before = await told.until({("critical", "resolved")})
    assert all(("warning", "firing") not in heard for heard in before)


@pytest.mark.parametrize("ahead_s", [0.5, 60.0, 3600.0, -60.0])
async def test_an_end_is_one_whatever_our_clock_says(tell, active, ahead_s):
    warning = await tell(lately(Reason.OPENED, severity=Severity.WARNING), ahead_s=ahead_s)
    worse = await tell(lately(Reason.WORSE), warning.handle, ahead_s=ahead_s)
    assert [each["labels"]["severity"] for each in await active()] == ["critical"]
    await tell(lately(Reason.RESOLVED), worse.handle, ahead_s=ahead_s)
    assert await active() == []


async def test_pages_are_told_apart(tell, active):
    for page in ("p1", "p2"):
        await tell(replace(lately(Reason.OPENED), page_id=page))
    await tell(replace(lately(Reason.RESOLVED), page_id="p1"))
    assert [each["labels"]["page"] for each in await active()] == ["p2"]


async def test_hostile_text_is_taken(tell, active):
    sent = replace(hostile(times=300, items=60), at=real_now())
    assert isinstance(await tell(sent), Sent)
    (alert,) = await active()
    assert "\x00" not in json.dumps(alert)


async def test_a_test_message_ends_by_itself(alertmanager, session, active):
    receiver = Receiver(name="am", kind="alertmanager", options=AlertmanagerOptions(url=alertmanager))
    assert isinstance(await notify_test(receiver, session=session, now=real_now()), Sent)
    (alert,) = await active()
    assert datetime.fromisoformat(alert["endsAt"]) < real_now() + timedelta(minutes=6)


async def test_what_it_refuses_is_rejected_with_its_words(alertmanager, session):
    options = AlertmanagerOptions(url=alertmanager, labels={"not a name": "x"})
    receiver = Receiver(name="am", kind="alertmanager", options=options)
    outcome = await deliver(receiver, lately(Reason.OPENED), session=session, now=real_now())
    assert isinstance(outcome, Rejected)
    assert outcome.why.startswith("HTTP 400: ")
