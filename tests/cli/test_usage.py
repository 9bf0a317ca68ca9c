import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "No such command 'nope'"),
        (["replay"], "Missing argument"),
        (["replay", "--nope", "f"], "--nope"),
        (["probe"], "--url"),
        (["probe", "--url", "http://h"], "--model"),
        (["probe", "--url", "h", "--model", "m"], "absolute URL"),
        (["probe", "--url", "http://h", "--model", "m", "--deadline", "x"], "--deadline 'x' is not a duration"),
        (["probe", "--url", "http://h", "--model", "m", "--ca-file", "none.pem"], "none.pem: no such file"),
        (["probe", "--url", "http://h", "--model", "m", "--temperature", "9"], "--temperature"),
        (["record", "--url", "http://h", "--model", "m", "-o", "no/such/folder/x"], "no/such/folder"),
        (["presets", "ngnix"], "did you mean nginx"),
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_3(canary, arguments: list[str], message: str):
    said = canary(*arguments)
    assert said.code == 3
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""


def test_help_names_the_exit_codes(canary):
    said = canary("--help")
    assert said.code == 0
    assert "3 bad config or usage" in " ".join(said.out.split())


def test_the_module_runs_like_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "canary", "presets", "nginx"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "proxy_read_timeout" in done.stdout
