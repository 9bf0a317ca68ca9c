import asyncio
import base64
import json
import logging

import pytest

from canary.core.finding import Severity
from canary.core.route import Match
from canary.core.secret import Secret
from canary.core.service import Listen
from canary.core.snapshot import Readiness
from canary.web.actions import Deploy, Hush, Refusal, Refused
from canary.web.app import BURST, ROUTES
from canary.web.doing import MAX_BODY_BYTES, STATUS_OF
from canary.web.gate import PUBLIC
from tests.fakes.snapshots import snapshot

HUSH = b'{"match": {"hop": "vllm", "env": "prod", "severity": "critical"}, "for": "2h", "comment": "upgrade"}'
# Each route with a request that it takes: method, path as asked, body, status.
ASKED = {
    "/": ("GET", "/", b"", 200),
    "/style.css": ("GET", "/style.css", b"", 200),
    "/metrics": ("GET", "/metrics", b"", 200),
    "/api/v1/state": ("GET", "/api/v1/state", b"", 200),
    "/-/healthy": ("GET", "/-/healthy", b"", 200),
    "/-/ready": ("GET", "/-/ready", b"", 200),
    "/-/reload": ("POST", "/-/reload", b"", 200),
    "/-/probe/{pipeline}": ("POST", "/-/probe/chat", b"", 202),
    "/-/probe/{pipeline}/{probe}": ("POST", "/-/probe/chat/heavy", b"", 202),
    "/-/deploy": ("POST", "/-/deploy", b'{"text": "vLLM 0.23"}', 201),
    "/-/ack/{page}": ("POST", "/-/ack/p1", b"", 200),
    "/-/silence": ("POST", "/-/silence", HUSH, 201),
    "/-/silence/{id}": ("DELETE", "/-/silence/s1", b"", 200),
}
PATHS = [path for _, path, _ in ROUTES]
ACTING = [path for path in PATHS if ASKED[path][0] != "GET"]
GIVEN = {
    "no token": ({}, False),
    "wrong": ({"Authorization": "Bearer wrong-horse"}, False),
    "half": ({"Authorization": "Bearer"}, False),
    "right": ({"Authorization": "Bearer correct-horse"}, True),
    "right, basic": ({"Authorization": "Basic " + base64.b64encode(b"anna:correct-horse").decode()}, True),
}


async def ask(running, path, **more):
    method, asked, data, _ = ASKED[path]
    return await running.ask(method, asked, data=data or None, **more)


def test_every_route_has_its_request():
    assert set(ASKED) == set(PATHS)
    assert set(PATHS) > PUBLIC


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"], ids=["loopback", "routable"])
@pytest.mark.parametrize("given", GIVEN)
async def test_every_route_with_a_token_set(site, token, host, given):
    headers, right = GIVEN[given]
    async with site(host=host, token=token) as running:
        for path in PATHS:
            status, answered, _ = await ask(running, path, headers=headers)
            let_in = right or path in PUBLIC
            assert (path, status) == (path, ASKED[path][3] if let_in else 401)
            assert ("WWW-Authenticate" in answered) is not let_in
        assert len(running.recorder.asked) == (len(ACTING) if right else 0)


async def test_every_route_on_loopback_without_a_token(site):
    async with site() as running:
        for path in PATHS:
            assert (path, (await ask(running, path))[0]) == (path, ASKED[path][3])


async def test_a_reload_changes_the_token(site, token):
    async with site(token=token) as running:
        running.snapshot = snapshot(listen=Listen(token=Secret("another")))
        assert (await ask(running, "/metrics", headers=GIVEN["right"][0]))[0] == 401
        assert (await ask(running, "/metrics", headers={"Authorization": "Bearer another"}))[0] == 200


