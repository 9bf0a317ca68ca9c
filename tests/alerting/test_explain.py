from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting.explain import explain_finding, explain_incident, explain_page, lines
from canary.core.route import Maintenance, Match, Route, Silence
from canary.core.schedule import Once
from tests.fakes.alerts import NOW, World, often, policy, rules, run

FINDING = run("ui F | agent F | litellm F | vllm F").findings[0]
ROUTED = policy(remind_s=14400.0, escalate_after_s=1800.0, escalate_to="boss")


def told(world, finding=FINDING):
    found = explain_finding(finding, "chat", "heavy", world.known, world.rules, world.now)
    return found, lines(found, world.now)


def world(runs="", **more):
    made = World(rules=rules(receivers=("on-call", "boss"), **{"policy": ROUTED, **more}))
    often(made, runs)
    return made


HEAD = "visible_content at vllm, seen by chat/heavy: "
COUNTS = "it fires after 2 failures in 3 runs and is over after 2 passes in a row"
LATER = (
    "on-call is reached by route 1",
    "on-call is reminded every 4 h until somebody acknowledges",
    "boss hears of it after 30 min without an acknowledgement",
)


def test_a_finding_that_nobody_has_seen_yet():
    found, said = told(world())
    assert said == (
        f"{HEAD}ok",
        COUNTS,
        "not yet: not_enough_failures, 2 more failures in a row would do",
        "on-call is told then: opened",
        *LATER,
    )
    assert (found.would_notify, found.missing) == (False, 2)


def test_one_that_is_pending():
    found, said = told(world("F"))
    assert said[0] == f"{HEAD}pending"
    assert "not yet: not_enough_failures, 1 more failure in a row would do" in said
    assert not found.would_notify


def test_one_that_fires_and_was_told():
    made = world("FF")
    found, said = told(made)
    assert said[2:4] == (
        "on-call is told nothing more: nothing_new until 16:02 UTC",
        "boss is told nothing: nothing_new until 12:32 UTC, escalation",
    )
    assert not found.would_notify
    assert explain_incident(made.known.incidents[0], made.known, made.rules, made.now) == found
    assert explain_page(made.page, made.known, made.rules, made.now) == (found,)


def test_one_that_is_acknowledged():
    made = world("FF")
    made.ack(made.page)
    said = told(made)[1]
    assert "acknowledged by kim: no reminders, no escalation" in said
    assert "on-call is told nothing more: nothing_new" in said


def test_one_that_is_silenced_today_or_for_days():
    silence = Silence(id="s", match=Match(), starts_at=NOW, ends_at=NOW + timedelta(hours=2), author="kim")
    said = told(world("FF", silences=(silence,)))[1]
    assert "on-call is told nothing: silenced until 14:00 UTC, a silence of kim" in said
    once = Once(starts_at=NOW, ends_at=NOW + timedelta(days=3))
    said = told(world("FF", maintenance=(Maintenance(name="move", window=once),)))[1]
    assert ("on-call is told nothing: maintenance until 2026-03-05 12:00 UTC, the maintenance window move") in said


def test_one_that_would_fire_at_once_is_told_now():
    made = world("FF", silences=())
    made.known = replace(made.known, pages=())
    found, said = told(made)
    assert "on-call is told now: opened" in said
    assert found.would_notify


def test_one_that_shares_a_page():
    made = world()
    for _ in range(2):
        for probe in ("heavy", "tiny"):
            made.see("ui F | agent F | litellm F | vllm F", probe=probe)
    found, said = told(made)
    assert f"it shares page {found.page.id} with 1 other incident of one cause" in said


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"policy": None}, "nobody is told: no_route", id="no routes and two receivers"),
        pytest.param(
            {"routes": (Route(match=Match(probe="x"), receiver="boss"),)},
            "nobody is told: no_route",
            id="no route that fits",
        ),
    ],
)
def test_one_that_nobody_hears_of(more, expected):
    assert expected in told(world(**more))[1]


def test_the_only_receiver_and_a_single_pass():
    made = World(rules=rules())
    finding = replace(FINDING, check="budget", subject="thinking_token_budget")
    said = told(made, finding)[1]
    assert said[0] == "budget (thinking_token_budget) at vllm, seen by chat/heavy: ok"
    assert said[-1] == "on-call is reached as the only receiver"
    made.rules = rules(policy=policy(recover=1))
    assert told(made)[1][1] == "it fires after 2 failures in 3 runs and is over after 1 pass"
