"""A daemon that began without its store, and what the store then turned out to know."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.alerting import Known, rejoin
from canary.alerting.incidents import ACTIVE
from canary.core.incident import Event, State
from tests.fakes.alerts import World, often, policy, rules

HELD = timedelta(minutes=10)


def lives(before, since, *, probe="heavy", other=None, rules_=None):
    """What an earlier life saw and stored, and what this one saw without it."""
    rules_ = rules_ or rules(policy=policy(hold_s=0.0))
    earlier = World(rules=rules_)
    often(earlier, before, probe=probe)
    earlier.restart()
    ours = World(rules=rules_, now=earlier.now + HELD, runs=100)
    often(ours, since, probe=other or probe)
    return earlier, ours


def returned(earlier, ours):
    """The store comes; the ledger of what was told goes on in `ours`."""
    known, conclusion = rejoin(earlier.known, ours.known, ours.rules, ours.now)
    ours.known = known
    ours.conclusions[:0] = earlier.conclusions
    ours._keep(conclusion)
    return conclusion


def ledger(world):
    """Page ids, of which each receiver heard that they began, less those of which it heard that they ended."""
    signs = {"opened": 1, "resolved": -1}
    count = Counter()
    for made in world.conclusions:
        for each in made.notifications:
            count[each.page_id] += signs.get(each.reason.value, 0)
    return {page: n for page, n in count.items() if n}


def test_the_same_fault_twice_goes_on_as_the_page_that_people_had_first():
    earlier, ours = lives("FF", "FF")
    (first,), (second,) = earlier.known.pages, ours.known.pages
    conclusion = returned(earlier, ours)
    assert [page.id for page in ours.open_pages()] == [first.id]
    (told,) = conclusion.notifications
    assert (told.page_id, told.reason.value) == (second.id, "resolved")
    assert "goes on as an earlier page" in told.message.ended
    (incident,) = ours.known.incidents
    stored = earlier.known.incidents[0]
    assert (incident.id, incident.seen_at, incident.opened_at) == (stored.id, stored.seen_at, stored.opened_at)
    assert incident.run_id == "run-102", "with what was seen last"
    often(ours, "PP")
    assert ours.open_pages() == []
    assert ours.told == ["on-call opened"] * 2 + ["on-call resolved"] * 2
    assert ledger(ours) == {}


@pytest.mark.parametrize(
    ("before", "since", "state", "open_pages"),
    [
        pytest.param("FF", "", State.FIRING, 1, id="nothing was seen yet"),
        pytest.param("FF", "P", State.FIRING, 1, id="what passed meanwhile counts for nothing"),
        pytest.param("FF", "F", State.FIRING, 1, id="one failure"),
        pytest.param("FFP", "F", State.FIRING, 1, id="a failure ends a recovery"),
        pytest.param("FFP", "FF", State.FIRING, 1, id="so do two"),
        pytest.param("FF", "FFP", State.RECOVERING, 1, id="ours recovers already"),
        pytest.param("F", "FF", State.FIRING, 1, id="nobody had heard of the stored one"),
        pytest.param("F", "F", State.PENDING, 0, id="nobody has heard of either"),
        pytest.param("F", "", State.PENDING, 0, id="a stored one that nobody has heard of"),
        pytest.param("", "FF", State.FIRING, 1, id="nothing was stored"),
        pytest.param("FFPP", "FF", State.FIRING, 1, id="the stored one was over"),
    ],
)
def test_one_incident_a_key_and_one_page_a_cause(before, since, state, open_pages):
    earlier, ours = lives(before, since)
    conclusion = returned(earlier, ours)
    (incident,) = ours.known.incidents
    assert (incident.state, len(ours.open_pages())) == (state, open_pages)
    assert not [each for each in conclusion.notifications if each.reason.value == "opened"], "nobody is paged anew"
    for transition in conclusion.transitions:
        assert transition.before is not transition.after
    often(ours, "PPPP")
    assert (ours.known.incidents, ours.open_pages(), ledger(ours)) == ((), [], {})


def test_what_ends_for_the_other_is_history_too():
    earlier, ours = lives("FFP", "FF")
    gone = ours.known.incidents[0].id
    changes = {each.incident_id: each.event for each in returned(earlier, ours).transitions}
    assert changes == {gone: Event.GONE, earlier.known.incidents[0].id: Event.FAILED}


def test_an_incident_of_another_probe_moves_to_the_page_of_its_cause():
    earlier, ours = lives("FF", "FF", other="tiny")
    returned(earlier, ours)
    (page,) = ours.open_pages()
    assert page.id == earlier.known.pages[0].id
    assert {each.key.probe for each in ours.known.incidents if each.id in page.members} == {"heavy", "tiny"}
    for probe in ("heavy", "tiny"):
        often(ours, "PP", probe=probe)
    assert (ours.open_pages(), ledger(ours)) == ([], {})


def test_another_cause_is_another_page():
    earlier, ours = lives("FF", "")
    for _ in range(2):
        ours.see("ui F | agent P | litellm P | vllm P", probe="long")
    conclusion = returned(earlier, ours)
    assert len(ours.open_pages()) == 2
    assert conclusion.notifications == ()


@pytest.mark.parametrize("whose", ["earlier", "ours"])
def test_who_has_one_of_them_in_hand_has_the_one_that_stays(whose):
    earlier, ours = lives("FF", "FF")
    world = {"earlier": earlier, "ours": ours}[whose]
    world.ack(world.page)
    returned(earlier, ours)
    (page,) = ours.open_pages()
    assert page.acked_by == "kim"


def test_a_receiver_that_had_not_heard_of_the_one_that_stays_hears_of_it():
    """It was silent then. Once it is told, it hears of the other's end too, and of nothing twice."""
    earlier, ours = lives("FF", "FF")
    earlier.known = replace(earlier.known, pages=(replace(earlier.page, told=()),))
    earlier.conclusions.clear()
    conclusion = returned(earlier, ours)
    assert [each.reason.value for each in conclusion.notifications] == ["opened", "resolved"]
    often(ours, "PP")
    assert ledger(ours) == {}


