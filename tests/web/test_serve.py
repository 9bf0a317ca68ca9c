import asyncio

import pytest
from aiohttp import ClientSession, ServerDisconnectedError

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
        with pytest.raises(ListenError, match=f"cannot listen at 127.0.0.1:{port}: .*[Aa]ddress already in use"):
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
