import ssl
from datetime import UTC, datetime
from email.utils import format_datetime

import aiohttp
import pytest
import trustme
from aiohttp.abc import AbstractResolver

from canary.core.notification import Rejected, RetryLater, Sent
from canary.notify.http import HttpReply, HttpRequest, attempted, by_status, post, retry_after_s
from tests.fakes.llm_server import Cut, LlmServer, head

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def date(minute, second=0):
    return format_datetime(NOON.replace(minute=minute, second=second), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({"retry-after": "30"}, 30.0, id="seconds"),
        pytest.param({"retry-after": "0"}, 0.0, id="at once"),
        pytest.param({"retry-after": "1.5"}, 1.5, id="a fraction, as some send it"),
        pytest.param({"retry-after": date(2), "date": date(0, 30)}, 90.0, id="a date, by the sender's own clock"),
        pytest.param({"retry-after": date(0), "date": date(2)}, 0.0, id="a date that is past"),
        pytest.param({"retry-after": date(2)}, None, id="a date and no clock to read it by"),
        pytest.param({"retry-after": "soon"}, None, id="words"),
        pytest.param({"retry-after": "-5"}, None, id="negative"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after": "²"}, None, id="a digit that is none"),
        pytest.param({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT", "date": date(1)}, None, id="no such date"),
        pytest.param(
            {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, None, id="a year that no date holds"
        ),
        pytest.param({"retry-after": "Mon, 01 Jan 2026 00:00:00 +99999999999999999"}, None, id="a zone that none is"),
        pytest.param({"retry-after": date(2), "date": "1 Jan 99999999999999999999 00:00:00"}, None, id="such a clock"),
        pytest.param({"retry-after": "1e9"}, None, id="a power of ten"),
        pytest.param({"retry-after": "9" * 400}, float("inf"), id="a number that no float holds"),
        pytest.param({}, None, id="not said"),
    ],
)
def test_retry_after(headers, expected):
    assert retry_after_s(headers) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *[pytest.param(status, Sent(), id=str(status)) for status in (200, 201, 202, 204)],
        *[
            pytest.param(status, RetryLater(why=f"HTTP {status}: no such field"), id=str(status))
            for status in (408, 425, 429, 500, 502, 503, 504, 529)
        ],
        *[
            pytest.param(status, Rejected(why=f"HTTP {status}: no such field"), id=str(status))
            for status in (400, 401, 403, 404, 410, 413, 422)
        ],
        pytest.param(
            302,
            Rejected(why="HTTP 302, a redirect, which is not followed: give the URL that it leads to"),
            id="302",
        ),
    ],
)
def test_by_status(status, expected):
    assert by_status(HttpReply(status=status, text="no such\x00\n field")) == expected


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("http://", "the URL is none", id="no host"),
        pytest.param("nonsense", "the URL is none", id="no scheme"),
        pytest.param("http://" + "a" * 70 + ".example/", "the URL is none", id="a label that no name has"),
    ],
)
async def test_a_url_that_is_none_is_rejected(session, url, why):
    assert await attempted(post(HttpRequest(url=url), session), timeout_s=1) == Rejected(why=why)


async def test_a_reply_that_breaks_off_has_said_its_status(session):
    script = [(0.0, head(200, **{"Content-Length": "100"}) + b"o"), (0.0, Cut.RST)]
    async with LlmServer(script) as server:
        assert await attempted(post(HttpRequest(url=server.url), session), timeout_s=1) == Sent()


async def test_what_nobody_listed_is_our_own_bug():
    async def bug():
        raise KeyError("x")

    with pytest.raises(KeyError):
        await attempted(bug(), timeout_s=1)


class NoSuchName(AbstractResolver):
    async def resolve(self, *_, **__):
        raise OSError(None, "no such name")

    async def close(self):
        pass


async def test_a_name_that_nobody_knows():
    connector = aiohttp.TCPConnector(resolver=NoSuchName())
    async with aiohttp.ClientSession(connector=connector) as session:
        outcome = await attempted(post(HttpRequest(url="http://s3cr3t.example/s3cr3t"), session), timeout_s=5)
    assert outcome == RetryLater(why="the host's name is not known")


async def test_a_certificate_that_nobody_trusts(session):
    """It may be renewed: time can heal it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with LlmServer(tls=context) as server:
        outcome = await attempted(post(HttpRequest(url=server.url), session), timeout_s=5)
    assert isinstance(outcome, RetryLater)
    assert outcome.why.startswith("the certificate is not trusted: ")
