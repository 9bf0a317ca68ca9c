"""A model and a gateway that say whatever would do harm, through the whole chain: into every page, feed, picture, Slack
message and terminal. Nothing of it becomes an element, an attribute, a mention or a terminal's command.
"""

import asyncio
import json
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from canary.cli import main
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.core.service import Listen, StatusPage
from canary.notify.slack import SlackOptions
from canary.web.app import ROUTES
from canary.web.public import API_PATHS, FEED_PATHS
from tests.daemon.conftest import answering
from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, LlmServer, chunk, delta, whole
from tests.fakes.slack_server import POWERFUL, TOKEN, SlackServer

MARK = "zqharm"
HARM = (
    f"<script>{MARK}()</script><svg onload={MARK}()><a xlink:href='javascript:{MARK}()'>x</a></svg>"
    f'<img src=x onerror={MARK}()>" onmouseover="{MARK}()" \' onfocus=\'{MARK}() </title></text></style>--> ]]>'
    f" {{{{{MARK}}}}} ${{jndi:{MARK}}} %s"
    f" <!channel> <@U1> <https://evil.example/{MARK}|x> &lt;script&gt; \x00\x01\x07\x1b[2J\x1b]0;{MARK}\x07\x9b31m\x7f"
    f"\u202e\u2066\u200f\ufeff\u2028\ud800 한국어 \U0001f480 \r\n\t"
)
MEGABYTES = 5
KEY = "correct-horse-battery"
PRIVATE = {"Authorization": f"Bearer {KEY}"}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f\ufeff\ufffe]")


