"""The site on a real socket, and a client that sends exactly the headers it is told to."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession, DummyCookieJar
from yarl import URL

from canary.alerting.board import Chronicle
from canary.core.kept import Case
from canary.core.secret import Secret
from canary.core.service import Listen
from canary.web.app import app
from canary.web.records import Records
from canary.web.serve import serve
from tests.fakes import snapshots
from tests.fakes.boards import DOWN, page_of

TOKEN = "correct-horse"
ROUTABLE = "0.0.0.0"


@dataclass(kw_only=True)
class Site:
    """`now`: what the site's clock says. `snapshot` and `chronicle` may be replaced, as reloads and people do it."""

    url: str
    session: ClientSession
    recorder: snapshots.Recorder
    snapshot: object
    chronicle: Chronicle = field(default_factory=Chronicle)
    now: float = 1000.0

    async def ask(self, method, path, *, headers=None, data=None):
        """(status, headers, body) of one request; the path goes out as it is."""
        request = self.session.request(
            method, URL(self.url + path, encoded=True), headers=headers, data=data, allow_redirects=False
        )
        async with request as response:
            return response.status, response.headers, await response.read()


def troubled(listen=None, status_page=None):
    return snapshots.snapshot(
        snapshots.pipeline(), pages=(page_of(DOWN),), incidents=(DOWN,), listen=listen, status_page=status_page
    )


async def _case(page_id):
    return Case(page=page_of(DOWN), incidents=(DOWN,)) if page_id == "a1b2" else None


async def _nothing(*_):
    return ()


async def _none(_):
    return None


RECORDS = Records(days=_nothing, spans=_nothing, pages=_nothing, runs=_nothing, deploys=_nothing, run=_none, case=_case)


@asynccontextmanager
async def running(
    snapshot=None,
    *,
    host="127.0.0.1",
    token=None,
    public_url=None,
    answer=None,
    grace_s=1.0,
    status_page=None,
    records=RECORDS,
):
    """By default of one pipeline whose page `a1b2` is open, and of which no run is kept."""
    listen = Listen(host=host, port=0, token=token and Secret(token), public_url=public_url)
    recorder = snapshots.Recorder(answer)
    site = Site(url="", session=None, recorder=recorder, snapshot=snapshot or troubled(listen, status_page))

    async def chronicle():
        return site.chronicle

    application = app(
        snapshot=lambda: site.snapshot,
        actions=recorder.actions(),
        listen=listen,
        chronicle=chronicle,
        records=records,
        clock=lambda: site.now,
    )
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
