"""`canary run`: what cannot begin, and which files are watched. The daemon itself is in tests/daemon."""

import os
import subprocess
import sys

import pytest

from canary.cli.errors import UsageError
from canary.cli.run import place_of, stamp


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("127.0.0.1:9469", ("127.0.0.1", 9469), id="IPv4"),
        pytest.param("[::1]:0", ("::1", 0), id="IPv6"),
        pytest.param("localhost:80", ("localhost", 80), id="a name"),
        pytest.param(":9469", ("", 9469), id="all of this machine's"),
    ],
)
def test_an_address(text, place):
    assert place_of(text) == place


@pytest.mark.parametrize(
    "text",
    ["", "9469", "host:", "host:http", "host:70000", "host:-1", "host:\u0661", "[x]:1", "[::1:80", "a b:80", "a/b:80"],
)
def test_no_address(text):
    with pytest.raises(UsageError, match=r"--listen '.*' is not an address; write it like 127\.0\.0\.1:9469"):
        place_of(text)


def test_a_config_that_is_not_there_is_exit_3(canary, tmp_path):
    said = canary("run", "-c", tmp_path / "no.yaml")
    assert (said.code, said.out) == (3, "")
    assert "no.yaml" in said.err


def test_a_change_to_any_yaml_file_beside_it_is_seen(tmp_path):
    file, beside = tmp_path / "canary.yaml", tmp_path / "more.yml"
    file.write_text("a")
    seen = [stamp([file])]

    def changed():
        seen.append(stamp([file]))
        return seen[-1] != seen[-2]

    assert not changed()
    (tmp_path / "canary.db").write_text("not a config")
    assert not changed()
    beside.write_text("b")
    assert changed()
    os.utime(beside, ns=(1, 1))
    assert changed()
    other = tmp_path / "other"
    other.write_text("cc")
    other.rename(beside)
    assert changed()
    beside.unlink()
    assert changed()
    assert stamp([tmp_path]) == seen[-1]


def test_a_folder_that_is_gone_is_no_fault(tmp_path):
    assert stamp([tmp_path / "gone" / "canary.yaml"]) == stamp([])


@pytest.mark.parametrize(
    "text", ["bearer: ${file:keys/one}", "- ${file:keys/one} ${", "plain: $${file:x} ${file:keys/one}"]
)
def test_a_change_to_the_file_of_a_secret_is_seen(tmp_path, text):
    """Rotated by whoever mounts it, while the config stays as it is."""
    file, secret = tmp_path / "canary.yaml", tmp_path / "keys" / "one"
    file.write_text(text)
    secret.parent.mkdir()
    seen = [stamp([file])]

    def changed():
        seen.append(stamp([file]))
        return seen[-1] != seen[-2]

    assert not changed()
    secret.write_text("first")
    assert changed()
    assert not changed()
    secret.write_text("second")
    assert changed()
    secret.unlink()
    assert changed()
    file.write_text("no secret")
    assert changed()
    secret.write_text("third")
    assert not changed()


def test_a_request_to_reload_that_comes_too_early_ends_nothing():
    daemon = """
import os, signal
from canary.cli.run import begin
async def daemon():
    os.kill(os.getpid(), signal.SIGHUP)
    print("began")
begin(daemon())
"""
    ended = subprocess.run([sys.executable, "-c", daemon], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "began\n")
