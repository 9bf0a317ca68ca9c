import asyncio
import json

import pytest

from canary.core.snapshot import Readiness
from tests.fakes.routes import ASKED, GIVEN, OPEN, PATHS, PUBLIC, ask
from tests.fakes.snapshots import snapshot


def test_every_route_has_its_request():
    assert set(ASKED) == set(PATHS)
    assert set(PATHS) > OPEN | PUBLIC


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
        running.snapshot = snapshot(
            listen=listen, readiness=Readiness(problems=("the schedule is late",), notes=("kept back",))
        )
        status, _, body = await ask(running, "/-/ready", headers=GIVEN["right"][0] if with_token else {})
        expected = {"ready": False} | ({"problems": ["the schedule is late"], "notes": ["kept back"]} if told else {})
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


async def test_many_scrapes_at_once(site):
    async with site() as running:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(running, "/metrics")) for _ in range(20)]
        assert {task.result()[0] for task in tasks} == {200}


async def test_a_note_is_no_reason_not_to_be_ready(site):
    async with site() as running:
        running.snapshot = snapshot(readiness=Readiness(notes=("the config was refused",)))
        status, _, body = await ask(running, "/-/ready")
        assert (status, json.loads(body)) == (200, {"ready": True, "problems": [], "notes": ["the config was refused"]})


@pytest.mark.parametrize(
    "accept",
    [
        pytest.param("application/openmetrics-text; version=foo", id="a version in letters"),
        pytest.param("application/openmetrics-text; version=1e9", id="no version"),
        pytest.param("text/plain;;;=, ,;q=", id="signs"),
        pytest.param("", id="nothing"),
    ],
)
async def test_an_accept_that_nobody_understands(site, accept):
    async with site() as running:
        status, headers, body = await ask(running, "/metrics", headers={"Accept": accept})
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
        assert body


async def test_the_format_follows_accept(site):
    async with site() as running:
        accept = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.1"}
        _, headers, body = await ask(running, "/metrics", headers=accept)
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert body.endswith(b"# EOF\n")
        _, headers, _ = await ask(running, "/metrics")
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
