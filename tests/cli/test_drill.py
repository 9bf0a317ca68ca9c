import json
import logging
import re
import signal
import subprocess
import sys

import pytest
import structlog

from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, LlmServer, chunk, delta, in_thread, whole

pytestmark = pytest.mark.alone

WELL = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="hm"))),
    (0.0, chunk(delta(content="42"))),
    (0.0, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
]
TAKEN = [(0.0, whole(b"", 204, connection="close"))]
REFUSED = [(0.0, whole(b"who are you", 403, connection="close"))]
STEPS = ["fault", "first FAIL", "confirmed", "sent", "healed", "first PASS", "resolved", "sent"]
PRETEND = ("--pipeline", "chat", "--pretend", "visible_content")


@pytest.fixture(autouse=True)
def log_restored():
    """The command sets up logging for a process of its own."""
    root = logging.getLogger()
    handlers, level, config = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**config)


@pytest.fixture
def hook():
    with in_thread(LlmServer(TAKEN)) as server:
        yield server


@pytest.fixture
def engine():
    with in_thread(LlmServer(lambda request: WELL if request.method == "POST" else REFUSED)) as server:
        yield server


@pytest.fixture
def config(tmp_path, engine):
    """Two hops at one server; a receiver for each hook."""

    def write(*hooks, routes=None, **more):
        receivers = []
        for number, each in enumerate(hooks):
            (tmp_path / f"{number}.url").write_text(f"{each.url}/s3cr3t")
            receivers.append({"name": f"hook{number}", "webhook": {"url": f"${{file:{tmp_path}/{number}.url}}"}})
        plan = {
            "pipelines": [
                {
                    "name": "chat",
                    "labels": {"env": "prod"},
                    "hops": [{"name": name, "url": f"{engine.url}/{name}", "model": "m"} for name in ("top", "engine")],
                    "probes": [{"use": "quick", "every": "1h", "checks": ["reachable", "complete", "visible_content"]}],
                }
            ],
            "receivers": receivers,
            "routes": [{"match": {"env": "prod"}, "receiver": "hook0"}] if routes is None else routes,
            **more,
        }
        path = tmp_path / "canary.yaml"
        path.write_text(json.dumps(plan))
        return path

    return write


def told(hook):
    return [(each.json["data"]["reason"], each.json["data"]["message"]) for each in hook.requests]


def steps(said):
    """Of each line, the step that it begins with."""
    lines = [re.sub(r"^ *[\d.]+ m?s  ", "", line) for line in said.out.splitlines()]
    return [re.split(r"  +", line)[0] for line in lines]


def test_without_a_config_the_demo_shows_how_it_goes(canary):
    said = canary("drill", "--json")
    assert said.code == 0, said.err
    assert (said.json["paged"], said.json["resolved"]) == (True, True)
    moments = said.json["moments"]
    assert [each["step"] for each in moments] == STEPS
    assert moments[1]["detail"] == "streaming at agent"
    assert moments[3]["detail"].startswith("loopback: DRILL: ")
    for after in (moments[:4], moments[4:]):
        assert [each["after_s"] for each in after] == sorted(each["after_s"] for each in after)


def test_a_pretended_failure_pages_by_the_routes_of_the_config_and_resolves(canary, config, hook, engine):
    with in_thread(LlmServer(TAKEN)) as other:
        said = canary("drill", "-c", config(hook, other), *PRETEND)
        assert other.requests == [], "no route leads there"
    assert said.code == 0, said.out + said.err
    assert steps(said) == [*STEPS, "The page arrived, and its resolution too."]
    assert [reason for reason, _ in told(hook)] == ["opened", "resolved"]
    for _, message in told(hook):
        assert message["title"].startswith("DRILL: ")
        assert message["users_feel"].startswith("This is a drill, and nothing is wrong.")
        assert any("canary drill" in note for note in message["notes"])
        assert (message["run_url"], message["page_url"]) == (None, None), "there is no such page anywhere"
    assert len({each.json["data"]["page_id"] for each in hook.requests}) == 1
    assert {each.target.rpartition("/")[2] for each in engine.requests if each.method == "POST"} == {"top", "engine"}


def test_who_refuses_the_page_is_named(canary, config):
    with in_thread(LlmServer(REFUSED)) as hook:
        said = canary("drill", "-c", config(hook), *PRETEND, "--hop", "engine")
    assert said.code == 1
    assert steps(said)[:4] == ["fault", "first FAIL", "confirmed", "refused"]
    assert "hook0: HTTP 403" in said.out
    assert said.out.endswith("The page did not arrive at everybody in time.\n")
    assert "s3cr3t" not in said.out + said.err


def test_who_took_it_hears_the_end_although_another_refused(canary, config, hook):
    routes = [{"receiver": "hook0", "continue": True}, {"receiver": "hook1"}]
    with in_thread(LlmServer(REFUSED)) as other:
        said = canary("drill", "-c", config(hook, other, routes=routes), *PRETEND)
    assert said.code == 1
    assert [reason for reason, _ in told(hook)] == ["opened", "resolved"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param(
            {"routes": [{"match": {"env": "test"}, "receiver": "hook0"}]}, "nobody is told: no_route", id="no route"
        ),
        pytest.param(
            {"maintenance": [{"name": "always", "cron": "* * * * *", "duration": "1h"}]},
            "hook0: maintenance until",
            id="maintenance",
        ),
    ],
)
def test_why_nobody_was_told(canary, config, hook, more, why):
    said = canary("drill", "-c", config(hook, **more), *PRETEND, "--within", "2s")
    assert said.code == 1
    assert f"withheld      {why}" in said.out
    assert hook.requests == []


def test_ctrl_c_leaves_nobody_with_an_open_page(config, hook):
    with in_thread(LlmServer([(0.0, whole(b"not now", 503, connection="close"))])) as other:
        routes = [{"receiver": "hook0", "continue": True}, {"receiver": "hook1"}]
        command = [sys.executable, "-m", "canary", "drill", "-c", str(config(hook, other, routes=routes)), *PRETEND]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            sent = next((line for line in process.stdout if "sent" in line), None)
            assert sent is not None, process.stderr.read()
            assert [reason for reason, _ in told(hook)] == ["opened"]
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, ""), out
    assert [reason for reason, _ in told(hook)] == ["opened", "resolved"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param(["--pretend", "answer"], "--pipeline and --pretend go together", id="pretend what of whom"),
        pytest.param(["--pipeline", "chat"], "--pipeline and --pretend go together", id="pretend what"),
        pytest.param(["--hop", "top"], "--hop and --probe only with both", id="a hop of nothing"),
        pytest.param(["--pipeline", "chat", "--pretend", "anwser"], "there is no check 'anwser'", id="no such check"),
        pytest.param(["--pipeline", "chta", "--pretend", "answer"], "there is no pipeline 'chta'", id="no pipeline"),
        pytest.param([*PRETEND, "--hop", "roof"], "chat does not probe it; it probes top, engine", id="no such hop"),
        pytest.param([*PRETEND, "--probe", "deep"], "chat has no probe 'deep'", id="no such probe"),
        pytest.param(["--receiver", "nobody"], "there is no receiver 'nobody'", id="no such receiver"),
        pytest.param(["--within", "soon"], "--within", id="no duration"),
    ],
)
def test_what_cannot_be_is_exit_3_and_one_line(canary, config, hook, options, error):
    said = canary("drill", "-c", config(hook), *options)
    assert (said.code, said.out) == (3, "")
    assert error in said.err
    assert len(said.err.splitlines()) == 1
    assert hook.requests == []
