"""What is shown to whom: every route, for everybody who may ask; and what no public byte may ever hold."""

import json
from dataclasses import replace
from datetime import timedelta
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

import pytest

from canary.alerting.board import Chronicle
from canary.core.finding import HopVerdict
from canary.core.secret import Secret
from canary.core.service import Listen, StatusPage
from canary.core.spec import Hop
from canary.core.status import Level
from canary.core.verdict import Status, Verdict
from tests.fakes import snapshots
from tests.fakes.boards import DOWN, WELL, note, over, override, page_of, told_of
from tests.fakes.routes import ASKED, GIVEN, OPEN, PATHS, PUBLIC, ask

SHOWN = StatusPage(public=True, title="Chat status")
HIDDEN = StatusPage()
CONTENT = ("/history.atom", "/history.rss", "/feed.json", "/api/v2/summary.json", "/badge/{pipeline}.svg")
SHARED = {path for path in PUBLIC if path.startswith("/api/v2/") or path.endswith(".json")}


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"], ids=["loopback", "routable"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("settings", [SHOWN, HIDDEN], ids=["public", "not public"])
async def test_every_route_for_everybody(site, token, host, given, settings):
    headers, right = GIVEN[given]
    async with site(host=host, token=token, status_page=settings) as running:
        for path in PATHS:
            status, answered, _ = await ask(running, path, headers=headers)
            let_in = right or path in OPEN or (path in PUBLIC and settings.public)
            assert (path, status) == (path, ASKED[path][3] if let_in else 401)
            assert ("WWW-Authenticate" in answered) is not let_in


@pytest.mark.parametrize("path", sorted(PUBLIC))
async def test_a_public_page_behind_any_name(site, token, path):
    """A proxy may hand its own name on; what is for everybody is for everybody."""
    async with site(token=token, status_page=SHOWN) as running:
        assert (await ask(running, path, headers={"Host": "status.example"}))[0] == 200


async def test_a_reload_opens_and_closes(site, token):
    async with site(token=token, status_page=SHOWN) as running:
        assert (await ask(running, "/history.atom"))[0] == 200
        running.snapshot = snapshots.snapshot(listen=Listen(token=Secret(token)), status_page=HIDDEN)
        assert (await ask(running, "/history.atom"))[0] == 401


@pytest.mark.parametrize("settings", [SHOWN, HIDDEN], ids=["public", "not public"])
async def test_who_may_read_it_from_elsewhere(site, token, settings):
    async with site(token=token, status_page=settings) as running:
        for path in PATHS:
            _, headers, _ = await ask(running, path, headers=GIVEN["right"][0])
            open_to_all = settings.public and path in SHARED
            assert (path, headers.get("Access-Control-Allow-Origin")) == (path, "*" if open_to_all else None)
            embedded = open_to_all or (settings.public and path.startswith("/badge"))
            expected = "cross-origin" if embedded else "same-origin"
            assert (path, headers["Cross-Origin-Resource-Policy"]) == (path, expected)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/badge/nothing.svg", 404),
        ("/badge/chat/nothing.svg", 404),
        ("/badge/chat/browser.json", 404),
        ("/badge/chat/vllm.svg", 200),
        ("/badge/.svg", 404),
        ("/badge/%00%1b.svg", 404),
        ("/api/v2/nothing.json", 404),
        ("/api/v2/../../-/reload", 404),
    ],
)
async def test_what_is_not_there(site, path, status):
    async with site(status_page=SHOWN) as running:
        assert (await running.ask("GET", path))[0] == status