async def test_a_reload_that_drops_the_token_opens_nothing_to_the_network(site, token):
    async with site(host="0.0.0.0", token=token) as running:
        running.snapshot = snapshot(listen=Listen())
        for path in PATHS:
            status, _, _ = await ask(running, path, headers=GIVEN["right"][0])
            assert (path, status) == (path, 200 if path in PUBLIC else 401)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="another port"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, id="another port, old browser"),
        pytest.param({"Origin": "null"}, id="a sandboxed page"),
    ],
)
async def test_a_page_elsewhere_acts_on_nothing(site, headers):
    async with site() as running:
        for path in ACTING:
            assert (path, (await ask(running, path, headers=headers))[0]) == (path, 403)
        assert running.recorder.asked == []
        assert (await ask(running, "/", headers=headers))[0] == 200  # a link to us is no harm


async def test_our_own_page_may_act(site):
    async with site() as running:
        assert (await ask(running, "/-/reload", headers={"Origin": running.url}))[0] == 200


async def test_a_rebound_name_sees_nothing(site):
    async with site() as running:
        for path in PATHS:
            status, _, body = await ask(running, path, headers={"Host": "evil.example"})
            assert (path, status) == (path, ASKED[path][3] if path in PUBLIC else 421)
            assert path != "/-/ready" or json.loads(body) == {"ready": True}  # and no reasons


async def test_the_public_name_is_answered(site):
    async with site(public_url="https://canary.example") as running:
        assert (await ask(running, "/metrics", headers={"Host": "canary.example"}))[0] == 200


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        pytest.param("/-/reload", ("reload",), id="reload"),
        pytest.param("/-/probe/{pipeline}", ("probe", "chat", None), id="all probes"),
        pytest.param("/-/probe/{pipeline}/{probe}", ("probe", "chat", "heavy"), id="one probe"),
        pytest.param("/-/deploy", ("deploy", Deploy(text="vLLM 0.23")), id="deploy"),
        pytest.param("/-/ack/{page}", ("acknowledge", "p1", "api"), id="ack"),
        pytest.param(
            "/-/silence",
            (
                "silence",
                Hush(
                    match=Match(labels={"env": "prod"}, hop="vllm", severity=Severity.CRITICAL),
                    duration_s=7200.0,
                    author="api",
                    comment="upgrade",
                ),
            ),
            id="silence",
        ),
        pytest.param("/-/silence/{id}", ("unsilence", "s1"), id="unsilence"),
    ],
)
async def test_what_an_action_is_asked(site, path, asked):
    async with site() as running:
        status, _, body = await ask(running, path)
        assert running.recorder.asked == [asked]
        assert (status, json.loads(body)) == (ASKED[path][3], {"message": "it was done", "ids": ["x1"]})


async def test_names_come_as_they_are_written_in_the_config(site):
    async with site() as running:
        await running.ask("POST", "/-/probe/a%20b%2Fc/%EC%9A%B4%EC%98%81")
        assert running.recorder.asked == [("probe", "a b/c", "운영")]


@pytest.mark.parametrize(
    ("user", "body", "author"),
    [
        pytest.param("anna", b"", "anna", id="of basic auth"),
        pytest.param("anna", b'{"by": "ben"}', "ben", id="the body's"),
        pytest.param("a\x1b[2J", b"", "api", id="not to be printed"),
        pytest.param("", b"", "api", id="nobody"),
    ],
)
async def test_who_acknowledges(site, token, user, body, author):
    headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()}
    async with site(token=token) as running:
        await running.ask("POST", "/-/ack/p1", headers=headers, data=body or None)
        assert running.recorder.asked == [("acknowledge", "p1", author)]


@pytest.mark.parametrize("why", Refusal)
async def test_an_action_that_is_refused(site, why):
    async with site(answer=Refused(why=why, message="no", details=("a", "b"))) as running:
        status, _, body = await ask(running, "/-/reload")
        assert (status, json.loads(body)) == (STATUS_OF[why], {"error": why, "message": "no", "details": ["a", "b"]})


async def test_a_bad_body_asks_for_nothing(site):
    async with site() as running:
        status, _, body = await running.ask("POST", "/-/deploy", data=b'{"txt": "a"}')
        assert (status, json.loads(body)["error"], running.recorder.asked) == (400, "bad_body", [])
        assert len(json.loads(body)["details"]) == 2


