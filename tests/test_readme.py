"""What README.md and CHANGELOG.md claim holds, so that they cannot rot."""

import re
from pathlib import Path

import pytest
import typer.main

from canary.checks import CHECKS
from canary.cli import app
from canary.cli.exit_codes import MEANINGS
from canary.config.load import load_plan
from canary.config.presets import presets
from canary.demo.faults import FAULTS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app()).commands


def table(headline: str) -> list[str]:
    """The code words of the first column of the table whose head opens with that line."""
    rows = README.split(f"{headline}\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_every_command_is_in_the_table_and_none_more():
    assert {command.split()[1] for command in table("| command | what it does |")} == set(COMMANDS)


@pytest.mark.parametrize("option", sorted(set(re.findall(r"(?<=[ `])--[a-z-]+", README)) - {"--rm"}))
def test_every_option_exists(option: str):
    assert option in {name for command in COMMANDS.values() for each in command.params for name in each.opts}


def test_exit_codes_are_those_of_the_help():
    assert f"Exit codes: {MEANINGS}" in " ".join(README.split())


def test_every_check_is_in_the_table_and_none_more():
    assert set(table("| check | FAIL when |")) == {*CHECKS, "budget"}


def test_the_example_is_a_config(tmp_path: Path):
    file = tmp_path / "canary.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[0], encoding="utf-8")
    plan = load_plan([file], env={"LITELLM_KEY": "k", "SLACK_TOKEN": "xoxb-1"})
    assert [hop.name for hop in plan.pipelines[0].hops] == ["browser", "edge", "litellm", "vllm"]


def test_the_numbers_are_right():
    assert f"nginx, ALB, httpx and {len(presets()) - 3} others" in README
    assert f"{len(presets())} presets" in CHANGELOG
    assert f"any of {len(FAULTS)} faults" in CHANGELOG
