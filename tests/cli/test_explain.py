"""`canary explain`: would it notify, whom, when, and why not."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import yaml

from canary.alerting import Known, conclude, rules_of
from canary.cli.when import now
from canary.config.load import load_plan
from canary.core.notification import Sent
from canary.core.route import Match, Silence
from tests.fakes.stored_runs import HOPS, filled, storage_at


@pytest.fixture
def config(tmp_path):
    """A plan like the demo's pipeline, whose failures go to `on-call`."""
    hops = [{"name": hop, "url": f"http://{hop}.example/v1/chat/completions", "model": "m"} for hop in HOPS]
    probes = [{"use": "reasoning-heavy"}, {"use": "tiny-budget"}]
    path = tmp_path / "canary.yaml"
    told = {
        "pipelines": [{"name": "demo", "hops": hops, "probes": probes}],
        "receivers": [{"name": "on-call", "webhook": {"url": f"${{file:{tmp_path}/hook}}"}}],
        "routes": [{"match": {"pipeline": "demo"}, "receiver": "on-call", "fail": "2 of 3", "remind": "4h"}],
        "storage": {"url": f"sqlite:///{tmp_path}/canary.db"},
    }
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    (tmp_path / "hook").write_text("http://127.0.0.1:9/hook", encoding="utf-8")
    return path


@pytest.fixture
def concluded(config, made_runs, tmp_path):
    """The demo's 502 seen so often, concluded and stored as the daemon does; returns what is known at the end."""

    def make(times, *, then=None):
        storage, plan = storage_at(tmp_path / "canary.db"), load_plan([config], env={})

        async def fill():
            known = Known()
            async with filled(storage, []) as store:
                for count in range(times):
                    at = now() - timedelta(minutes=times - count)
                    run = replace(made_runs[2], id=f"run{count}", started_at=at)
                    conclusion = conclude(run, known, rules_of(plan), at)
                    await store.save_run(run, conclusion, quiet=False)
                    known = Known(incidents=await store.incidents(), pages=await store.pages())
                if then:
                    await then(store, known)
            return known

        return asyncio.run(fill())

    return make


def test_a_pending_incident(canary, config, concluded):
    (incident,) = concluded(1).incidents
    said = canary("explain", incident.id[:6], "-c", config)
    assert said.code == 0, said.err
    assert "reachable at gateway, seen by demo/reasoning-heavy: pending" in said.out
    assert "not yet: not_enough_failures, 1 more failure in a row would do" in said.out
    assert "on-call is told then: opened" in said.out
    assert "on-call is reminded every 4 h until somebody acknowledges" in said.out


@pytest.mark.parametrize("by", ["incident", "page"])
def test_one_that_fires(canary, config, concluded, by):
    known = concluded(2)
    what = known.incidents[0].id if by == "incident" else known.pages[0].id
    said = canary("explain", what, "-c", config)
    assert said.code == 0, said.err
    assert "demo/reasoning-heavy: firing" in said.out
    assert f"page {known.pages[0].id}, opened" in said.out
    assert "on-call opened: waits\n" in said.out
    (explained,) = canary("explain", what, "-c", config, "--json").json["explanations"]
    assert (explained["missing"], explained["incident"]["state"]) == (0, "firing")
    assert explained["lines"][0] == "reachable at gateway, seen by demo/reasoning-heavy: firing"


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        pytest.param("sent", "on-call opened: sent 20", id="sent"),
        pytest.param("postponed", "on-call opened: waits after 1 attempt: busy", id="postponed"),
        pytest.param("dead", "on-call opened: given up after 1 attempt: revoked", id="dead"),
    ],
)
def test_what_became_of_it(canary, config, concluded, outcome, words):
    async def deliver(store, _known):
        (queued,) = await store.due(now())
        name = queued.notification.id
        match outcome:
            case "sent":
                await store.sent(name, now(), Sent())
            case "postponed":
                await store.postponed(name, now(), "busy")
            case "dead":
                await store.dead(name, now(), "revoked")

    known = concluded(2, then=deliver)
    said = canary("explain", known.pages[0].id, "-c", config)
    assert words in said.out


def test_a_silence_says_until_when(canary, config, concluded):
    async def mute(store, _known):
        ends = now() + timedelta(hours=2)
        await store.add_silence(
            Silence(id="s1", match=Match(pipeline="demo"), starts_at=now(), ends_at=ends, author="kim")
        )

    concluded(1, then=mute)
    (explained,) = canary("explain", "run0", "-c", config, "--json").json["explanations"]
    assert explained["would_notify"] is False
    assert [decision["reason"] for decision in explained["decisions"]] == ["silenced"]
    assert "silenced until" in canary("explain", "run0", "-c", config).out


def test_without_a_route_nobody_is_told(canary, config, concluded):
    """Not "nobody is not told", which would say that everybody is."""
    plan = yaml.safe_load(config.read_text(encoding="utf-8"))
    plan["routes"][0]["match"] = {"probe": "tiny-budget"}
    config.write_text(yaml.safe_dump(plan), encoding="utf-8")
    said = canary("explain", concluded(2).pages[0].id, "-c", config).out
    assert "  nobody is told: no_route\n" in said
    assert "  nobody told: no_route\n" in said


def test_a_run_that_found_nothing(canary, config, made_runs, tmp_path):
    async def fill():
        async with filled(storage_at(tmp_path / "canary.db"), made_runs[:1]):
            pass

    asyncio.run(fill())
    said = canary("explain", "aaa111", "-c", config)
    assert (said.code, said.out) == (0, "that run found nothing, so nobody is told\n")


def test_a_finding_that_may_come(canary, config, concluded):
    concluded(0)
    said = canary("explain", "demo/tiny-budget/budget@gateway", "-c", config)
    assert said.code == 0, said.err
    assert "budget at gateway, seen by demo/tiny-budget: ok" in said.out
    assert "2 more failures in a row would do" in said.out
    assert "on-call is told then: opened" in said.out


@pytest.mark.parametrize(
    ("what", "error"),
    [
        pytest.param("zzz", "no incident, page or run is 'zzz'", id="nothing of that id"),
        pytest.param("", "no incident, page or run is ''", id="nothing at all"),
        pytest.param("demo/tiny-budget/budget@vllm", "with a hop of demo: ui, edge, agent", id="hop"),
        pytest.param("demo/tiny-budget/budget", "expected CHECK@HOP", id="no hop"),
        pytest.param("demo/tiny-budget/buget@ui", "there is no check 'buget'", id="check"),
        pytest.param("run", "is not unique: run", id="several runs"),
    ],
)
def test_what_is_not_there(canary, config, concluded, what, error):
    concluded(2)
    said = canary("explain", what, "-c", config)
    assert (said.code, said.out) == (3, "")
    assert error in said.err


def test_another_store(canary, config, concluded, tmp_path):
    known = concluded(2)
    moved = tmp_path / "moved.db"
    (tmp_path / "canary.db").rename(moved)
    assert canary("explain", known.pages[0].id, "-c", config).code == 3
    assert canary("explain", known.pages[0].id, "-c", config, "--storage", f"sqlite:///{moved}").code == 0
