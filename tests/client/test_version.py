"""Which engine answers: whatever stands at `/version` is a stranger's word."""

import pytest

from canary.client.target import Target
from canary.client.version import engine_version
from tests.fakes.llm_server import LlmServer, whole


def target(server):
    return Target(url=server.url, protocol="openai-chat", headers={})


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(b'{"version":"0.23.0"}', "0.23.0", id="vllm"),
        pytest.param(b'{"version":"' + b"9" * 500 + b'"}', "9" * 80, id="long"),
        pytest.param(b'{"version":1}', None, id="no text"),
        pytest.param(b'{"version":""}', None, id="empty"),
        pytest.param(b'["version"]', None, id="no object"),
        pytest.param(b"<html>", None, id="no JSON"),
        pytest.param(b"[" * 4000, None, id="nested too deeply"),
        pytest.param(b'{"version":' + b"9" * 4080, None, id="a number without an end"),
        pytest.param(b'{"version":"\\ud800"}', "\N{REPLACEMENT CHARACTER}", id="half a surrogate pair"),
        pytest.param(b'{"version":"1\\u001b[31m"}', None, id="escape codes"),
        pytest.param(b'{"version":"\xff"}', "\N{REPLACEMENT CHARACTER}", id="not UTF-8"),
    ],
)
async def test_what_stands_at_version(body, version):
    async with LlmServer([(0, whole(body))]) as server:
        assert await engine_version(target(server)) == version


async def test_an_engine_without_it():
    async with LlmServer([(0, whole(b"{}", status="404 Not Found"))]) as server:
        assert await engine_version(target(server)) is None


async def test_nobody_there(unused_tcp_port):
    nowhere = Target(url=f"http://127.0.0.1:{unused_tcp_port}/v1", protocol="openai-chat", headers={})
    assert await engine_version(nowhere) is None
