"""`canary probe PIPELINE [PROBE]` over the demo's servers, as a config describes them."""

import json
from xml.etree import ElementTree

import pytest
import yaml

from canary.demo.generation import Model
from canary.demo.pipeline import ALIAS, WIDE, demo_pipeline
from tests.fakes.demo_runs import in_thread

MODEL = Model(reasoning_tokens=600, thinking_tokens_per_s=3000.0, tokens_per_s=3000.0)
CHECKS = ["reachable", "complete", "visible_content", "idle_timeout", "streaming"]  # nobody knows the answers here
HOPS = ("edge", "gateway", "engine")


@pytest.fixture(scope="module")
def demo():
    with in_thread(demo_pipeline({}, limits=WIDE, model=MODEL)) as running:
        yield running


@pytest.fixture
def config(demo, tmp_path):
    """Its path, for a demo with these faults; the key of the gateway is in it."""

    def write(faults=None):
        demo.set_faults(faults or {})
        hops = [{"name": "browser", "timeouts": [{"name": "ui-idle", "idle": "30s", "clock": "visible"}]}]
        hops += [
            {
                "name": name,
                "url": f"{demo.urls[name]}/v1/chat/completions",
                "model": MODEL.name if name == "engine" else ALIAS,
                "forwards_reasoning": True,
            }
            for name in HOPS
        ]
        budgets = [{"parameter": "thinking_token_budget", "tokens": 32}]
        probes = [
            {"use": "reasoning-heavy", "checks": CHECKS, "deadline": "30s"},
            {"use": "tiny-budget", "budgets": budgets, "deadline": "30s"},
        ]
        path = tmp_path / "canary.yaml"
        path.write_text(yaml.safe_dump({"pipelines": [{"name": "chat", "hops": hops, "probes": probes}]}))
        return path

    return write


def test_one_probe_through_every_hop(canary, config):
    said = canary("probe", "chat", "reasoning-heavy", "-c", config(), "--json")
    assert said.code == 0, said.out
    assert (said.json["pipeline"], said.json["probe"], said.json["findings"]) == ("chat", "reasoning-heavy", [])
    assert [(hop["hop"], hop["variant"]) for hop in said.json["hops"]] == [(hop, "plain") for hop in HOPS[::-1]]
    for hop in said.json["hops"]:
        assert {verdict["check"] for verdict in hop["verdicts"]} <= set(CHECKS)
        timers = [verdict["subject"] for verdict in hop["verdicts"] if verdict["check"] == "idle_timeout"]
        assert timers == ["browser/ui-idle"]


def test_all_probes_of_a_pipeline(canary, config):
    said = canary("probe", "chat", "-c", config(), "--json")
    assert said.code == 0, said.out
    assert [json.loads(line)["probe"] for line in said.out.splitlines()] == ["reasoning-heavy", "tiny-budget"]


def test_a_finding_is_exit_1_and_told_in_words(canary, config):
    said = canary("probe", "chat", "tiny-budget", "-c", config({"gateway": ("drop_parameter",)}))
    assert said.code == 1
    words = " ".join(said.out.split())
    assert "CRITICAL budget ignored, between gateway and engine" in words
    assert "`thinking_token_budget` is lost between gateway and engine" in words
    assert "edge is affected." in words
    assert "✗ gateway thinking_token_budget=32" in said.err


def test_junit_has_a_suite_for_every_request(canary, config, tmp_path):
    report = tmp_path / "junit.xml"
    path = config({"gateway": ("html_502",)})
    said = canary("probe", "chat", "reasoning-heavy", "-c", path, "--json", "--junit", report)
    assert said.code == 1
    suites = {suite.get("name").split()[-2]: suite for suite in ElementTree.parse(report).getroot()}
    assert [suites[hop].get("failures") for hop in HOPS] == ["1", "1", "0"]
    failure = suites["gateway"].find("testcase/failure")
    assert failure.get("type") == "server_error"
    assert len(suites["gateway"].findall("testcase/skipped")) == int(suites["gateway"].get("skipped")) > 0


@pytest.mark.parametrize(
    ("names", "error"),
    [
        pytest.param(["chta"], "there is no pipeline 'chta'; there are chat", id="pipeline"),
        pytest.param(["chat", "quick"], "chat has no probe 'quick'; it has reasoning-heavy, tiny-budget", id="probe"),
    ],
)
def test_names_that_the_config_does_not_have(canary, config, names, error):
    said = canary("probe", *names, "-c", config())
    assert (said.code, said.out) == (3, "")
    assert error in said.err


@pytest.mark.parametrize("arguments", [[], ["chat", "--url", "http://h/v1"]], ids=["neither", "both"])
def test_a_pipeline_or_a_url(canary, arguments):
    said = canary("probe", *arguments)
    assert said.code == 3
    assert "either a PIPELINE of a config, or --url" in said.err


def test_a_config_that_is_not_there(canary, tmp_path):
    said = canary("probe", "chat", "-c", tmp_path / "none.yaml")
    assert said.code == 3
    assert "none.yaml" in said.err
