"""The site on a real socket, and a client that sends exactly the headers it is told to."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession, DummyCookieJar
from yarl import URL

from canary.core.secret import Secret
from canary.core.service import Listen
from canary.web.app import app
from canary.web.serve import serve
from tests.fakes import snapshots

TOKEN = "correct-horse"
ROUTABLE = "0.0.0.0"


@dataclass(kw_only=True)
class Site:
    """`now`: what the site's clock says. `snapshot` may be replaced, as a reload does it."""

    url: str
    session: ClientSession
    recorder: snapshots.Recorder
    snapshot: object
    now: float = 1000.0

    async def ask(self, method, path, *, headers=None, data=None):
        """(status, headers, body) of one request; the path goes out as it is."""
        request = self.session.request(
            method, URL(self.url + path, encoded=True), headers=headers, data=data, allow_redirects=False
        )
        async with request as response:
            return response.status, response.headers, await response.read()


@asynccontextmanager
async def running(snapshot=None, *, host="127.0.0.1", token=None, public_url=None, answer=None, grace_s=1.0):
    listen = Listen(host=host, port=0, token=token and Secret(token), public_url=public_url)
    recorder = snapshots.Recorder(answer)
    site = Site(url="", session=None, recorder=recorder, snapshot=snapshot or snapshots.snapshot(listen=listen))
    application = app(snapshot=lambda: site.snapshot, actions=recorder.actions(), listen=listen, clock=lambda: site.now)
    async with (
        serve(application, listen, grace_s=grace_s) as url,
        ClientSession(cookie_jar=DummyCookieJar()) as session,
    ):
        site.url, site.session = url.replace(ROUTABLE, "127.0.0.1"), session
        yield site


@pytest.fixture
def site():
    """`async with site(…) as running`."""
    return running


@pytest.fixture
def token():
    return TOKEN
