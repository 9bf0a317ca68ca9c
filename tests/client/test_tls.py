"""TLS: whom we trust, who must trust us, and how encrypted answers end."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from canary.client.target import Tls
from canary.core.observation import Completed, ConnectFailed, Disconnected, Phase, Truncated
from tests.fakes.llm_server import LAST_CHUNK, SSE_HEAD, SSE_HEAD_UNTIL_CLOSE, Cut, LlmServer, chunk, reset, whole

ABC = chunk(b"abc")


def about(end):
    return type(end), getattr(end, "phase", None)


def _trust(authority) -> Tls:
    return Tls(ca_file=authority.ca_file)


def _refuse(listener: socket.socket, context: ssl.SSLContext) -> None:
    """OpenSSL's server sends its alert; asyncio's drops it. It lingers: closing on unread bytes would be a reset."""
    connection, _ = listener.accept()
    with context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as server:
        with pytest.raises(ssl.SSLError):
            server.do_handshake()
        while socket.socket.recv(server, 65536):  # the raw bytes
            pass


@pytest.mark.parametrize(
    ("options", "name", "detail"),
    [
        pytest.param(None, "localhost", "unable to get local issuer certificate", id="unknown authority"),
        pytest.param({}, "example.org", "mismatch", id="another name"),
    ],
)
async def test_a_bad_certificate(ask, authority, options, name, detail):
    tls = None if options is None else Tls(ca_file=authority.ca_file)
    async with LlmServer([(0, whole(b"x"))], tls=authority.server(name)) as server:
        end = (await ask(server.url, tls=tls)).exchange.end
    assert (ConnectFailed, Phase.TLS) == about(end)
    assert detail in end.detail.lower()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"verify": False}, id="verify off"),
        pytest.param({"server_name": "example.org"}, id="the name it has"),
    ],
)
async def test_a_certificate_of_another_name_on_purpose(ask, authority, options):
    tls = Tls(**({"ca_file": authority.ca_file} | options))
    async with LlmServer([(0, whole(b"x"))], tls=authority.server("example.org")) as server:
        assert (await ask(server.url, tls=tls)).body == b"x"


async def test_a_client_certificate(ask, authority):
    options = Tls(ca_file=authority.ca_file, cert_file=authority.cert_file, key_file=authority.key_file)
    async with LlmServer([(0, whole(b"x"))], tls=authority.server(client_cert=True)) as server:
        assert (await ask(server.url, tls=options)).body == b"x"


async def test_a_missing_client_certificate(ask, authority):
    """TLS 1.3 lets the client send before the server has looked at its certificate; the refusal comes after."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accept = asyncio.get_running_loop().run_in_executor(None, _refuse, listener, authority.server(client_cert=True))
        end = (await ask(f"https://localhost:{listener.getsockname()[1]}/", tls=_trust(authority))).exchange.end
        await accept
    assert (ConnectFailed, Phase.TLS) == about(end)
    assert "certificate required" in end.detail


async def test_plain_http_behind_https(ask):
    async def plain(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as listener:
        end = (await ask(f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")).exchange.end
    assert (ConnectFailed, Phase.TLS) == about(end)


@pytest.mark.parametrize("cut", [Cut.RST, Cut.FIN])
async def test_closed_in_the_handshake(ask, cut):
    def close(_reader, writer):
        reset(writer) if cut is Cut.RST else writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as listener:
        end = (await ask(f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")).exchange.end
    assert (ConnectFailed, Phase.TLS) == about(end)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        pytest.param([(0, SSE_HEAD), (0.01, ABC), (0.01, LAST_CHUNK)], Completed, id="whole"),
        pytest.param([(0, SSE_HEAD_UNTIL_CLOSE), (0.01, b"abc"), (0.01, Cut.FIN)], Completed, id="until close"),
        pytest.param([(0, SSE_HEAD), (0.01, ABC), (0.01, Cut.FIN)], Truncated, id="fin"),
        pytest.param([(0, SSE_HEAD), (0.01, ABC), (0.05, Cut.RST)], Disconnected, id="rst"),
    ],
)
async def test_how_an_answer_ends(ask, authority, script, kind):
    async with LlmServer(script, tls=authority.server()) as server:
        asked = await ask(server.url, tls=Tls(ca_file=authority.ca_file))
    assert (kind, b"abc") == (type(asked.exchange.end), asked.body)
    assert asked.exchange.tls_s > 0
    assert asked.exchange.connect_s > 0
    assert asked.exchange.dns_s > 0


async def test_a_missing_file_is_not_the_targets_fault(ask, tmp_path):
    with pytest.raises(FileNotFoundError):
        await ask("https://127.0.0.1:9/", tls=Tls(ca_file=str(tmp_path / "none.pem")))
