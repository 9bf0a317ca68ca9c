"""A config that changes under a running daemon, for better and for worse."""

import json
import signal
from datetime import datetime

import pytest

from tests.fakes.canary_process import CHECKS, ILL, WELL, canary, world, write

pytestmark = pytest.mark.real

REFUSED, RELOADED = "config refused", "config reloaded"


def of(config):
    return json.loads(config.read_text())


def change(config, plan):
    """As an editor saves it: a new file under the old name."""
    new = config.with_suffix(".new")
    new.write_text(json.dumps(plan))
    new.rename(config)


def test_a_broken_config_keeps_everything_going(tmp_path):
    with world(tmp_path) as (_, hook, config), canary(config) as daemon:
        daemon.more_runs(2)
        good = of(config)
        change(config, good | {"pipelins": []})
        daemon.until(lambda: daemon.named(REFUSED))
        assert "pipelins" in str(daemon.named(REFUSED)[0]["problems"])
        daemon.more_runs(5)
        assert len(daemon.named(REFUSED)) == 1, "once for each state of the file"
        assert daemon.metric("canary_config_last_reload_successful") == 0
        status, text = daemon.get("/-/ready")
        assert (status, "the config was refused" in text) == (200, True)
        config.unlink()
        daemon.until(lambda: len(daemon.named(REFUSED)) == 2)
        daemon.more_runs(2)
        change(config, good)
        daemon.until(lambda: daemon.named(RELOADED))
        assert daemon.metric("canary_config_last_reload_successful") == 1
        daemon.more_runs(2)
        assert not daemon.named("run skipped")
    assert hook.told == []


def test_what_changes_begins_anew_what_stays_stays_and_what_goes_leaves_nothing(tmp_path):
    with world(tmp_path) as (served, hook, config):
        plan = of(config)
        plan["pipelines"].append({**plan["pipelines"][0], "name": "gone"})
        plan["pipelines"].append({**plan["pipelines"][0], "name": "rare"})
        for index, every in ((0, "3s"), (1, "2s"), (2, "1h")):
            plan["pipelines"][index]["probes"] = [{"use": "quick", "every": every, "checks": CHECKS}]
            plan["pipelines"][index]["hops"] = [{"name": "engine", "url": f"{served.url}?{index}", "model": "m"}]
        write(tmp_path, plan)
        with canary(config) as daemon:
            daemon.until(lambda: {run["pipeline"] for run in daemon.runs} == {"chat", "gone", "rare"})
            served.mood.steps = ILL
            hook.until(lambda: "opened" in hook.reasons)
            daemon.until(lambda: open_in(daemon) >= {"chat", "gone"})
            assert 'pipeline="gone"' in daemon.get("/metrics")[1]
            due = next_runs(daemon)["rare"]
            plan["pipelines"] = [plan["pipelines"][0], plan["pipelines"][2]]
            change(config, plan)
            daemon.until(lambda: daemon.named(RELOADED))
            assert 'pipeline="gone"' not in daemon.get("/metrics")[1]
            assert open_in(daemon) == {"chat"} | (open_in(daemon) & {"rare"})
            assert next_runs(daemon)["rare"] == pytest.approx(due, abs=0.1)
            plan["pipelines"][1]["probes"][0]["every"] = "2s"
            change(config, plan)
            daemon.until(lambda: len(daemon.named(RELOADED)) == 2)
            before = len(daemon.runs)
            daemon.until(lambda: [run["pipeline"] for run in daemon.runs[before:]].count("rare") >= 2)
            assert {run["pipeline"] for run in daemon.runs[before:]} <= {"chat", "rare"}
            served.mood.steps = WELL
            hook.until(lambda: "resolved" in hook.reasons)
            daemon.send(signal.SIGTERM)
            assert daemon.wait() == 0
    assert hook.reasons.count("opened") == hook.reasons.count("resolved"), "nothing is stranded"


def state(daemon):
    return json.loads(daemon.get("/api/v1/state")[1])


def open_in(daemon):
    return {each["key"]["pipeline"] for each in state(daemon)["incidents"]}


def next_runs(daemon):
    """By pipeline, in seconds since 1970."""
    found = {each["name"]: each["probes"][0]["next_run"] for each in state(daemon)["pipelines"]}
    return {name: datetime.fromisoformat(at).timestamp() for name, at in found.items()}


def test_a_config_map_that_is_swapped(tmp_path):
    """As Kubernetes does it: the file is a link through `..data`, which is a link to a folder that is new each time."""
    with world(tmp_path) as (_, _, config):
        plan, mounted = of(config), tmp_path / "mounted"
        mounted.mkdir()

        def swap(name, plan):
            folder = mounted / name
            folder.mkdir()
            write(folder, plan)
            (mounted / "..new").symlink_to(name)
            (mounted / "..new").rename(mounted / "..data")

        (tmp_path / "hook.url").rename(mounted / "hook.url")
        swap("..2026_01", plan)
        (mounted / "canary.yaml").symlink_to("..data/canary.yaml")
        with canary(mounted / "canary.yaml") as daemon:
            daemon.more_runs(1)
            swap("..2026_02", plan | {"pipelines": [{**plan["pipelines"][0], "name": "other"}]})
            daemon.until(lambda: daemon.named(RELOADED))
            assert {run["pipeline"] for run in daemon.more_runs(2)[1:]} == {"other"}


@pytest.mark.parametrize("how", ["a signal", "the file alone"])
def test_a_secret_that_is_rotated(tmp_path, how):
    """In a file of its own, whose name alone stands in the config."""
    with world(tmp_path) as (served, hook, config), canary(config) as daemon:
        daemon.more_runs(1)
        (tmp_path / "hook.url").write_text(f"{hook.url}/second")
        if how == "a signal":
            daemon.send(signal.SIGHUP)
        daemon.until(lambda: daemon.named(RELOADED))
        served.mood.steps = ILL
        hook.until(lambda: hook.told)
        assert "/second" not in str(daemon.events)
    assert set(hook.paths) == {"/second"}


def hops_of(first, count):
    return [{"name": f"h{n}", "url": f"http://127.0.0.1:1/{n}", "model": "m"} for n in range(first, first + count)]


def in_many_files(folder, probe):
    for first in range(0, 10_000, 500):
        pipeline = {"name": f"p{first}", "hops": hops_of(first, 500), "probes": [probe]}
        (folder / f"p{first:05}.yaml").write_text(json.dumps({"pipelines": [pipeline]}))


def in_one_file(folder, probe):
    pipeline = {"name": "p", "hops": hops_of(0, 10_000), "probes": [probe]}
    (folder / "all.yaml").write_text(json.dumps({"pipelines": [pipeline]}))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param(in_many_files, "time series in the whole config", id="in many files"),
        pytest.param(in_one_file, "values", id="in one file"),
    ],
)
def test_ten_thousand_hops_are_refused_in_time_and_in_little_memory(tmp_path, written, message):
    """Ten thousand names of hops are as many label values; the limits end a process that needs more than it should."""
    written(tmp_path, {"use": "quick", "every": "1m"})
    with canary(tmp_path, before=("prlimit", "--cpu=60", "--data=500000000")) as daemon:
        assert daemon.wait() == 3, daemon.said
    assert message in "".join(daemon.said)
    assert len("".join(daemon.said)) < 1000, "it does not name them all"
