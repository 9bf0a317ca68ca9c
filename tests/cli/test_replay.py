import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.fakes.exchanges import RECORDED

STRIPS = RECORDED / "edge-agent-strips-reasoning.jsonl"
CADDY = RECORDED / "edge-caddy-2s-cut.jsonl"
GOOD = RECORDED / "vllm-chat-budget16.jsonl"


def by_check(record: dict) -> dict:
    return {(verdict["check"], verdict["subject"]): verdict for verdict in record["verdicts"]}


def test_json_has_the_documented_shape(canary):
    said = canary("replay", GOOD, "--json")
    assert said.code == 0
    assert set(said.json) == {"file", "protocol", "measurement", "verdicts"}
    assert said.json["measurement"]["reasoning_tokens"] == {"value": 15, "source": "usage"}
    assert said.json["measurement"]["silence"]["byte"]["censored"] is False
    assert set(said.json["verdicts"][0]) == {
        "check", "status", "reason", "subject", "observed", "limit", "unit", "message"
    }  # fmt: skip


def test_a_file_name_that_is_not_utf8_is_printed_as_json_has_it(tmp_path):
    odd = tmp_path / "odd-\udcff.jsonl"  # how Python reads the byte FF in a name
    odd.write_text(GOOD.read_text())
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "canary", "replay", str(odd), "--json"], capture_output=True, check=False
    )
    assert done.stderr == b""
    assert json.loads(done.stdout)["file"] == str(odd)


def test_several_files_are_one_json_object_a_line(canary):
    said = canary("replay", GOOD, CADDY, "--json")
    assert len(said.out.splitlines()) == 2
    assert said.code == 1


def test_timers_are_held_against_the_stream(canary):
    said = canary("replay", STRIPS, "--timeout", "edge:idle:byte:2", "--preset", "aws-alb", "--json")
    verdicts = by_check(said.json)
    assert verdicts["idle_timeout", "edge"]["status"] == "FAIL"
    assert verdicts["idle_timeout", "edge"]["observed"] == pytest.approx(13.4915, abs=1e-3)
    assert verdicts["idle_timeout", "aws-alb idle_timeout.timeout_seconds"]["status"] == "PASS"
    assert said.code == 1


def test_a_first_visible_limit_is_judged(canary):
    said = canary("replay", STRIPS, "--first-visible", "5s", "--json")
    assert by_check(said.json)["first_visible", None]["reason"] == "late"


def test_only_unknown_and_pass_is_exit_2(canary, tmp_path):
    lines = CADDY.read_text().splitlines()
    stopped = tmp_path / "stopped.jsonl"
    stopped.write_text("\n".join([*lines[:-1], '{"at": 2.0, "end": "stopped", "detail": "enough"}']) + "\n")
    assert canary("replay", stopped, "--json").code == 2


def test_the_picture_shows_stream_timers_and_verdicts(canary):
    said = canary("replay", STRIPS, "--timeout", "edge:idle:byte:2")
    assert "✂ cut at 2.00 s" in said.out
    assert "FAIL" in said.out
    assert "█ visible" in said.out
    assert "reasoning  ▒" not in said.out  # no mark in the legend that the picture does not show


def test_junit_counts_failures_and_skips(canary, tmp_path):
    report = tmp_path / "report.xml"
    canary("replay", CADDY, GOOD, "--junit", report)
    suites = ElementTree.parse(report).getroot()
    assert [suite.get("name") for suite in suites] == [str(CADDY), str(GOOD)]
    assert suites[0].get("failures") == "1"
    assert suites[1].get("failures") == "0"
    assert {case.get("name") for case in suites[0] if case.find("failure") is not None} == {"complete"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "broken.jsonl", id="empty"),
        pytest.param(b"hello\n", "broken.jsonl:1", id="no json"),
        pytest.param(b"\xff\xfe", "is not UTF-8", id="binary"),
        pytest.param(STRIPS.read_bytes()[:5000], "broken.jsonl", id="cut in the middle"),
    ],
)
def test_a_broken_file_is_the_users_fault_and_named(canary, tmp_path, content: bytes, message: str):
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(content)
    said = canary("replay", broken)
    assert said.code == 3
    assert message in said.err
    assert said.out == ""


def test_a_missing_file_is_named(canary):
    said = canary("replay", "no-such.jsonl")
    assert (said.code, said.err) == (3, "canary: no-such.jsonl: No such file or directory\n")


def test_escape_codes_of_a_server_do_not_reach_the_terminal(canary, tmp_path):
    text = (RECORDED / "litellm-noparser-rejected.jsonl").read_text()
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_text(text.replace("thinking_token_budget is set", "\\\\u001b[2J\\\\u0007[bold]owned[/bold]"))
    said = canary("replay", hostile)
    assert "\x1b" not in said.out
    assert "\x07" not in said.out
    assert "[bold]owned[/bold]" in said.out.replace("\n", "")


@pytest.mark.parametrize("width", [40, 80, 160, 400])
def test_no_line_is_wider_than_the_terminal(canary, width: int):
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("COLUMNS", str(width))
        said = canary("replay", STRIPS, "--timeout", "a-timer-with-a-long-name:idle:byte:2", "--preset", "nginx")
    assert max(len(line) for line in said.out.splitlines()) <= width


BUDGET = "thinking_token_budget=16"
TREATED = RECORDED / "vllm-0.22.1-chat-budget64.jsonl"
CONTROL = RECORDED / "vllm-0.22.1-chat-unbudgeted.jsonl"


@pytest.mark.parametrize(
    ("file", "budget", "control", "expected"),
    [
        pytest.param(TREATED, "thinking_token_budget=64", CONTROL, ("PASS", "honoured"), id="honoured"),
        pytest.param(TREATED, "thinking_token_budget=64", None, ("UNKNOWN", "inconclusive"), id="without a control"),
        pytest.param(GOOD, BUDGET, RECORDED / "vllm-chat-unbudgeted.jsonl", ("UNKNOWN", "inconclusive"), id="short"),
        pytest.param(
            RECORDED / "vllm-0.22.1-chat-ignored.jsonl",
            "thinking_budget=64",
            CONTROL,
            ("FAIL", "ignored"),
            id="ignored",
        ),
        pytest.param(
            RECORDED / "vllm-0.19.1-chat-rejected.jsonl",
            "thinking_token_budget=64",
            CONTROL,
            ("FAIL", "rejected"),
            id="rejected inside a 200",
        ),
    ],
)
def test_a_recorded_budget_is_judged(canary, file, budget: str, control, expected: tuple[str, str]):
    said = canary("replay", file, "--budget", budget, *(["--control", control] if control else []), "--json")
    verdict = by_check(said.json)["budget", budget.partition("=")[0]]
    assert expected == (verdict["status"], verdict["reason"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "thinking_tokens_budget=6"], "did you mean thinking_token_budget"),
        (["--budget", "thinking_token_budget"], "expected PARAM=VALUE"),
        (["--budget", "thinking_token_budget=[1]"], "expected PARAM=VALUE"),
        (["--control", str(CONTROL)], "--control needs --budget"),
    ],
)
def test_a_bad_budget_is_the_users_fault(canary, options: list[str], message: str):
    said = canary("replay", GOOD, *options)
    assert said.code == 3
    assert message in said.err
