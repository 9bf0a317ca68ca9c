"""Who reads what a command prints may have left, and the disk may be full."""

import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from canary.cli.output import Beside, Result, as_kind

RECORDED = Path(__file__).parent.parent / "transcripts" / "recorded" / "edge-nginx-2s-cut.jsonl"  # a FAIL
COMMANDS = [
    pytest.param(["--version"], id="echo"),
    pytest.param(["presets"], id="a table"),
    pytest.param(["--help"], id="help"),
    pytest.param(["probes", "--json"], id="JSON"),
    pytest.param(["replay", RECORDED], id="verdicts"),
]


def canary(arguments, **streams):
    command = [sys.executable, "-m", "canary", *map(str, arguments)]
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, text=True, timeout=60, **streams)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_result_that_cannot_be_written_is_no_verdict(arguments):
    with Path("/dev/full").open("w") as full:
        said = canary(arguments, stdout=full, stderr=subprocess.PIPE)
    assert (said.returncode, said.stderr) == (3, "canary: standard output: No space left on device\n")


@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_reader_who_has_left_is_no_fault(arguments):
    command = [sys.executable, "-m", "canary", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        error = process.stderr.read()
        assert (process.wait(60), error) == (141, "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["replay", RECORDED], 1, id="a verdict"),
        pytest.param(["probe", "--url", "http://127.0.0.1:9", "--model", "m"], 1, id="progress"),
        pytest.param(["replay", "no.jsonl"], 3, id="a complaint"),
        pytest.param(["nothing"], 3, id="usage"),
    ],
)
def test_what_is_said_beside_the_result_may_get_lost(arguments, code):
    with Path("/dev/full").open("w") as full:
        assert canary(arguments, stdout=subprocess.DEVNULL, stderr=full).returncode == code


@pytest.mark.parametrize("kind", [Result, Beside])
def test_what_is_unbuffered_stays_so(kind):
    """As PYTHONUNBUFFERED asks, which containers set."""
    raw = BytesIO()
    stream = as_kind(kind, TextIOWrapper(raw, encoding="utf-8", write_through=True))
    stream.write("a\udcff")
    assert raw.getvalue() == rb"a\udcff"


def test_a_stream_that_is_closed_from_the_beginning():
    command = f"{sys.executable} -m canary replay '{RECORDED}' >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False, timeout=60).returncode == 1
