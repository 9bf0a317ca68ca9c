"""A name that no longer resolves. The daemon has /etc/hosts and /etc/resolv.conf of its own, in a mount namespace.

Whether it is the target's fault or ours decides the own network's address: where that answers, the target is to blame.
"""

import json
import os
import signal

import pytest

from tests.fakes.canary_process import canary, world, write

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")]

NAME = "llm.example.com"


class Names:
    def __init__(self, folder):
        self.hosts = folder / "hosts"
        binds = []
        for name, text in (
            ("hosts", ""),
            ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
            ("nsswitch.conf", "hosts: files dns\n"),
        ):
            (folder / name).write_text(text)
            binds.append(f"mount --bind {folder / name} /etc/{name}")
        self.before = ("unshare", "--mount", "sh", "-c", f'{" && ".join(binds)} && exec "$@"', "sh")
        self.know(NAME)

    def know(self, *names):
        """Written in place: a new file would not be the one that is mounted."""
        self.hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in ("localhost", *names)))


def elsewhere(served, own):
    """The engine under its name, and whom we ask whether it is us."""
    hops = [{"name": "engine", "url": served.url.replace("127.0.0.1", NAME), "model": "m"}]
    probe = {"use": "quick", "every": "1s", "deadline": "20s", "checks": ["reachable", "complete"]}
    pipelines = [{"name": "chat", "hops": hops, "probes": [probe]}]
    return {"pipelines": pipelines, "own_network": {"address": own, "timeout": "1s"}}


@pytest.fixture
def names(tmp_path):
    return Names(tmp_path)


def test_a_name_that_is_gone_is_the_targets_fault_while_our_own_network_works(tmp_path, names):
    with world(tmp_path) as (served, hook, config):
        write(tmp_path, json.loads(config.read_text()) | elsewhere(served, f"127.0.0.1:{hook.server_port}"))
        with canary(config, before=names.before) as daemon:
            assert {run["status"] for run in daemon.more_runs(2)} == {"PASS"}
            names.know()
            hook.until(lambda: "opened" in hook.reasons)
            assert "reachable dns at engine" in daemon.runs[-1]["findings"]
            names.know(NAME)
            hook.until(lambda: "resolved" in hook.reasons)
            daemon.send(signal.SIGTERM)
            assert daemon.wait() == 0
    assert hook.reasons == ["opened", "resolved"]


def test_while_our_own_network_is_down_nobody_is_blamed(tmp_path, names, unused_tcp_port):
    """Five runs that tell nothing are an incident of the monitor itself, and of nobody else."""
    with world(tmp_path) as (served, hook, config):
        write(tmp_path, json.loads(config.read_text()) | elsewhere(served, f"127.0.0.1:{unused_tcp_port}"))
        with canary(config, before=names.before) as daemon:
            daemon.more_runs(2)
            names.know()
            hook.until(lambda: "opened" in hook.reasons)
            assert (hook.told[0]["data"]["message"]["check"]) == "blind"
            blind = [run for run in daemon.runs if run["status"] != "PASS"]
            assert {run["status"] for run in blind} == {"UNKNOWN"}
            assert not any("findings" in run for run in blind)
            names.know(NAME)
            hook.until(lambda: "resolved" in hook.reasons)
            daemon.send(signal.SIGTERM)
            assert daemon.wait() == 0
    assert hook.reasons == ["opened", "resolved"]
