import json
import re
from pathlib import Path

import pytest

from canary.config.probes import canned_probes

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "canary.example.yaml"
BAD = ROOT / "tests" / "config" / "bad"
MARK = "# error: "
SECRET = "sk-do-not-print"


@pytest.fixture
def environment():
    with pytest.MonkeyPatch.context() as patch:
        for name in set(re.findall(r"\$\{env:(\w+)\}", EXAMPLE.read_text(encoding="utf-8"))):
            patch.setenv(name, f"https://{SECRET}.example.com/{name}" if name.endswith(("URL", "WEBHOOK")) else SECRET)
        yield


@pytest.mark.usefixtures("environment")
def test_the_example_holds(canary):
    said = canary("check", EXAMPLE)
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    assert "chat-prod: tiny-budget, at */30 8-18 * * mon-fri in Asia/Seoul:" in words
    assert "receiver on-call: slack, token ***, channel #llm-oncall" in words
    assert "route 2: pipeline=chat-prod probe=tiny-budget check=budget hop=vllm to room" in words
    assert "maintenance weekly deploy: pipeline=chat-prod, at 0 3 * * sun in Europe/Berlin for 2 h" in words
    assert "history in" in words
    assert "chat-prod: a day:" in words
    assert "the config holds" in words
    assert said.err == ""
    assert SECRET not in said.out


@pytest.mark.usefixtures("environment")
def test_the_config_may_be_named_as_in_every_other_command(canary):
    assert canary("check", "-c", EXAMPLE).out == canary("check", EXAMPLE).out != ""


@pytest.mark.usefixtures("environment")
def test_timers_that_contradict_each_other_are_warnings(canary, tmp_path):
    text = EXAMPLE.read_text(encoding="utf-8").replace("keepalive: 15s ", "keepalive: 400s ")
    config = tmp_path / "canary.yaml"
    config.write_text(text, encoding="utf-8")
    said = canary("check", config)
    assert said.code == 0
    assert "WARN " in said.out
    assert re.search(r"the config holds, with \d+ warning", said.out)


@pytest.mark.parametrize(
    "name",
    [
        "unknown-hop-key.yaml",
        "duplicate-keys.yaml",
        "hop-names-twice.yaml",
        "no-model.yaml",
        "bad-durations.yaml",
        "budget-under-minimum.yaml",
        "expect-at-unknown-hop.yaml",
        "tab.yaml",
        "include-errors/main.yaml",
    ],
)
def test_a_bad_config_is_exit_3_with_every_error_on_stderr(canary, name):
    path = BAD / name
    expected = [line.removeprefix(MARK) for line in path.read_text().splitlines() if line.startswith(MARK)]
    said = canary("check", path)
    assert (said.code, said.out) == (3, "")
    lines = said.err.replace(f"{path.parent}/", "").splitlines()
    assert [line.removeprefix("canary: ").removeprefix("error: ") for line in lines] == expected


def test_a_secret_that_is_not_set_is_named(canary):
    said = canary("check", EXAMPLE)
    assert said.code == 3
    assert '"${env:LITELLM_KEY}", expected an environment variable that is set' in said.err


def test_no_config_at_all(canary, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        said = canary("check")
    assert said.code == 3
    assert "canary.yaml" in said.err


def test_the_schema_is_one_json_document(canary):
    said = canary("schema")
    assert said.code == 0
    assert "pipelines" in said.json["properties"]


def test_the_canned_probes_are_listed(canary):
    said = canary("probes", "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["name"] for row in rows] == list(canned_probes())
    heavy = next(row for row in rows if row["name"] == "reasoning-heavy")
    assert heavy["languages"] == ["en", "ko", "zh"]
    shown = canary("probes")
    assert shown.code == 0
    assert "tiny-budget" in shown.out
