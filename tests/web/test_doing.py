import base64
import json

import pytest

from canary.core.finding import Severity
from canary.core.route import Match
from canary.core.status import Level
from canary.web.actions import Deploy, Hush, Refusal, Refused, Word
from canary.web.doing import MAX_BODY_BYTES, STATUS_OF
from tests.fakes.routes import ASKED, ask


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
        pytest.param("/-/note/{page}", ("note", "a1b2", "We have found the cause.", "kim"), id="note"),
        pytest.param(
            "/-/override",
            ("override", Word(level=Level.PARTIAL, duration_s=7200.0, author="api", pipeline="chat")),
            id="override",
        ),
        pytest.param("/-/override/{id}", ("unoverride", "o1"), id="unoverride"),
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


@pytest.mark.parametrize("name", ["%00", "%0A", "a%1B%5B2J", "x" * 201], ids=["NUL", "LF", "ESC", "long"])
async def test_a_name_that_no_config_holds(site, name):
    async with site() as running:
        for method, path in (
            ("POST", "/-/probe/"),
            ("POST", "/-/probe/chat/"),
            ("POST", "/-/ack/"),
            ("DELETE", "/-/silence/"),
        ):
            status, _, _ = await running.ask(method, f"{path}{name}")
            assert status in {400, 404}
        assert running.recorder.asked == []


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
        assert json.loads(body)["details"] == [
            "text: is required",
            "txt: is no key here",
            "body: the keys are text (required), pipeline",
        ]


async def test_a_body_that_is_too_long(site):
    async with site() as running:
        status, _, _ = await running.ask("POST", "/-/deploy", data=b" " * (MAX_BODY_BYTES + 1))
        assert (status, running.recorder.asked) == (413, [])