@pytest.mark.parametrize(
    "path", sorted(path for path in PUBLIC if path not in {"/", "/pipelines/{pipeline}", "/incidents/{page}"})
)
async def test_conditional_requests(site, path):
    async with site(status_page=SHOWN) as running:
        status, headers, body = await ask(running, path)
        assert (status, headers["Cache-Control"]) == (200, "public, max-age=30")
        for known in (
            {"If-None-Match": headers["ETag"]},
            {"If-None-Match": f'"x", W/{headers["ETag"]}'},
            {"If-None-Match": "*"},
            {"If-Modified-Since": headers["Last-Modified"]},
        ):
            again, answered, nothing = await ask(running, path, headers=known)
            assert (again, nothing) == (304, b"")
            assert answered["ETag"] == headers["ETag"]
            assert answered.get("Access-Control-Allow-Origin") == headers.get("Access-Control-Allow-Origin")
        for unknown in (
            {"If-None-Match": '"x"'},
            {"If-None-Match": '"x"', "If-Modified-Since": headers["Last-Modified"]},
            {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
            {"If-Modified-Since": "nonsense"},
        ):
            assert (await ask(running, path, headers=unknown))[0] == 200
        _, asked, _, _ = ASKED[path]
        status, head, nothing = await running.ask("HEAD", asked)
        assert (status, nothing, head["ETag"]) == (200, b"", headers["ETag"])
        assert int(head["Content-Length"]) == len(body)


@pytest.mark.parametrize("path", CONTENT)
async def test_a_change_is_seen_at_once(site, path):
    async with site(status_page=SHOWN) as running:
        _, before, _ = await ask(running, path)
        listen = Listen()
        running.snapshot = snapshots.snapshot(
            snapshots.pipeline(), pages=(over(DOWN),), latest=WELL, status_page=SHOWN, listen=listen
        )
        for known in ({"If-None-Match": before["ETag"]}, {"If-Modified-Since": before["Last-Modified"]}):
            status, after, _ = await ask(running, path, headers=known)
            assert status == 200
        assert after["ETag"] != before["ETag"]
        assert parsedate_to_datetime(after["Last-Modified"]) > parsedate_to_datetime(before["Last-Modified"])


@pytest.mark.parametrize("path", CONTENT)
async def test_time_alone_changes_nothing(site, path):
    async with site(status_page=SHOWN) as running:
        _, before, _ = await ask(running, path)
        running.snapshot = replace(running.snapshot, at=running.snapshot.at + timedelta(minutes=1))
        _, after, _ = await ask(running, path)
        assert (after["ETag"], after["Last-Modified"]) == (before["ETag"], before["Last-Modified"])


async def test_what_people_say(site):
    async with site(status_page=SHOWN) as running:
        running.chronicle = Chronicle(notes=(note(),), overrides=(override(Level.DEGRADED, pipeline="chat"),))
        document = json.loads((await ask(running, "/api/v2/summary.json"))[2])
        assert document["status"]["indicator"] == "minor"
        assert document["incidents"][0]["incident_updates"][0]["body"] == "We have found the cause."
        assert b"kim" not in (await ask(running, "/api/v2/summary.json"))[2]


async def test_links_begin_as_the_config_says(site):
    async with site(status_page=SHOWN, public_url="https://status.example") as running:
        for path in ("/history.atom", "/history.rss", "/feed.json", "/api/v2/incidents.json"):
            assert b"https://status.example/incidents/a1b2" in (await ask(running, path))[2]


MARKS = {
    name: f"zq{name}mark"
    for name in ("host", "prompt", "answer", "error", "secret", "version", "model", "author", "run")
}


def marked():
    """A snapshot in which everything that is private has a mark."""
    verdict = Verdict(
        check="reachable",
        status=Status.FAIL,
        reason="server_error",
        message=f"{MARKS['host']}:8000 said {MARKS['error']} to {MARKS['prompt']}, then {MARKS['answer']}",
    )
    made = told_of(
        "reachable",
        message=f"{verdict.message} ({MARKS['version']}, {MARKS['secret']})",
        evidence=(HopVerdict(hop="vllm", variant="plain", verdict=verdict),),
    )
    made = replace(made, run_id=MARKS["run"])
    open_page = page_of(made, acked_by=MARKS["author"], acked_at=made.since, changed=(f"vLLM 1 -> {MARKS['version']}",))
    pipeline = snapshots.pipeline()
    hops = tuple(
        Hop(
            name=hop.name,
            url=hop.url and f"http://{MARKS['host']}/{MARKS['secret']}",
            model=MARKS["model"],
            headers={"Authorization": Secret(MARKS["secret"])},
            body={"prompt": MARKS["prompt"]},
        )
        for hop in pipeline.hops
    )
    return {
        "pipelines": (replace(pipeline, hops=hops, labels={"host": MARKS["host"]}),),
        "pages": (open_page,),
        "incidents": (made,),
        "latest": tuple(replace(each, verdicts=(verdict,), run_id=MARKS["run"]) for each in WELL),
    }


@pytest.mark.parametrize("headers", [{}, {"Accept-Language": "ko"}], ids=["en", "ko"])
async def test_no_public_byte_holds_what_is_private(site, token, headers):
    given = marked()
    state = snapshots.snapshot(*given.pop("pipelines"), listen=Listen(token=Secret(token)), status_page=SHOWN, **given)
    chronicle = Chronicle(overrides=(replace(override(Level.MAJOR, pipeline="chat"), author=MARKS["author"]),))
    async with site(state, token=token) as running:
        running.chronicle = chronicle
        for path in [*sorted(PUBLIC | OPEN), "/incidents/nothing", "/nothing"]:
            method, asked, _, _ = ASKED.get(path, ("GET", path, b"", 0))
            _, answered, body = await running.ask(method, asked, headers=headers)
            seen = body.decode() + str(dict(answered))
            assert (path, [mark for mark in MARKS.values() if mark in seen]) == (path, [])
        private = (await ask(running, "/api/v1/state", headers=GIVEN["right"][0]))[2].decode()
        assert MARKS["error"] in private  # so the marks would be seen


async def test_content_is_shown_where_it_is_asked_for(site, token):
    given = marked()
    told = replace(SHOWN, content=True)
    state = snapshots.snapshot(*given.pop("pipelines"), listen=Listen(token=Secret(token)), status_page=told, **given)
    async with site(state, token=token) as running:
        body = (await ask(running, "/history.atom"))[2].decode()
        assert MARKS["error"] in body
        assert MARKS["author"] not in body


async def test_every_feed_and_picture_is_well_formed(site):
    async with site(status_page=SHOWN) as running:
        for path in sorted(PUBLIC):
            _, headers, body = await ask(running, path)
            kind = headers["Content-Type"]
            if "xml" in kind:
                ElementTree.fromstring(body)
            elif "json" in kind:
                json.loads(body)
            else:
                assert kind.startswith("text/html")
