import json
import logging

import pytest

from canary.core.secret import Secret
from canary.core.service import Listen
from canary.web.app import BURST
from tests.fakes.routes import ACTING, ASKED, GIVEN, OPEN, PATHS, ask
from tests.fakes.snapshots import snapshot


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"], ids=["loopback", "routable"])
@pytest.mark.parametrize("given", GIVEN)
async def test_every_route_with_a_token_set(site, token, host, given):
    headers, right = GIVEN[given]
    async with site(host=host, token=token) as running:
        for path in PATHS:
            status, answered, _ = await ask(running, path, headers=headers)
            let_in = right or path in OPEN
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
            assert (path, status) == (path, 200 if path in OPEN else 401)


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
            assert (path, status) == (path, ASKED[path][3] if path in OPEN else 421)
            assert path != "/-/ready" or json.loads(body) == {"ready": True}  # and no reasons


async def test_the_public_name_is_answered(site):
    async with site(public_url="https://canary.example") as running:
        assert (await ask(running, "/metrics", headers={"Host": "canary.example"}))[0] == 200


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
            allowed = {"max-age=3600", "private, no-cache", "private, max-age=30", "no-store"}
            assert headers["Cache-Control"] in ({"no-store"} if path in ("/metrics", "/api/v1/state") else allowed)
            assert "Server" not in headers


async def test_a_body_that_is_not_what_its_header_says(site):
    async with site() as running:
        status, _, body = await running.ask("POST", "/-/deploy", headers={"Content-Encoding": "gzip"}, data=b"plain")
    assert (status, json.loads(body)["error"]) == (400, "bad_body")