async def test_a_body_that_is_too_long(site):
    async with site() as running:
        status, _, _ = await running.ask("POST", "/-/deploy", data=b" " * (MAX_BODY_BYTES + 1))
        assert (status, running.recorder.asked) == (413, [])


async def test_actions_have_a_rate(site):
    async with site() as running:
        statuses = [(await ask(running, "/-/reload"))[0] for _ in range(BURST + 1)]
        assert statuses == [200] * BURST + [429]
        _, headers, _ = await ask(running, "/-/deploy")
        assert headers["Retry-After"] == "3"
        assert (await ask(running, "/metrics"))[0] == 200  # looking costs nothing
        running.now += 3.0
        assert (await ask(running, "/-/reload"))[0] == 200


async def test_strangers_do_not_use_up_the_rate(site, token):
    async with site(token=token) as running:
        for _ in range(BURST + 1):
            assert (await ask(running, "/-/reload"))[0] == 401
        assert (await ask(running, "/-/reload", headers=GIVEN["right"][0]))[0] == 200


@pytest.mark.parametrize(
    ("host", "with_token", "told"),
    [
        pytest.param("127.0.0.1", False, True, id="loopback"),
        pytest.param("0.0.0.0", False, False, id="routable, a stranger"),
        pytest.param("0.0.0.0", True, True, id="routable, with the token"),
    ],
)
async def test_not_ready(site, token, host, with_token, told):
    async with site(host=host, token=None if host == "127.0.0.1" else token) as running:
        listen = running.snapshot.plan.service.listen
        running.snapshot = snapshot(listen=listen, readiness=Readiness(problems=("the schedule is late",)))
        status, _, body = await ask(running, "/-/ready", headers=GIVEN["right"][0] if with_token else {})
        expected = {"ready": False} | ({"problems": ["the schedule is late"]} if told else {})
        assert (status, json.loads(body)) == (503, expected)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/nothing", 404, id="no page"),
        pytest.param("GET", "/-/reload", 405, id="a GET that would act"),
        pytest.param("POST", "/metrics", 405, id="a POST that would look"),
        pytest.param("HEAD", "/metrics", 200, id="head"),
        pytest.param("GET", "/../etc/passwd", 404, id="up"),
        pytest.param("GET", "/metrics/", 404, id="a slash more"),
        pytest.param("OPTIONS", "/-/reload", 405, id="no preflight is answered"),
    ],
)
async def test_what_is_not_there(site, method, path, status):
    async with site() as running:
        found, headers, body = await running.ask(method, path)
        assert found == status
        assert "Access-Control-Allow-Origin" not in headers
        if status >= 400:
            assert set(json.loads(body)) == {"error", "message"}


async def test_what_is_not_there_is_not_told_to_strangers(site, token):
    async with site(token=token) as running:
        assert (await running.ask("GET", "/nothing"))[0] == 401


async def test_our_own_bug_is_logged_and_shows_nothing(site, caplog):
    async with site(answer=ZeroDivisionError("secret detail")) as running:
        with caplog.at_level(logging.ERROR):
            status, headers, body = await ask(running, "/-/reload")
        assert status == 500
        assert b"secret detail" not in body
        assert headers["Content-Security-Policy"]
        assert any(record.exc_info for record in caplog.records)
        assert (await ask(running, "/-/healthy"))[0] == 200


async def test_every_answer_tells_browsers_to_be_careful(site):
    async with site() as running:
        for method, path in [("GET", path) for path in PATHS] + [("GET", "/nothing")]:
            _, headers, _ = await running.ask(method, path)
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == ("max-age=3600" if path == "/style.css" else "no-store")
            assert "Server" not in headers


async def test_many_scrapes_at_once(site):
    async with site() as running:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(running, "/metrics")) for _ in range(20)]
        assert {task.result()[0] for task in tasks} == {200}


async def test_the_format_follows_accept(site):
    async with site() as running:
        accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.1"}
        _, headers, body = await ask(running, "/metrics", headers=accept)
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert body.endswith(b"# EOF\n")
        _, headers, _ = await ask(running, "/metrics")
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
