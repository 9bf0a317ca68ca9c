import subprocess
import sys

import pytest

from canary import __version__
from canary.cli import COMMANDS

ONE_HOP = ["probe", "--url", "http://127.0.0.1:1", "--model", "m"]
SECRET = "s3cret-value"


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
        (["presets", ""], "unknown preset ''"),
        ([*ONE_HOP, "--header", "X Key: a"], "header 'X Key' cannot be sent"),
        ([*ONE_HOP, "--header", "Content-Length: 5"], "it follows from the body"),
        ([*ONE_HOP, "--accept-encoding", "gzip\nx"], "header 'Accept-Encoding' cannot be sent"),
        ([*ONE_HOP, "--proxy", "proxy:3128"], "proxy must be an absolute http or https URL"),
        ([*ONE_HOP, "--ca-file", __file__], "--ca-file"),
        ([*ONE_HOP, "--cert-file", __file__], "--cert-file"),
        ([*ONE_HOP, "--deadline", "0"], "--deadline '0': expected a duration of more than 0"),
        ([*ONE_HOP, "--first-visible", "0s"], "--first-visible '0s': expected a duration of more than 0"),
        ([*ONE_HOP, "--timeout", "ui:idle:visible:0"], "expected a duration of more than 0"),
        ([*ONE_HOP, "--preset", "nginx=0"], "expected a duration of more than 0"),
        (["record", *ONE_HOP[1:], "-o", "/"], "--output /: is a folder"),
        (["replay", __file__, "--junit", "no/such/folder/x"], "--junit no/such/folder/x: the folder"),
        (["replay", "/dev/zero"], "/dev/zero: not a transcript: more than 268435456 bytes"),
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_3(canary, arguments: list[str], message: str):
    said = canary(*arguments)
    assert said.code == 3
    assert message in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--url", f"ftp://me:{SECRET}@h/v1"],
        ["--url", f"http://me:{SECRET}@h:99999/v1"],
        ["--url", f"http://[::1?key={SECRET}"],
        ["--url", f"http://me:{SECRET}@h/v1", "--header", "Authorization: x"],
        ["--url", "http://h", "--proxy", f"socks5://me:{SECRET}@p:1"],
        ["--url", "http://h", "--header", f"X-Key: a\n{SECRET}"],
        ["--url", "http://h", "--api-key-env", SECRET],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_without_the_secret_in_it(canary, arguments: list[str]):
    said = canary("probe", "--model", "m", *arguments)
    assert (said.code, said.out, len(said.err.splitlines())) == (3, "", 1)
    assert SECRET not in said.err


def test_no_terminal_obeys_the_name_of_a_file(canary):
    said = canary("check", "no-\x1b[2J-\u202e-such-file.yaml")
    assert said.code == 3
    assert said.err.startswith("canary: no- [2J- -such-file.yaml: found no such file")


def test_the_version(canary):
    said = canary("--version")
    assert said.code == 0
    assert said.out == f"reasoning-canary {__version__}\n"


HEAVY = ("aiohttp", "alembic", "pydantic", "rich", "slack_sdk", "sqlalchemy")


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        pytest.param(["--version"], HEAVY, id="no command at all"),
        pytest.param(
            ["presets", "nginx"], ("aiohttp", "alembic", "slack_sdk", "sqlalchemy"), id="no network, no store"
        ),
        pytest.param(["check", "nothing.yaml"], ("alembic", "sqlalchemy"), id="no store"),
    ],
)
def test_a_command_imports_its_own_part_only(arguments: list[str], needless: tuple[str, ...]):
    script = f"import sys; from canary.cli import main; main({arguments}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(needless)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_where_the_table_says(canary, command: str):
    said = canary(command, "--help")
    assert (said.code, said.err) == (0, "")
    assert f"{command} [OPTIONS]" in said.out


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab", "--max-tokens", "9"], "--max-tokens does nothing beside a PIPELINE"),
        (["lab", "--model", "m", "--param", "a=1"], "--model, --param does nothing beside a PIPELINE"),
        (["--url", "http://h", "--model", "m", "-c", "x.yaml"], "--config does nothing beside --url"),
    ],
    ids=" ".join,
)
def test_an_option_that_would_be_ignored_is_refused(canary, arguments: list[str], message: str):
    said = canary("probe", *arguments)
    assert (said.code, said.out) == (3, "")
    assert message in said.err