def test_a_page_whose_incidents_cannot_be_read_goes_on_with_the_one_that_led_it():
    """To take it for over would be an all-clear that nobody gave."""
    earlier, ours = lives("FF", "")
    earlier.known = Known(pages=earlier.known.pages)
    assert returned(earlier, ours).notifications == ()
    assert [each.state in ACTIVE for each in ours.known.incidents] == [True]
    assert len(ours.open_pages()) == 1
    often(ours, "PP")
    assert (ours.told, ours.open_pages()) == (["on-call opened", "on-call resolved"], [])


def test_a_page_of_which_one_incident_can_be_read_goes_on_with_that():
    earlier, ours = lives("FF", "")
    often(earlier, "FF", probe="tiny")
    kept = tuple(each for each in earlier.known.incidents if each.key.probe == "tiny")
    earlier.known = replace(earlier.known, incidents=kept)
    returned(earlier, ours)
    assert [each.key.probe for each in ours.known.incidents] == ["tiny"]


letters = st.text("PFU", max_size=6)


@settings(max_examples=150, deadline=None)
@given(before=letters, since=letters, other=st.sampled_from(["heavy", "tiny"]), tail=letters)
def test_whatever_both_saw_every_beginning_that_was_told_has_its_end(before, since, other, tail):
    earlier, ours = lives(before, since, other=other)
    returned(earlier, ours)
    keys = Counter(each.key for each in ours.known.incidents)
    assert set(keys.values()) <= {1}
    assert max(Counter(page.cause for page in ours.open_pages()).values(), default=0) <= 1
    for probe in ("heavy", "tiny"):
        often(ours, tail + "PPPP", probe=probe)
    ours.tick(7200)
    assert (ours.known.incidents, ours.open_pages()) == ((), [])
    told = [(each.receiver, each.page_id, each.reason.value) for m in ours.conclusions for each in m.notifications]
    for receiver, page in {(receiver, page) for receiver, page, _ in told}:
        reasons = [reason for *where, reason in told if where == [receiver, page]]
        assert reasons[-1] == "resolved", "the last word"
