"""Whole stories: runs and time go in, messages come out."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from canary.core.finding import Severity
from canary.core.incident import Event, State
from canary.core.notification import Reason
from canary.core.route import Match, Policy, Route
from canary.core.route import Silence as Silenced
from canary.core.run import CutShort
from tests.fakes.alerts import HOPS, NOW, PROBES, World, assignment, often, pipeline, policy, receiver, rules, verdicts

ALL_FAIL = "ui F | agent F | litellm F | vllm F"
ALL_PASS = "ui P | agent P | litellm P | vllm P"
ENGINE_DOWN = (
    verdicts(ALL_FAIL, "reachable", reasons={"vllm": "connect"}),
    verdicts("ui U | agent U | litellm U | vllm U", "complete"),
    verdicts("ui U | agent U | litellm U | vllm U", "visible_content"),
    verdicts("ui U | agent U | litellm U | vllm U", "first_visible"),
)
ALL_WELL = tuple(
    verdicts(ALL_PASS, check) for check in ("reachable", "complete", "visible_content", "first_visible", "budget")
)


def test_engine_down_is_one_page():
    """Three probes at two pipelines that share the engine: 2 * 3 runs of 16 verdicts each, every few seconds."""
    world = World(rules=rules(pipeline("chat"), pipeline("stage"), policy=policy(remind_s=7200.0)))
    for _ in range(3):
        for name in ("chat", "stage"):
            for probe in PROBES:
                world.tick(5)
                world.see(*ENGINE_DOWN, pipeline=name, probe=probe)
    assert world.told == ["on-call opened"]
    assert len(world.page.members) == 6
    assert world.page.severity is Severity.CRITICAL
    (message,) = world.messages
    assert (message.where, message.check, message.reason) == ("vllm", "reachable", "connect")
    for _ in range(2):
        for name in ("chat", "stage"):
            for probe in PROBES:
                world.tick(5)
                world.see(*ALL_WELL, pipeline=name, probe=probe)
    assert world.told == ["on-call opened", "on-call resolved"]
    assert world.known.incidents == ()
    last = world.messages[-1]
    assert (last.firing, last.pipelines, last.probes) == (False, ("chat", "stage"), ("heavy", "long", "tiny"))
    assert world.page.resolved_at == world.now


def test_a_budget_that_the_gateway_drops_is_one_page_that_names_the_edge():
    """What follows from it at the same hops is no page of its own, not even where another probe sees only that."""
    lost = verdicts("ui F | agent F | litellm F | vllm P", "budget", subject="thinking_token_budget")
    empty = verdicts("ui F | agent F | litellm F | vllm P", "visible_content")
    world = World()
    for _ in range(3):
        world.tick(60)
        world.see(lost, empty, probe="tiny")
        world.see(empty, probe="heavy")
    assert world.told == ["on-call opened"]
    assert (world.messages[0].where, world.messages[0].check) == ("litellm -> vllm", "budget")
    assert {each.key.check for each in world.known.incidents} == {"budget", "visible_content"}


def test_the_symptom_that_was_seen_first_is_joined_by_its_cause():
    lost = verdicts("ui F | agent F | litellm F | vllm P", "budget", subject="thinking_token_budget")
    empty = verdicts("ui F | agent F | litellm F | vllm P", "visible_content")
    world = World()
    for _ in range(2):
        world.see(empty, probe="heavy")
    for _ in range(2):
        world.see(lost, empty, probe="tiny")
    assert world.told == ["on-call opened"]
    assert len(world.known.pages) == 1


def test_an_engine_is_one_however_its_url_is_spelled():
    first, second = pipeline("chat"), pipeline("stage", shared=())
    *above, engine = second.hops
    spelled = replace(engine, url="http://VLLM.:8000/v1/x/")
    world = World(rules=rules(first, replace(second, hops=(*above, spelled))))
    for name in ("chat", "stage"):
        for _ in range(2):
            world.see(ALL_FAIL, pipeline=name)
    assert world.told == ["on-call opened"]
    assert world.page.pipelines == ("chat", "stage")


def test_one_gateway_two_engines_are_two_pages():
    """The same check above the same gateway, but each pipeline sees its own engine fail."""
    world = World(rules=rules(pipeline("chat", shared=("litellm",)), pipeline("stage", shared=("litellm",))))
    for _ in range(2):
        world.see(ALL_FAIL, pipeline="chat")
        world.see(ALL_FAIL, pipeline="stage")
    assert world.told == ["on-call opened", "on-call opened"]


def test_a_gateway_that_fails_for_one_engine_only_is_not_explained_by_the_other_engine():
    world = World(rules=rules(pipeline("chat", shared=("litellm",)), pipeline("stage", shared=("litellm",))))
    for _ in range(2):
        world.see(ALL_FAIL, pipeline="chat")
        world.see("ui F | agent F | litellm F | vllm P", pipeline="stage")
    assert [message.where for message in world.messages] == ["vllm", "litellm -> vllm"]


def test_a_pipeline_that_cannot_see_the_engine_shares_its_page():
    """The second one ends at the gateway that both share: nothing below it speaks against the engine."""
    short = pipeline("stage", hops=HOPS[:-1])
    world = World(rules=rules(pipeline("chat"), short))
    for _ in range(2):
        world.see(ALL_FAIL, pipeline="chat")
        world.see("ui F | agent F | litellm F", pipeline="stage", hops=HOPS[:-1])
    assert len(world.open_pages()) == 1
    assert world.told == ["on-call opened"]


@pytest.mark.parametrize(
    "chains",
    [
        pytest.param(["ui F | agent F | litellm F | vllm U", ALL_FAIL], id="at or below, then located"),
        pytest.param([ALL_FAIL, "ui F | agent F | litellm F | vllm U"], id="located, then at or below"),
        pytest.param([ALL_FAIL, "ui F | agent F | litellm F | vllm P"], id="born at the engine, or not"),
        pytest.param(["ui F | agent P", "ui F | agent F | litellm P", ALL_FAIL], id="further down each time"),
        pytest.param(["ui F | agent F | litellm P", "ui F | agent P | litellm P"], id="near its limit"),
    ],
)
def test_a_fault_that_is_located_anew_in_each_run_is_counted_and_is_one_page(chains):
    world = World()
    for number in range(12):
        world.tick(60)
        world.see(verdicts(chains[number % len(chains)]), verdicts(ALL_PASS, "reachable"))
    assert [told for told in world.told if "opened" in told] == ["on-call opened"]
    assert len(world.open_pages()) == len(world.known.incidents) == 1
    assert [each.after for each in world.transitions] == [State.PENDING, State.FIRING]
    for _ in range(2):
        world.tick(60)
        world.see(*ALL_WELL)
    assert world.told[-1] == "on-call resolved"
    assert world.known.incidents == ()


POLICIES = {
    "default": Policy(),
    "hair trigger": Policy(fail=1, of=1, recover=1),
    "slow to end": Policy(fail=1, of=1, recover=3),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("every_s", [60.0, 300.0])
@pytest.mark.parametrize("period", [1, 2, 3])
def test_flapping_for_an_hour_is_three_messages_at_most_and_the_recovery_arrives(period, every_s, name):
    world = World(rules=rules(policy=POLICIES[name]))
    often(world, "".join("FP"[(number // period) % 2] for number in range(int(3600 / every_s))), every_s=every_s)
    assert 1 <= len(world.told) <= 3
    often(world, "P" * int(3600 / every_s), every_s=every_s)
    assert world.told[-1] == "on-call resolved"
    assert len(world.told) <= 4
    assert world.known.incidents == ()
    assert world.open_pages() == []


def test_flapping_that_comes_to_rest_in_firing_is_told_too():
    world = World(rules=rules(policy=POLICIES["hair trigger"]))
    often(world, "FPFPFPF")
    assert world.told == ["on-call opened", "on-call resolved", "on-call flapping"]
    often(world, "F" * 60)
    assert world.told[3:] == ["on-call opened"]
    often(world, "P")
    assert world.told[4:] == ["on-call resolved"]


def test_what_gets_worse_while_it_flaps_is_told():
    world = World(rules=rules(policy=POLICIES["hair trigger"]))
    for chain in ("agent F | litellm P", "agent P", "agent F | litellm P"):
        world.tick(60)
        world.see(f"ui P | {chain}")
    assert world.told[-1] == "on-call flapping"
    world.see("ui F | agent F | litellm P")
    assert world.told[-1] == "on-call worse"


def test_a_second_outage_within_the_hour_is_the_same_page_and_a_later_one_is_another():
    world = World()
    often(world, "FFPP")
    first = world.page.id
    often(world, "FF", every_s=1750.0)
    assert world.page.id == first
    assert world.told == ["on-call opened", "on-call resolved", "on-call opened"]
    often(world, "PP")
    world.tick(3601)
    world.restart()
    often(world, "FF")
    assert [page.id for page in world.known.pages] != [first]


def test_reminders_until_somebody_has_it_in_hand():
    world = World(rules=rules(policy=policy(remind_s=3600.0)))
    often(world, "FF")
    for _ in range(23):
        world.tick(600)
    assert world.told == ["on-call opened", *["on-call reminder"] * 3]
    world.ack(world.page)
    for _ in range(24):
        world.tick(600)
    assert world.told[4:] == ["on-call acknowledged"]
    assert world.messages[-1].notes == ("acknowledged by kim",)
    often(world, "PP")
    assert world.told[5:] == ["on-call resolved"]


def test_an_acknowledgement_is_made_once_and_only_of_what_is_open():
    world = World()
    often(world, "FF")
    world.ack(world.page)
    again = world.ack(world.page, "lee")
    assert (again.pages, again.notifications) == ((), ())
    assert world.page.acked_by == "kim"
    often(world, "PP")
    assert world.ack(world.page).pages == ()
    often(world, "FF")
    assert world.page.acked_by is None, "people were told that it was over: nobody has the new one in hand"


ESCALATING = policy(escalate_after_s=1800.0, escalate_to="boss", remind_s=None)


def escalating(**more):
    return World(rules=rules(receivers=("on-call", "boss"), policy=ESCALATING, **more))


def test_escalation_once_and_the_end_of_it_is_told_to_both():
    world = escalating()
    often(world, "FF")
    for _ in range(12):
        world.tick(600)
    assert world.told == ["on-call opened", "boss escalated"]
    assert world.messages[-1].notes == ("nobody has it in hand",)
    often(world, "PP")
    assert sorted(world.told[2:]) == ["boss resolved", "on-call resolved"]


def test_no_escalation_after_an_acknowledgement():
    world = escalating()
    often(world, "FF")
    world.ack(world.page)
    for _ in range(12):
        world.tick(600)
    assert world.told == ["on-call opened", "on-call acknowledged"]


def worse_than_acknowledged():
    """A warning that somebody has in hand, and five hours later people feel it."""
    world = escalating()
    for _ in range(2):
        world.tick(60)
        world.see("ui P | agent P | litellm P | vllm F")
    world.ack(world.page)
    world.tick(5 * 3600)
    world.see(ALL_FAIL)
    return world


def test_who_has_a_warning_in_hand_has_not_said_so_of_what_people_feel():
    world = worse_than_acknowledged()
    assert world.told == ["on-call opened", "on-call acknowledged", "on-call worse"]
    assert world.page.acked_by is None
    for _ in range(2):
        world.tick(899)
    assert world.told[3:] == []
    world.restart()
    world.tick(2)
    assert world.told[3:] == ["boss escalated"]


def test_nor_does_it_escalate_once_somebody_has_that_in_hand_too():
    world = worse_than_acknowledged()
    world.ack(world.page, "lee")
    for _ in range(12):
        world.tick(600)
    assert world.told[3:] == ["on-call acknowledged"]


def test_an_acknowledgement_holds_for_what_was_as_bad_before():
    world = escalating()
    often(world, "FF")
    world.ack(world.page)
    for chain in ("ui P | agent P | litellm P | vllm F", ALL_FAIL):
        world.tick(7200)
        world.see(chain)
    assert world.page.acked_by == "kim"
    assert world.told == ["on-call opened", "on-call acknowledged", "on-call better", "on-call worse"]


def test_an_acknowledgement_of_what_was_told_to_nobody_holds():
    world = escalating(silences=(silence(0, 99999),))
    often(world, "FF")
    world.ack(world.page)
    world.tick(60)
    assert world.page.acked_by == "kim"


def test_an_acknowledgement_while_it_flaps_does_not_end_it():
    """Between two failures nothing fires, but it is not over: PagerDuty and Alertmanager must not be told so."""
    world = World(rules=rules(policy=POLICIES["hair trigger"]))
    often(world, "FPFP")
    world.ack(world.page)
    assert world.told[-1] == "on-call acknowledged"
    assert world.messages[-1].firing
    assert world.messages[-1].notes == ("acknowledged by kim",)


URGENT = policy(remind_s=3600.0, escalate_after_s=900.0, escalate_to="boss")
SLOW = policy(remind_s=7200.0, escalate_after_s=86400.0, escalate_to="boss")


@pytest.mark.parametrize("first", ["chat", "stage"])
@pytest.mark.parametrize("less", [Policy(), SLOW], ids=["nothing", "less"])
def test_a_page_that_is_shared_with_something_of_less_weight_is_as_urgent(first, less):
    routes = (
        Route(match=Match(pipeline="chat"), receiver="on-call", policy=URGENT),
        Route(match=Match(), receiver="on-call", policy=less),
    )
    both = (pipeline("chat"), pipeline("stage"))
    world = World(rules=rules(*both, receivers=("on-call", "boss"), routes=routes))
    for name in (first, *({"chat", "stage"} - {first})):
        for _ in range(2):
            world.see(ALL_FAIL, pipeline=name)
    for _ in range(6):
        world.tick(600)
    assert world.told == ["on-call opened", "boss escalated", "on-call reminder"]


def test_what_is_mute_makes_the_rest_of_its_page_no_more_urgent():
    routes = (
        Route(match=Match(pipeline="chat"), receiver="on-call", policy=URGENT),
        Route(match=Match(), receiver="on-call"),
    )
    both = (pipeline("chat"), pipeline("stage"))
    muted = rules(*both, receivers=("on-call", "boss"), routes=routes, silences=(silence(0, 7200, pipeline="chat"),))
    world = World(rules=muted)
    for name in ("chat", "stage"):
        for _ in range(2):
            world.see(ALL_FAIL, pipeline=name)
    for _ in range(11):
        world.tick(600)
    assert world.told == ["on-call opened"]
    world.tick(600)
    assert world.told[1:] == ["boss escalated", "on-call reminder"]


def test_each_opening_escalates_anew():
    world = escalating()
    for _ in range(2):
        often(world, "FF")
        world.tick(1800)
        often(world, "PP")
        world.tick(3700)
    assert world.told.count("boss escalated") == 2


def silence(starts_s, ends_s, **match):
    return Silenced(
        id="s1",
        match=Match(**match),
        starts_at=NOW + timedelta(seconds=starts_s),
        ends_at=NOW + timedelta(seconds=ends_s),
        author="kim",
        comment="deploy",
    )


def test_what_was_silenced_is_told_late_and_not_lost():
    world = World(rules=rules(silences=(silence(0, 1800),)))
    often(world, "FFFF")
    assert world.told == []
    assert world.withheld == ["on-call silenced"]
    assert world.conclusions[3].withheld[0].until == NOW + timedelta(seconds=1800)
    world.tick(1800)
    assert world.told == ["on-call opened"]
    assert world.messages[0].notes == ("it began 32 min ago and was held back until now",)


def test_the_end_of_what_was_announced_is_told_mute_or_not():
    world = World(rules=rules(silences=(silence(150, 9999),)))
    often(world, "FFPP")
    assert world.told == ["on-call opened", "on-call resolved"]


def test_the_end_of_what_was_never_announced_is_not_told():
    world = World(rules=rules(silences=(silence(0, 9999),)))
    often(world, "FFPP")
    assert world.told == []
    assert world.withheld == ["on-call silenced", "None never_announced"]
    assert world.page.resolved_at is not None


def test_reminders_and_escalation_wait_for_a_silence_to_end():
    world = escalating(silences=(silence(150, 7200),))
    often(world, "FF")
    for _ in range(11):
        world.tick(600)
    assert world.told == ["on-call opened"]
    for _ in range(2):
        world.tick(600)
    assert world.told == ["on-call opened", "boss escalated"]


def test_a_hold_ends_without_another_run():
    world = World(rules=rules(policy=policy(hold_s=600.0)))
    often(world, "FFPP")
    assert world.told == ["on-call opened"]
    world.tick(300)
    assert world.states == {"visible_content@vllm": State.RECOVERING}
    world.tick(300)
    assert world.told == ["on-call opened", "on-call resolved"]
    assert world.transitions[-1].event is Event.PASSED_ENOUGH
    assert world.transitions[-1].run_id is None


def test_worse_at_once_wider_every_five_minutes_better_every_hour():
    world = World()
    for _ in range(2):
        world.see("ui P | agent P | litellm P | vllm F")
    assert (world.told, world.page.severity) == (["on-call opened"], Severity.WARNING)
    world.tick(60)
    world.see("ui P | agent P | litellm F | vllm F")
    assert world.told[1:] == []
    world.tick(240)
    assert world.told[1:] == ["on-call worse"]
    world.tick(1)
    world.see(ALL_FAIL)
    assert world.told[2:] == ["on-call worse"]
    assert world.page.severity is Severity.CRITICAL
    for _ in range(60):
        world.tick(60)
        world.see("ui P | agent P | litellm F | vllm F")
        world.see(ALL_FAIL)
    better_and_worse = world.told[3:]
    assert better_and_worse == ["on-call better", "on-call worse"], "a severity that comes and goes: once an hour"


def failing(reason, chain="ui P | agent P | litellm P | vllm F", **numbers):
    return verdicts(chain, "reachable", reasons={"vllm": reason}, **numbers)


def opened(**more):
    world = World(**more)
    for _ in range(2):
        world.tick(60)
        world.see(failing("connect", observed=1.0))
    return world


def minutes(world, count, *groups):
    for _ in range(count):
        world.tick(60)
        world.see(*groups)


def test_another_reason_at_the_same_place_is_put_right_where_that_can_be_edited():
    quiet = receiver("room", edits=False)
    both = tuple(Route(match=Match(), receiver=name, go_on=True) for name in ("on-call", "room"))
    world = opened(rules=replace(rules(routes=both), receivers=(receiver("on-call"), quiet)))
    assert world.told == ["on-call opened", "room opened"]
    minutes(world, 8, failing("not_found"))
    assert world.told[2:] == ["on-call changed"]
    assert (world.messages[0].reason, world.messages[-1].reason) == ("connect", "not_found")


def test_other_numbers_are_no_other_reason():
    world = opened()
    for number in range(30):
        minutes(world, 1, failing("connect", observed=float(number)))
    assert world.told == ["on-call opened"]


def test_reasons_that_alternate_are_edits_every_five_minutes_and_move_no_reminder():
    world = opened(rules=rules(policy=policy(remind_s=1800.0)))
    for number in range(60):
        minutes(world, 1, failing(("not_found", "connect")[number % 2]))
    edits = [each.at for made in world.conclusions for each in made.notifications if each.reason is Reason.CHANGED]
    assert all(later - earlier >= timedelta(minutes=5) for earlier, later in pairwise(edits))
    assert 8 <= len(edits) <= 12
    reminded = [each.at for made in world.conclusions for each in made.notifications if each.reason is Reason.REMINDER]
    assert [at - NOW for at in reminded] == [timedelta(minutes=32), timedelta(minutes=62)]


def test_an_edit_keeps_nothing_else_waiting_and_tells_nothing_in_its_place():
    world = opened()
    minutes(world, 5, failing("not_found"))
    assert world.told[1:] == ["on-call changed"]
    minutes(world, 1, failing("not_found", "ui P | agent P | litellm F | vllm F"))
    assert world.told[2:] == ["on-call worse"]


def test_no_edit_of_what_is_silenced():
    world = opened()
    silence = Silenced(
        id="s", match=Match(), starts_at=world.now, ends_at=world.now + timedelta(minutes=10), author="kim"
    )
    world.rules = replace(world.rules, silences=(silence,))
    minutes(world, 9, failing("not_found"))
    assert world.told[1:] == []
    minutes(world, 2, failing("not_found"))
    assert world.told[1:] == ["on-call changed"]


def test_what_was_told_by_an_older_version_is_not_called_changed():
    world = opened()
    before = replace(world.page, told=tuple(replace(each, fault=None) for each in world.page.told))
    world.known = replace(world.known, pages=(before,))
    minutes(world, 9, failing("not_found"))
    assert world.told == ["on-call opened"]


def test_nothing_is_called_better_while_the_end_is_near():
    """The first pipeline is through while the other one recovers, and fewer hops are affected for that moment."""
    short = ("browser", "ui", "litellm", "vllm")
    world = World(rules=rules(pipeline("chat"), pipeline("stage", hops=short)))
    for letter in "FFPP":
        world.tick(60)
        world.see(" | ".join(f"{hop} {letter}" for hop in HOPS[1:]))
        world.see(f"ui {letter} | litellm {letter} | vllm {letter}", pipeline="stage", hops=short)
    assert world.told == ["on-call opened", "on-call resolved"]
    assert world.withheld == ["on-call nothing_new", "on-call settling"]


def test_better_is_told_where_the_end_is_not_near():
    web = ("browser", "web", "litellm", "vllm")
    world = World(rules=rules(pipeline("chat"), pipeline("stage", hops=web)))
    for chat, stage in ("FF", "FF", "PF", "PF", "PF"):
        world.tick(400)
        world.see(" | ".join(f"{hop} {chat}" for hop in HOPS[1:]))
        world.see(f"web {stage} | litellm {stage} | vllm {stage}", pipeline="stage", hops=web)
    assert world.told == ["on-call opened", "on-call worse", "on-call better"]


def test_a_second_outage_that_was_silenced_has_no_end_to_tell():
    world = World()
    often(world, "FFPP")
    world.rules = rules(silences=(silence(0, 99999),))
    often(world, "FFPP", every_s=900.0)
    assert world.told == ["on-call opened", "on-call resolved"]
    assert set(world.withheld) == {"on-call silenced", "on-call never_announced"}
    assert world.open_pages() == []


@pytest.mark.parametrize(
    ("groups", "confirm"),
    [
        pytest.param([[ALL_FAIL]], True, id="a first failure"),
        pytest.param([[ALL_FAIL], [ALL_FAIL]], False, id="it fires"),
        pytest.param([[ALL_FAIL], [ALL_PASS]], False, id="it passed"),
        pytest.param([[ALL_FAIL], [ALL_PASS], [ALL_FAIL]], False, id="two of three"),
        pytest.param([[ALL_FAIL], [ALL_FAIL], [ALL_PASS]], False, id="it recovers"),
        pytest.param([["ui U | agent U | litellm U | vllm U"]], False, id="nothing is known"),
        pytest.param([[verdicts("vllm F", "baseline", subject="speed")]], False, id="it has counted itself"),
        pytest.param([[ALL_PASS]], False, id="all is well"),
    ],
)
def test_a_first_failure_wants_another_run_at_once(groups, confirm):
    world = World()
    for each in groups:
        made = world.see(*each)
    assert made.confirm is confirm


def test_three_failures_are_asked_for_one_after_the_other():
    world = World(rules=rules(policy=policy(fail=3, of=5)))
    assert [world.see(ALL_FAIL).confirm for _ in range(3)] == [True, True, False]


def test_blindness_is_a_page_about_the_monitor_and_ends_when_we_can_tell():
    world = World()
    blind = verdicts("ui U | agent U | litellm U | vllm U", reasons={"vllm": "rate_limited"})
    for _ in range(4):
        world.see(blind)
    assert world.told == []
    world.see(blind)
    assert world.told == ["on-call opened"]
    message = world.messages[0]
    assert (message.check, message.reason, message.severity) == ("blind", "rate_limited", Severity.WARNING)
    assert message.users_feel == "We cannot tell how people fare: the monitor sees nothing here."
    world.see(ALL_PASS)
    assert world.told == ["on-call opened", "on-call resolved"]


def test_a_streak_of_blindness_that_breaks_begins_anew():
    world = World()
    for letter in "UUUUPUUUU":
        world.see(" | ".join(f"{hop} {letter}" for hop in HOPS[1:]))
    assert world.told == []


def test_a_run_of_what_the_config_has_no_more_changes_nothing():
    world = World()
    often(world, "FF")
    world.reload(rules(pipeline("other")))
    before = world.known
    world.see(ALL_FAIL)
    assert world.known == before


GONE = {
    "pipeline": rules(pipeline("other")),
    "probe": rules(pipeline("chat", probes=("tiny",))),
    "hop": rules(pipeline("chat", hops=("browser", "ui", "agent", "litellm"))),
    "check": rules(replace(pipeline("chat"), assignments=(assignment(checks=("reachable",)),))),
}


@pytest.mark.parametrize("what", GONE)
def test_what_the_config_asks_for_no_more_is_over_and_told(what):
    world = World()
    often(world, "FF")
    world.reload(GONE[what])
    assert world.told == ["on-call opened", "on-call resolved"]
    assert world.known.incidents == ()
    assert world.transitions[-1].event is Event.GONE
    assert (world.messages[-1].ended, world.messages[-1].notes) == ("the config asks for it no more", ())


@pytest.mark.parametrize("runs", [pytest.param("FFPPFF", id="firing"), pytest.param("FFPPFFPP", id="settling")])
@pytest.mark.parametrize("what", GONE)
def test_a_page_that_flaps_ends_at_once_where_nothing_asks_for_it_any_more(what, runs):
    world = World()
    often(world, runs)
    assert world.told[-1] == "on-call flapping"
    world.reload(GONE[what])
    assert world.told[-1] == "on-call resolved"
    assert (world.page.resolved_at, world.page.flapping) == (world.now, False)
    assert world.messages[-1].ended == "the config asks for it no more"


def test_a_probe_under_a_new_name_is_no_flapping():
    world = World()
    often(world, "FF")
    world.reload(rules(pipeline("chat", probes=("renamed",))))
    often(world, "FF", probe="renamed")
    assert world.told == ["on-call opened", "on-call resolved", "on-call opened"]
    often(world, "PPFF", probe="renamed")
    assert world.told[3:] == ["on-call resolved", "on-call flapping"]


def renaming(world, old, new, *, pipeline_name="chat"):
    """The world after a reload of its plan in which a hop has another name and the same URL."""
    found = [
        replace(each, hops=tuple(replace(h, name=new) if h.name == old else h for h in each.hops))
        if each.name == pipeline_name
        else each
        for each in world.rules.pipelines
    ]
    world.reload(replace(world.rules, pipelines=tuple(found)))


RENAMED = ("browser", "ui", "agent", "litellm", "engine")


def test_a_hop_under_a_new_name_is_the_same_hop():
    world = World()
    often(world, "FF")
    renaming(world, "vllm", "engine")
    for letter in "FFPP":
        world.tick(60)
        world.see(f"ui {letter} | agent {letter} | litellm {letter} | engine {letter}", hops=RENAMED)
    assert world.told == ["on-call opened", "on-call resolved"]
    assert world.messages[-1].notes == ()
    assert [each.event for each in world.transitions if each.event is Event.GONE] == []


def test_an_affected_hop_under_a_new_name_is_not_called_well():
    world = World()
    often(world, "FF")
    renaming(world, "agent", "bot")
    world.tick(4000)
    assert world.told == ["on-call opened"]
    world.see("ui F | bot F | litellm F | vllm F", hops=("browser", "ui", "bot", "litellm", "vllm"))
    assert world.page.affected == ("ui", "bot", "litellm")


def test_a_failure_that_is_counted_at_a_hop_under_its_old_name_counts():
    world = World()
    often(world, "F")
    renaming(world, "vllm", "engine")
    world.see("ui F | agent F | litellm F | engine F", hops=RENAMED)
    assert world.told == ["on-call opened"]


def test_a_name_that_passes_to_another_hop_makes_no_two_incidents_of_one_key():
    """There is no `vllm` any more; `litellm`, which has an incident of its own, is the name of what is at its URL."""
    world = World()
    for chain in ("ui F | agent F | litellm F | vllm P",) * 2 + ("ui P | agent P | litellm P | vllm F",):
        world.see(chain)
    assert sorted(world.states) == ["visible_content@litellm", "visible_content@vllm"]
    *above, _, engine = pipeline().hops
    world.reload(rules(replace(pipeline(), hops=(*above, replace(engine, name="litellm")))))
    assert [each.key.origin for each in world.known.incidents] == ["litellm"]
    assert world.transitions[-1].event is Event.GONE


def test_a_reload_that_changes_nothing_changes_nothing():
    world = World()
    often(world, "FF")
    made = world.reload(rules())
    assert (made.incidents, made.pages, made.notifications) == ((), (), ())


@pytest.mark.parametrize("runs", ["F", "FF", "FFP", "FFPP", "FFPPFF", "FFPPFFPP", "FPFPFPFP"])
def test_a_restart_neither_tells_again_nor_forgets(runs):
    """A world that restarts after every run says what one that never does says."""
    steady, restarted = (World(rules=rules(policy=policy(recover=1, remind_s=600.0))) for _ in range(2))
    for letter in runs + "P" * 40:
        often(steady, letter)
        often(restarted, letter)
        restarted.restart()
    assert restarted.told == steady.told
    assert restarted.told[-1:] == ([] if runs == "F" else ["on-call resolved"])


def test_the_same_run_concluded_twice_gives_the_same_ids():
    worlds = World(), World()
    for world in worlds:
        often(world, "FF")
    one, two = ([each for made in world.conclusions for each in made.notifications] for world in worlds)
    assert one == two
    assert one[0].page_id == worlds[0].page.id


def test_ids_of_notifications_differ_where_they_say_something_new():
    world = escalating()
    often(world, "FFPPFF")
    ids = [each.id for made in world.conclusions for each in made.notifications]
    assert len(ids) == len(set(ids)) == 3


def test_a_page_whose_members_got_lost_is_over():
    """A store that lost incidents must not leave a page open for ever."""
    world = World()
    often(world, "FF")
    world.known = replace(world.known, incidents=())
    world.tick(60)
    assert world.told == ["on-call opened", "on-call resolved"]


def test_an_incident_without_a_page_gets_one():
    world = World()
    often(world, "FF")
    world.known = replace(world.known, pages=())
    world.tick(60)
    assert len(world.open_pages()) == 1


def test_interrupted_by_our_own_shutdown_nothing_happens():
    world = World()
    often(world, "F")
    made = world.see(ALL_FAIL, cut_short=CutShort.SHUTDOWN)
    assert (made.incidents, made.confirm) == ((), False)


def test_nobody_is_told_without_a_route_and_it_is_said():
    world = World(rules=rules(receivers=("a", "b")))
    often(world, "FFPP")
    assert world.told == []
    assert world.withheld == ["None no_route", "None never_announced"]


def test_two_routes_two_receivers():
    routes = (
        Route(match=Match(severity=Severity.CRITICAL), receiver="a", go_on=True),
        Route(match=Match(labels={"env": "prod"}), receiver="b", policy=policy(remind_s=600.0)),
    )
    world = World(rules=rules(receivers=("a", "b"), routes=routes))
    often(world, "FF")
    world.tick(600)
    assert world.told == ["a opened", "b opened", "b reminder"]


def test_a_receiver_that_is_gone_is_told_nothing_and_a_new_one_hears_what_is_open():
    world = World()
    often(world, "FF")
    made = world.reload(replace(world.rules, receivers=(receiver("new"),)))
    assert [(each.receiver, each.reason) for each in made.withheld] == [("on-call", Reason.NO_ROUTE)]
    world.tick(1)
    assert world.told == ["on-call opened", "new opened"]
    often(world, "PP")
    assert world.told[2:] == ["new resolved"]
    assert world.withheld[-1] == f"on-call {Reason.NO_ROUTE}"


def test_a_receiver_that_comes_back_hears_the_end_that_it_missed():
    world = World()
    often(world, "FF")
    whole = world.rules
    world.reload(replace(whole, receivers=(receiver("new"),)))
    often(world, "PP")
    assert world.told == ["on-call opened", "new opened", "new resolved"]
    world.reload(replace(whole, receivers=(receiver("new"), receiver())))
    world.tick(60)
    assert world.told[3:] == ["on-call resolved"]
    assert (world.messages[-1].firing, world.messages[-1].notes) == (False, ())


def test_who_was_told_hears_the_end_although_the_routes_changed():
    world = World(rules=rules(receivers=("on-call", "b"), policy=Policy()))
    often(world, "FF")
    world.reload(rules(receivers=("on-call", "b"), routes=(Route(match=Match(), receiver="b"),)))
    often(world, "PP")
    assert sorted(world.told) == ["b opened", "b resolved", "on-call opened", "on-call resolved"]
