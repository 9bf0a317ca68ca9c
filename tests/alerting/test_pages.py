from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting.incidents import ACTIVE
from canary.alerting.pages import regroup
from canary.core.incident import State
from canary.core.route import Match, Silence
from tests.fakes.alerts import NOW, World, often, policy, rules

ALL_FAIL = "ui F | agent F | litellm F | vllm F"


def firing(probe="heavy"):
    world = World()
    for _ in range(2):
        world.see(ALL_FAIL, probe=probe)
    (incident,) = world.known.incidents
    assert incident.state in ACTIVE
    return world.page, incident


def test_one_member_follows_the_other_at_the_same_moment():
    """The page stays open: nothing closed, and nothing opened again."""
    page, first = firing()
    _, second = firing("tiny")
    (now,) = regroup((page,), (replace(first, state=State.OK), second), rules(), NOW)
    assert now.members == (second.id,)
    assert (now.changes, now.resolved_at) == (page.changes, None)


def test_an_old_page_is_left_as_it_is():
    page, _ = firing()
    over = replace(page, members=(), resolved_at=NOW)
    assert regroup((over,), (), rules(), NOW + timedelta(hours=5)) == (over,)


def test_a_page_that_opens_again_remembers_when_it_began():
    world = World()
    often(world, "FFPP")
    began = world.page.began_at
    assert began == world.page.opened_at
    often(world, "FF", every_s=700.0)
    assert world.page.began_at == began < world.page.opened_at


def test_what_a_receiver_heard_of_an_earlier_opening_does_not_count():
    """The second opening escalates half an hour after itself, not after the first."""
    escalating = policy(escalate_after_s=1800.0, escalate_to="boss")
    world = World(rules=rules(receivers=("on-call", "boss"), policy=escalating))
    often(world, "FFPP")
    often(world, "FF", every_s=700.0)
    assert world.told == ["on-call opened", "on-call resolved", "on-call flapping"]
    world.tick(600)
    assert "boss escalated" not in world.told
    world.tick(1200)
    assert "boss escalated" in world.told


def test_a_silence_of_one_member_is_no_silence_of_the_page():
    silence = Silence(id="s", match=Match(probe="heavy"), starts_at=NOW, ends_at=NOW + timedelta(hours=2), author="kim")
    world = World(rules=rules(silences=(silence,)))
    for _ in range(2):
        world.see(ALL_FAIL, probe="heavy")
    assert world.told == []
    for _ in range(2):
        world.see(ALL_FAIL, probe="tiny")
    assert world.told == ["on-call opened"]


def test_a_clock_that_is_set_back_makes_no_page_flap_for_longer():
    """Changes that are still to come were made before the clock was set; they are no reason to be quiet until then."""
    world = World()
    often(world, "FFPPFF")
    assert world.page.flapping
    world.now -= timedelta(hours=5)
    often(world, "PP")
    assert (world.page.flapping, world.page.resolved_at is not None) == (False, True)
    assert world.told[-1] == "on-call resolved"


@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(hours=5), timedelta(days=40)], ids=str)
def test_a_clock_that_is_set_back_delays_reminders_and_escalation_by_no_more_than_themselves(back):
    urgent = policy(remind_s=1800.0, escalate_after_s=900.0, escalate_to="boss")
    world = World(rules=rules(receivers=("on-call", "boss"), policy=urgent))
    often(world, "FF")
    world.now -= back
    world.tick(1)
    for _ in range(3):
        world.tick(600)
    assert world.told == ["on-call opened", "boss escalated", "on-call reminder"]


def test_a_clock_that_is_set_back_twice_costs_no_more_than_once():
    world = World(rules=rules(policy=policy(remind_s=1800.0)))
    often(world, "FF")
    for _ in range(2):
        world.now -= timedelta(hours=5)
        world.tick(1)
    world.tick(1800)
    assert world.told == ["on-call opened", "on-call reminder"]


def test_a_clock_that_is_set_back_keeps_the_order_of_what_was_told():
    """Firing when it comes to rest, after it was said that it flaps, is still news."""
    world = World()
    often(world, "FFPPFF")
    assert world.told[-1] == "on-call flapping"
    world.now -= timedelta(hours=5)
    often(world, "FFF")
    assert world.told[-1] == "on-call opened"
