"""What people outside see, in every state."""

from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting.board import MOST_INCIDENTS, Chronicle, component_id
from canary.core.route import Match
from canary.core.status import Level
from tests.fakes.boards import (
    DOWN,
    JUST_OVER,
    NOW,
    SLOW,
    SOON,
    STATES,
    UNDER_WAY,
    WEEKLY,
    ago,
    over,
    override,
    page_of,
    shown,
)


@pytest.mark.parametrize(
    ("state", "levels", "told"),
    [
        ("well", ("operational",) * 3, True),
        ("never asked", ("operational",) * 3, False),
        ("cannot be told", ("operational",) * 3, False),
        ("told too long ago", ("operational",) * 3, False),
        ("blind", ("operational",) * 3, False),
        ("down", ("major_outage",) * 3, True),
        ("slow", ("partial_outage",) * 3, True),
        ("not felt", ("degraded_performance", "operational", "degraded_performance"), True),
        ("recovering", ("major_outage",) * 3, True),
        ("settling", ("operational",) * 3, True),
        ("over", ("operational",) * 3, True),
        ("overridden", ("partial_outage",) * 3, True),
        ("maintenance soon", ("operational",) * 3, True),
        ("maintenance", ("under_maintenance", "operational", "under_maintenance"), True),
        ("maintenance is over", ("operational",) * 3, True),
        ("down in maintenance", ("major_outage",) * 3, True),
    ],
)
def test_components(state, levels, told):
    """chat, edge, vllm; the browser is not probed and is none."""
    board = STATES[state]
    assert tuple(each.level.value for each in board.components) == levels
    assert board.told is told
    assert [each.name for each in board.components] == ["chat", "edge", "vllm"]


def test_each_component_says_whether_it_is_told():
    assert [each.told for each in STATES["told too long ago"].components] == [False, False, True]


def test_ids_are_stable_and_differ():
    assert [each.id for each in STATES["down"].components] == [each.id for each in STATES["well"].components]
    assert len({component_id("a", "b"), component_id("a", None), component_id("ab", None), component_id("b", "a")}) == 4


def test_a_young_incident_is_neither_told_nor_counted():
    board = shown(pages=(page_of(DOWN, opened=ago(seconds=30)),), incidents=(DOWN,))
    assert board.incidents == ()
    assert board.level is Level.OPERATIONAL


def test_an_old_incident_that_goes_on_is_never_crowded_out():
    old = page_of(SLOW, page_id="old", opened=ago(days=80))
    others = tuple(over(DOWN, page_id=f"p{n}", opened=ago(hours=n + 2), closed=ago(hours=n + 1)) for n in range(60))
    board = shown(pages=(old,), incidents=(SLOW,), said=Chronicle(pages=others))
    assert len(board.incidents) == MOST_INCIDENTS + 1
    assert board.incidents[-1].id == "old"
    assert board.incidents[0].id == "p0"


def test_the_snapshot_knows_better_than_what_was_stored():
    stored = Chronicle(pages=(page_of(DOWN),))
    assert shown(pages=(over(DOWN),), said=stored).incidents[0].resolved_at is not None


@pytest.mark.parametrize(
    ("said", "level", "impact"),
    [
        pytest.param(override(Level.PARTIAL, page_id="a1b2"), Level.PARTIAL, "major", id="it holds"),
        pytest.param(override(Level.PARTIAL, page_id="a1b2", lasting_s=60.0), Level.MAJOR, "critical", id="it is over"),
        pytest.param(
            override(Level.PARTIAL, page_id="a1b2", at=NOW + timedelta(hours=1)),
            Level.MAJOR,
            "critical",
            id="it is to come",
        ),
        pytest.param(override(Level.OPERATIONAL, page_id="a1b2"), Level.OPERATIONAL, "none", id="a false alarm"),
    ],
)
def test_an_override_of_a_page(said, level, impact):
    board = shown(pages=(page_of(DOWN),), incidents=(DOWN,), said=Chronicle(overrides=(said,)))
    assert board.level is level
    assert board.incidents[0].impact == impact


def test_what_held_at_its_end_stays():
    said = override(Level.DEGRADED, page_id="a1b2", at=ago(hours=30))
    page = over(DOWN, opened=ago(hours=31), closed=ago(hours=29, minutes=30))
    assert shown(said=Chronicle(pages=(page,), overrides=(said,))).incidents[0].impact == "minor"


@pytest.mark.parametrize(
    ("maintenance", "starts"),
    [
        pytest.param(SOON, [1.0], id="once"),
        pytest.param(UNDER_WAY, [-1.0], id="under way"),
        pytest.param(JUST_OVER, [-3.0], id="just over"),
        pytest.param(WEEKLY, [15.0, 183.0, 351.0, 519.0, 687.0], id="each week, for thirty days"),
        pytest.param(replace(SOON, match=Match(check="budget")), [], id="of a check: not for everybody"),
        pytest.param(replace(SOON, match=Match(probe="heavy")), [], id="of a probe"),
        pytest.param(replace(SOON, match=Match(hop="browser")), [], id="of a hop that nobody asks"),
        pytest.param(replace(SOON, match=Match(labels={"env": "dev"})), [], id="of other pipelines"),
        pytest.param(replace(SOON, match=Match(pipeline="chat", hop="vllm")), [1.0], id="of one hop"),
    ],
)
def test_planned(maintenance, starts):
    found = shown(maintenance=(maintenance,)).planned
    assert [(each.starts_at - NOW) / timedelta(hours=1) for each in found] == starts
    assert len({each.id for each in found}) == len(found)
