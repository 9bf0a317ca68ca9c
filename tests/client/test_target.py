from __future__ import annotations

import pytest

from canary.client.redact import public_headers, public_url
from canary.client.target import Target, Tls, ssl_context
from canary.core.secret import Secret
from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, LlmServer, chunk, whole

KEY = "sk-live-0123456789"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"url": "agent:8000/v1"}, "url must be an absolute http or https URL", id="no scheme"),
        pytest.param({"url": "ftp://agent/v1"}, "url must be", id="another scheme"),
        pytest.param({"url": "http:///v1"}, "url must be", id="no host"),
        pytest.param({"url": "http://[::1/v1"}, "url must be", id="not a url"),
        pytest.param({"proxy": "proxy:3128"}, "proxy must be", id="a proxy without a scheme"),
        pytest.param(
            {"headers": {"X-Key": Secret(f"{KEY}\n")}}, "'X-Key' cannot be sent", id="a key with a line break"
        ),
        pytest.param({"headers": {"X\r\nA": "1"}}, "cannot be sent", id="a name with a line break"),
        pytest.param({"headers": {"X A": "1"}}, "'X A' cannot be sent", id="a name with a space"),
        pytest.param({"headers": {"X-Key": "ü"}}, "'X-Key' cannot be sent", id="a value that is not ascii"),
        pytest.param({"headers": {"content-length": "5"}}, "it follows from the body", id="a length of one's own"),
        pytest.param({"accept_encoding": "gzip\n"}, "'Accept-Encoding' cannot be sent", id="codings of two lines"),
        pytest.param(
            {"url": "http://me:pw@agent/v1", "headers": {"authorization": "x"}}, "only one", id="two authorizations"
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is_tried(changed, message):
    with pytest.raises(ValueError, match=message) as caught:
        Target(**({"url": "http://agent/v1", "protocol": "openai-chat", "headers": {}} | changed))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        pytest.param("http://agent:8000/v1/chat", "http://agent:8000/v1/chat", id="as it is"),
        pytest.param("https://me:secret@agent/v1#part", "https://agent/v1", id="user info and fragment"),
        pytest.param(
            "https://x/v1?key=AIza&api-version=2024-06-01", "https://x/v1?key=***&api-version=2024-06-01", id="query"
        ),
        pytest.param("https://x/v1?a=1&a=2", "https://x/v1?a=***&a=***", id="a repeated key"),
    ],
)
def test_a_url_that_may_be_kept(url, public):
    assert public_url(url) == public


def test_headers_that_may_be_kept():
    sent = [
        ("Content-Type", "text/event-stream"),
        ("Set-Cookie", "session=1"),
        ("X-Api-Key", KEY),
        ("Authorization", KEY),
        ("X-Amz-Security-Token", KEY),
        ("X-RateLimit-Remaining-Tokens", "10"),
        ("Via", "a"),
        ("via", "b"),
    ]
    assert public_headers(sent) == {
        "content-type": "text/event-stream",
        "x-ratelimit-remaining-tokens": "10",
        "via": "a, b",
    }


HEADERS = {"Authorization": Secret(f"Bearer {KEY}"), "User-Agent": "reasoning-canary/1", "X-Canary-Probe": "deep"}


async def test_what_the_server_gets(ask):
    async with LlmServer([(0, whole(b"{}"))]) as server:
        await ask(server.url, headers=HEADERS, body={"model": "m", "text": "ü\ud800"})
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.json == {"model": "m", "text": "ü\ud800"}
    assert (
        request.headers.items()
        >= {
            "authorization": f"Bearer {KEY}",
            "user-agent": "reasoning-canary/1",
            "x-canary-probe": "deep",
            "content-type": "application/json",
            "accept-encoding": "identity",
        }.items()
    )
    assert "cookie" not in request.headers


async def test_the_callers_own_headers_win(ask):
    async with LlmServer([(0, whole(b"{}"))]) as server:
        await ask(server.url, headers={"accept-encoding": "br", "content-type": "application/x"})
    headers = server.requests[0].headers
    assert (headers["accept-encoding"], headers["content-type"]) == ("br", "application/x")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([(0, whole(b'{"error": "bad key ' + KEY.encode() + b'"}', 401))], id="in an error body"),
        pytest.param(
            [
                (0, SSE_HEAD),
                (0, chunk(b"data: " + KEY[:8].encode())),
                (0.05, chunk(KEY[8:].encode() + b"\n\n") + LAST_CHUNK),
            ],
            id="split over two reads",
        ),
        pytest.param([(0, whole(b"", x_request=f"Bearer {KEY}"))], id="in a header"),
        pytest.param([(0, f"{KEY}\r\n\r\n".encode())], id="in bytes that are not http"),
        pytest.param([(0, whole(b"x", content_encoding=KEY))], id="in a reason to stop"),
    ],
)
async def test_a_secret_that_is_echoed_is_not_kept(ask, script):
    async with LlmServer(script) as server:
        asked = await ask(server.url, headers=HEADERS)
    assert KEY in server.requests[0].headers["authorization"]
    assert KEY not in repr(asked)
    assert KEY.encode() not in asked.body
    assert "*" * len(KEY) in repr(asked) + asked.body.decode()


async def test_user_info_is_sent_and_not_kept(ask):
    async with LlmServer([(0, whole(b"{}"))]) as server:
        asked = await ask(server.url.replace("//", "//me:pass-word@"))
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "pass-word" not in repr(asked)


@pytest.mark.parametrize(
    ("user_info", "query", "echo"),
    [
        pytest.param("me:pass-word@", "", b"Basic bWU6cGFzcy13b3Jk", id="user info as the header that it becomes"),
        pytest.param("me:p%2Fss-word@", "", b"p%2Fss-word", id="a password as it stands in the url"),
        pytest.param("", "?key=a%25b-secret", b"a%25b-secret", id="a query value as it stands in the url"),
        pytest.param("", "?key=a%22b-secret", b'{"query": "a\\"b-secret"}', id="a query value in json"),
    ],
)
async def test_what_a_url_hides_is_not_kept_in_any_spelling(ask, user_info: str, query: str, echo: bytes):
    async with LlmServer([(0, whole(echo))]) as server:
        asked = await ask(server.url.replace("//", f"//{user_info}") + query)
    assert len(asked.body) == len(echo)
    assert b"******" in asked.body
    assert b"word" not in asked.body
    assert b"secret" not in asked.body
    assert b"bWU6" not in asked.body


async def test_no_cookie_is_sent_back_and_no_redirect_followed(ask):
    async with LlmServer([(0, whole(b"go", 307, location="/elsewhere", set_cookie="a=1"))]) as server:
        for _ in range(2):
            exchange = (await ask(server.url)).exchange
    assert (exchange.head.status, exchange.head.headers["location"]) == (307, "/elsewhere")
    assert "set-cookie" not in exchange.head.headers
    assert [request.target for request in server.requests] == ["/v1/chat/completions"] * 2
    assert server.connections == 2
    assert all("cookie" not in request.headers for request in server.requests)


def test_a_replaced_file_is_loaded_anew(authority, tmp_path):
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.ca.cert_pem.bytes())
    options = Tls(ca_file=str(file))
    first = ssl_context(options)
    assert ssl_context(options) is first
    file.write_bytes(authority.ca.cert_pem.bytes() * 2)
    assert ssl_context(options) is not first
