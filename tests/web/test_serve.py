import asyncio

import pytest
from aiohttp import ClientSession, ServerDisconnectedError, web

from canary.core.secret import Secret
from canary.core.service import Listen
from canary.web.actions import Actions, Done
from canary.web.app import app
from canary.web.serve import ListenError, serve
from tests.fakes.snapshots import Recorder, snapshot


class Gate:
    """A reload that waits until it is let through."""

    def __init__(self):
        self.entered, self.open = asyncio.Event(), asyncio.Event()

    async def reload(self):
        self.entered.set()
        await self.open.wait()
        return Done(message="done")

    def app(self):
        others = Recorder().actions()
        actions = Actions(**{name: getattr(others, name) for name in Actions.__slots__} | {"reload": self.reload})
        return app(snapshot=snapshot, actions=actions, listen=Listen())


def site():
    return app(snapshot=snapshot, actions=Recorder().actions(), listen=Listen())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.1.2.3", "example.com"])
async def test_a_routable_address_without_a_token_is_refused(host):
    with pytest.raises(ListenError, match="needs a token"):
        async with serve(site(), Listen(host=host, port=0)):
            pytest.fail("it listens")


@pytest.mark.parametrize(
    ("host", "port"),
    [
        pytest.param("127.0.0.1", 70_000, id="no port"),
        pytest.param("a..b", 80, id="an empty label"),
        pytest.param("a" * 70, 80, id="a label too long"),
        pytest.param("a\0b", 80, id="NUL"),
        pytest.param("nowhere.invalid", 80, id="nobody's name"),
    ],
)
async def test_what_is_no_address(host, port):
    with pytest.raises(ListenError, match=f"cannot listen at {host}:{port}: ."):
        async with serve(site(), Listen(host=host, port=port, token=Secret("t"))):
            pytest.fail("it listens")


async def test_a_port_that_is_taken():
    async with serve(site(), Listen(port=0)) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(ListenError, match=f"^cannot listen at 127.0.0.1:{port}: Address already in use$"):
            async with serve(site(), Listen(port=port)):
                pytest.fail("it listens")


async def test_ipv6():
    async with serve(site(), Listen(host="::1", port=0)) as url, ClientSession() as session:
        assert url.startswith("http://[::1]:")
        async with session.get(f"{url}/-/healthy") as response:
            assert response.status == 200


async def test_the_port_is_free_again_at_once():
    async with serve(site(), Listen(port=0)) as url:
        port = int(url.rpartition(":")[2])
    async with serve(site(), Listen(port=port)) as again:
        assert again == url


async def test_a_request_under_way_is_answered_before_we_leave():
    gate = Gate()
    async with ClientSession() as session:
        async with serve(gate.app(), Listen(port=0), grace_s=30.0) as url:
            asking = asyncio.create_task(session.post(f"{url}/-/reload"))
            await gate.entered.wait()
            asyncio.get_running_loop().call_soon(gate.open.set)  # while the exit below waits
        assert (await asking).status == 200


async def test_a_request_that_never_ends_does_not_keep_us():
    gate = Gate()
    async with ClientSession() as session:
        async with serve(gate.app(), Listen(port=0), grace_s=0.05) as url:
            asking = asyncio.create_task(session.post(f"{url}/-/reload"))
            await gate.entered.wait()
        with pytest.raises(ServerDisconnectedError):
            await asking


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", id="TLS"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 10_000 + b"\r\n", id="too many headers"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", id="two lengths"),
        pytest.param(b"\x00\r\n\r\n", id="garbage"),
    ],
)
async def test_who_speaks_no_http_is_told_so_and_not_logged(said, caplog):
    async with serve(site(), Listen(port=0)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(said)
        assert b" 400 " in await reader.readline()
        writer.close()
    assert caplog.records == []


async def test_a_bug_of_our_own_is_logged(caplog):
    async def bug(_):
        raise ZeroDivisionError

    broken = web.Application()
    broken.router.add_get("/", bug)
    async with serve(broken, Listen(port=0)) as url, ClientSession() as session, session.get(url) as answer:
        assert answer.status == 500
    assert "ZeroDivisionError" in caplog.text
