import json

import pytest

from tests.fakes.llm_server import LlmServer, in_thread, whole

PIPELINE = """
pipelines:
  - name: p
    hops: [{name: h, url: "http://127.0.0.1:1/v1/chat/completions", model: m}]
    probes: [{use: reasoning-heavy}]
"""
TOKEN = "s3cr3t-webhook-token"


@pytest.fixture
def config(tmp_path):
    def write(receivers):
        path = tmp_path / "canary.yaml"
        path.write_text(f"{PIPELINE}receivers:\n{receivers}" if receivers else PIPELINE)
        return path

    return write


@pytest.fixture
def hook(tmp_path):
    """A receiver that says `status`; its section of a config."""

    def section(name, server):
        secret = tmp_path / f"{name}.url"
        secret.write_text(f"{server.url}/{TOKEN}")
        return f"  - {{name: {name}, webhook: {{url: '${{file:{secret}}}'}}}}\n"

    return section


def test_every_receiver_is_told(canary, config, hook):
    with in_thread(LlmServer([(0.0, whole(b"{}"))])) as good, in_thread(LlmServer([(0.0, whole(b"no", 403))])) as bad:
        said = canary("notify-test", "-c", config(hook("good", good) + hook("bad", bad)))
        assert good.requests[0].json["type"] == "page.test"
    assert said.code == 1
    assert said.out.splitlines() == ["sent  good (webhook)", "rejected  bad (webhook): HTTP 403: no"]


def test_one_receiver(canary, config, hook):
    with in_thread(LlmServer([(0.0, whole(b"{}"))])) as good, in_thread(LlmServer()) as other:
        said = canary("notify-test", "good", "-c", config(hook("good", good) + hook("other", other)), "--json")
        assert other.requests == []
    assert said.code == 0
    assert json.loads(said.out) == {"receiver": "good", "kind": "webhook", "outcome": "sent", "why": ""}


def test_no_secret_is_shown(canary, config, hook):
    with in_thread(LlmServer(lambda request: [(0.0, whole(request.target.encode(), 404))])) as server:
        said = canary("notify-test", "-c", config(hook("hook", server)))
    assert TOKEN not in said.out + said.err
    assert said.out == "rejected  hook (webhook): HTTP 404: ***\n"


@pytest.mark.parametrize(
    ("receivers", "arguments", "message"),
    [
        pytest.param("", (), "the config has no receivers", id="no receivers"),
        pytest.param(
            "  - {name: a, alertmanager: {url: 'http://127.0.0.1:1'}}\n",
            ("b",),
            "there is no receiver 'b'; there are a",
            id="no such receiver",
        ),
    ],
)
def test_nobody_to_tell(canary, config, receivers, arguments, message):
    said = canary("notify-test", *arguments, "-c", config(receivers))
    assert (said.code, said.err) == (3, f"canary: {message}\n")
