from __future__ import annotations

import socket

import pytest

from canary.client.target import Tls
from canary.core.observation import Completed, ConnectFailed, Phase, StampSource
from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, LlmServer, chunk
from tests.fakes.proxy import Proxy

SCRIPT = [(0, SSE_HEAD), (0.02, chunk(b"abc")), (0.02, LAST_CHUNK)]


async def test_plain_http_in_absolute_form(ask):
    async with LlmServer(SCRIPT) as server, Proxy() as proxy:
        asked = await ask(server.url, proxy=proxy.url.replace("//", "//me:pass-word@"))
    assert [request.target for request in proxy.requests] == [server.url]
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
    assert (asked.body, type(asked.exchange.end)) == (b"abc", Completed)
    assert "pass-word" not in repr(asked)


async def test_tls_through_a_tunnel(ask, authority):
    async with LlmServer(SCRIPT, tls=authority.server()) as server, Proxy() as proxy:
        exchange = (await ask(server.url, proxy=proxy.url, tls=Tls(ca_file=authority.ca_file))).exchange
    assert [(r.method, r.target) for r in proxy.requests] == [("CONNECT", f"localhost:{server.port}")]
    assert [read.data for read in exchange.reads] == [b"abc"]
    assert (type(exchange.end), exchange.head.status, exchange.stamps) == (Completed, 200, StampSource.KERNEL)
    assert exchange.connect_s > 0
    assert exchange.tls_s > 0


async def test_none_is_used_unless_it_is_configured(ask, monkeypatch):
    async with LlmServer(SCRIPT) as server, Proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        await ask(server.url)
    assert proxy.requests == []


@pytest.mark.parametrize("status", [403, 407, 502])
async def test_a_proxy_that_refuses_the_tunnel(ask, status):
    async with Proxy(refuse=status) as proxy:
        end = (await ask("https://engine.invalid/v1", proxy=proxy.url)).exchange.end
    assert (type(end), end.phase, end.detail) == (
        ConnectFailed,
        Phase.CONNECT,
        f"proxy answered CONNECT with {status}",
    )


async def test_a_proxys_answer_to_plain_http_is_an_answer(ask):
    async with Proxy(refuse=502) as proxy:
        assert (await ask("http://engine.invalid/v1", proxy=proxy.url)).exchange.head.status == 502


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there(ask, scheme):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{bound.getsockname()[1]}"
        end = (await ask(f"{scheme}://engine.invalid/v1", proxy=proxy)).exchange.end
    assert (type(end), end.phase, end.detail) == (ConnectFailed, Phase.CONNECT, "proxy: Connection refused")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_without_a_name(ask, scheme):
    end = (await ask(f"{scheme}://engine.invalid/v1", proxy="http://proxy.invalid:3128")).exchange.end
    assert (type(end), end.phase) == (ConnectFailed, Phase.DNS)
