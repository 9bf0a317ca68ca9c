import pytest

from canary.core.notification import Rejected, RetryLater, Sent
from canary.core.secret import Secret
from canary.core.service import Heartbeat
from canary.notify.heartbeat import ping
from tests.fakes.llm_server import Cut, LlmServer, whole


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param([(0.0, whole(b"OK"))], Sent(), id="heard"),
        pytest.param([(0.0, whole(b"gone", 404))], Rejected(why="HTTP 404: gone"), id="no such check"),
        pytest.param([(0.0, whole(b"", 503))], RetryLater(why="HTTP 503"), id="their trouble"),
        pytest.param([(0.0, Cut.FIN)], RetryLater(why="the connection was closed without an answer"), id="closed"),
    ],
)
async def test_ping(session, script, expected):
    async with LlmServer(script) as server:
        heartbeat = Heartbeat(url=Secret(f"{server.url}/ping/s3cr3t-uuid-0001"))
        assert await ping(heartbeat, session) == expected
        assert server.requests[0].method == "GET"
        assert server.requests[0].target.endswith("/ping/s3cr3t-uuid-0001")


async def test_its_url_is_a_secret(session):
    async with LlmServer(lambda request: [(0.0, whole(request.target.encode(), 404))]) as server:
        outcome = await ping(Heartbeat(url=Secret(f"{server.url}/ping/s3cr3t-uuid-0001")), session)
    assert outcome == Rejected(why="HTTP 404: ***")