def model():
    """Hidden reasoning and an answer of some megabytes, all of it harm; it ends without the end that it should have."""
    texts = [delta(reasoning=HARM), *[delta(content=HARM * 500)] * (MEGABYTES * 2_000_000 // (len(HARM) * 1000))]
    return [(0.0, SSE_HEAD), *((0.0, chunk(text)) for text in texts), (0.0, chunk(delta(finish="length")) + LAST_CHUNK)]


def broken_gateway():
    body = json.dumps({"error": {"message": HARM, "type": HARM, "code": HARM}}).encode()
    return [(0.0, whole(body, 500, content_type="application/json"))]


class Elements(HTMLParser):
    """Everything of a page that is not text."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.inline = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.cdata_elem:
            self.inline.append(data)


def harm_in_html(text):
    parser = Elements()
    parser.feed(text)
    parser.close()
    found = [f"inline {part!r}" for part in parser.inline if part.strip()]
    for tag, attributes in parser.found:
        found += [f"<{tag}>"] if tag in {"iframe", "object", "embed", "base"} else []
        found += [f"{tag} {name}" for name in attributes if name.startswith("on") or name == "style"]
        for name in {"href", "src", "xlink:href", "action"} & set(attributes):
            value = attributes[name] or ""
            if urlsplit(value).scheme not in {"", "http", "https"} or MARK in value:
                found.append(f"{tag} {name}={value!r}")
    return found


def harm_in_xml(body):
    root = ElementTree.fromstring(body)
    found = []
    for each in root.iter():
        found += [each.tag] if each.tag.rpartition("}")[2] in {"script", "foreignObject", "image", "use"} else []
        found += [name for name in each.attrib if name.startswith("on") or name == "style"]
        found += harm_in_html(each.text or "") if each.tag.endswith(("summary", "description")) else []
    return found


def harm_in(kind, body):
    text = body.decode()
    if kind.startswith("text/html"):
        return harm_in_html(text) + [repr(each) for each in CONTROLS.findall(text)]
    if "xml" in kind:
        return harm_in_xml(body) + [repr(each) for each in CONTROLS.findall(text)]
    if "ndjson" in kind:
        return [line for line in text.splitlines() if not json.loads(line)]
    if "json" in kind:
        json.loads(text)
        return []
    return []


def harm_in_slack(value):
    """Markup with a power of its own, or a control character, in any text that was sent."""
    if isinstance(value, dict):
        return [each for item in value.values() for each in harm_in_slack(item)]
    if isinstance(value, list):
        return [each for item in value for each in harm_in_slack(item)]
    if isinstance(value, str):
        return POWERFUL.findall(value) + CONTROLS.findall(value)
    return []


def paths(runs, pages):
    """Every address that shows something, with what there is to show."""
    found = [path for method, path, _, _ in ROUTES if method == "GET" and "{" not in path]
    found += ["/pipelines/chat", *(f"/pipelines/chat?range={each}" for each in ("7d", "30d", "90d", HARM[:8]))]
    found += [f"/incidents/{page}" for page in pages]
    for run in runs:
        found += [f"/runs/{run}", f"/runs/{run}/transcript/0", f"/runs/{run}/transcript/1"]
    return [*found, "/badge/chat.svg", "/badge/chat/engine.svg", "/badge/chat/edge.json"]


@pytest.fixture
def hostile(planned, daemon):
    """A daemon that has seen all of it, with a Slack that was told: (running, slack, run ids, page ids, plan)."""

    async def seen(check):
        async with (
            SlackServer().running() as slack,
            LlmServer(answering(model())) as llm,
            LlmServer(answering(broken_gateway())) as gateway,
        ):
            options = SlackOptions(token=Secret(TOKEN), channel="#llm-oncall", api_url=slack.api_url)
            plan = planned(
                hops=(("edge", gateway.url), ("engine", llm.url)),
                every_s=3600.0,
                receivers=(Receiver(name="slack", kind="slack", options=options),),
                service={
                    "listen": Listen(port=0, token=Secret(KEY)),
                    "status_page": StatusPage(public=True, title="Chat", min_age_s=0.0, content=True),
                    "include_content": True,
                },
            ).plan()
            async with daemon(lambda: plan) as running:
                await running.until(lambda: running.runs)
                async with asyncio.timeout(20):
                    await slack.heard.wait()
                await check(running, slack, plan)

    return seen


async def test_nothing_executes_anywhere(hostile, capsys):
    async def check(running, slack, plan):
        async with running.session.get(f"{running.url}/api/v1/state", headers=PRIVATE) as response:
            state = await response.json()
        pages = [page["id"] for page in state["pages"]]
        assert pages
        await looked_at(running, [run.id for run in running.runs], pages)
        told = [part for each in slack.posted for part in (each.body, *each.edits, *each.thread)]
        assert harm_in_slack(told) == []
        url = plan.service.storage.url.reveal()
        await asyncio.to_thread(terminals, capsys, url, running.runs[0].id, pages[0])

    await hostile(check)


async def looked_at(running, runs, pages):
    marked = set()
    for headers in ({}, PRIVATE):
        for path in paths(runs, pages):
            async with running.session.get(running.url + path, headers=headers) as response:
                body, kind = await response.read(), response.headers["Content-Type"]
                public = path in (*API_PATHS, *FEED_PATHS, "/")
                assert response.status in ({200} if headers or public else {200, 401, 404}), path
            assert (path, harm_in(kind, body)) == (path, [])
            marked |= {path.split("/")[1]} if MARK.encode() in body else set()
            assert len(body) < 12_000_000
    assert {"incidents", "runs", "api", "history.atom", "feed.json"} <= marked, "the harm was there to be seen"


def terminals(capsys, url, run, page):
    shown = ""
    for command in (
        ["show", run, "--verbose"],
        ["show", run, "--hop", "engine"],
        ["show", run, "--hop", "edge"],
        ["history", "chat"],
        ["incidents"],
        ["incident", "note", page, "seen"],
        ["incident", "note", page, HARM],
        ["report"],
        ["report", "--format", "markdown"],
        ["report", "--format", "csv"],
    ):
        code = main([*command, "--storage", url])
        said = capsys.readouterr()
        assert (command, code) == (command, 3 if HARM in command else 0)
        for text in (said.out.replace("\r\n", "\n"), said.err):  # CSV ends its lines so
            assert (command, CONTROLS.findall(text)) == (command, [])
        shown += said.out
    assert MARK in shown, "the harm was there to be seen"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", HARM.encode("utf-8", "replace")),
        ("text/html", b"<p onclick='x()'>"),
        ("text/html", b"<a href='javascript:x()'>"),
        ("text/html", b"<script>x()</script>"),
        ("application/xml", b"<svg><script/></svg>"),
        ("application/xml", b"<svg onload='x'/>"),
        ("application/xml", b"<feed><summary>&lt;script>x&lt;/script></summary></feed>"),
    ],
)
def test_harm_would_be_seen(kind, body):
    assert harm_in(kind, body)


def test_the_model_says_enough():
    assert sum(len(data) for _, data in model()) > MEGABYTES * 1_000_000
