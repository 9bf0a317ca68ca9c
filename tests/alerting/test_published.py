"""Pages in the words of everybody: from when on, in which phase, and what is never in them."""

from datetime import timedelta

import pytest

from canary.alerting.incidents import BLIND
from canary.alerting.published import LONGEST, WORDS, Phase, Said, failing_for, published, shows, spoken
from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.core.status import Level
from tests.fakes.boards import CALM, DOWN, NOW, ago, note, over, override, page_of

NOBODY = Said()


@pytest.mark.parametrize("check", [*CHECKS, BUDGET, BLIND])
def test_every_check_has_words(check):
    assert check in WORDS


def times(*minutes):
    return tuple(ago(minutes=each) for each in minutes)


@pytest.mark.parametrize(
    ("page", "minutes"),
    [
        pytest.param(page_of(DOWN), 12, id="open"),
        pytest.param(over(DOWN), 35, id="over"),
        pytest.param(over(DOWN, changes=()), 35, id="of before changes were kept"),
        pytest.param(page_of(DOWN, opened=ago(minutes=50), changes=times(50, 49, 1)), 2, id="twice for a minute"),
        pytest.param(over(DOWN, opened=ago(minutes=50), changes=times(50, 49, 10, 9)), 2, id="the same, and over"),
        pytest.param(
            page_of(DOWN, opened=ago(minutes=200), changes=times(30, 1)), 171, id="its first opening is long ago"
        ),
        pytest.param(page_of(DOWN, members=(), flapping=True, changes=times(20, 15)), 5, id="settling"),
    ],
)
def test_how_long_something_failed(page, minutes):
    assert failing_for(page, NOW) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("page", "said", "expected"),
    [
        pytest.param(page_of(DOWN, opened=ago(seconds=119)), NOBODY, False, id="too young"),
        pytest.param(page_of(DOWN, opened=ago(seconds=120)), NOBODY, True, id="old enough"),
        pytest.param(over(DOWN, opened=ago(hours=5), closed=ago(hours=5, seconds=-30)), NOBODY, False, id="a blip"),
        pytest.param(page_of(DOWN, opened=ago(seconds=1)), Said(notes=[note()]), True, id="a person spoke"),
        pytest.param(
            page_of(DOWN, opened=ago(seconds=1)),
            Said(overrides=[override(Level.MAJOR, page_id="a1b2")]),
            True,
            id="a person judged",
        ),
    ],
)
def test_from_when_on_it_shows(page, said, expected):
    assert shows(page, said, 120.0, NOW) is expected


@pytest.mark.parametrize(
    ("page", "incidents", "said", "phases"),
    [
        pytest.param(page_of(DOWN), [DOWN], NOBODY, "investigating", id="open"),
        pytest.param(
            page_of(DOWN, acked_by="kim", acked_at=ago(minutes=4)),
            [DOWN],
            NOBODY,
            "investigating identified",
            id="acked",
        ),
        pytest.param(page_of(CALM), [CALM], NOBODY, "investigating monitoring", id="its checks pass again"),
        pytest.param(
            page_of(DOWN, members=(), flapping=True, changes=times(20, 5)),
            [],
            NOBODY,
            "investigating monitoring",
            id="settling",
        ),
        pytest.param(over(DOWN), [], NOBODY, "investigating resolved", id="over"),
        pytest.param(
            over(DOWN), [], Said(notes=[note()]), "investigating resolved resolved", id="a note after its end"
        ),
        pytest.param(
            over(DOWN),
            [],
            Said(notes=[note(at=ago(minutes=9))]),
            "investigating investigating resolved",
            id="a note before it",
        ),
        pytest.param(
            page_of(DOWN, opened=ago(minutes=5), began_at=ago(minutes=50), changes=times(50, 40, 5)),
            [DOWN],
            NOBODY,
            "investigating investigating",
            id="it came back: one entry",
        ),
    ],
)
def test_phases(page, incidents, said, phases):
    found = published(page, incidents, said, content=False)
    assert [update.phase.value for update in found.updates] == phases.split()
    assert found.phase.value == phases.split()[-1]
    assert [update.at for update in found.updates] == sorted(update.at for update in found.updates)
    assert len({update.id for update in found.updates}) == len(found.updates)
    assert (found.phase is Phase.RESOLVED) is (found.resolved_at is not None)


def test_ids_of_updates_stay_when_more_come():
    before = published(page_of(DOWN), [DOWN], Said(notes=[note()]), content=False)
    after = published(
        over(DOWN, opened=ago(minutes=12), closed=ago(minutes=1)), [], Said(notes=[note()]), content=False
    )
    assert [each.id for each in after.updates][:2] == [each.id for each in before.updates]


@pytest.mark.parametrize(("content", "said"), [(False, False), (True, True)])
def test_the_finding_itself_is_told_where_it_is_asked_for(content, said):
    shown = published(page_of(DOWN), [DOWN], NOBODY, content=content)
    text = shown.text(shown.updates[0])
    assert (DOWN.finding.message in text) is said
    assert text.startswith("Answers pause")


def test_it_says_where():
    found = published(page_of(DOWN), [DOWN], NOBODY, content=False)
    assert found.title == "Answers pause for so long that connections time out: chat"
    assert found.places == (("chat", "vllm"), ("chat", "edge"))
    assert found.text(found.updates[0]).endswith("Seen at: edge, vllm.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain 한국어", "plain 한국어", id="plain"),
        pytest.param("a\x00\x1b[2J\u202eb\nc", "a��[2J�b�c", id="controls"),
        pytest.param("x" * (LONGEST + 5), "x" * LONGEST + "…", id="long"),
        pytest.param("\ud800", "�", id="half a character"),
    ],
)
def test_what_is_spoken(text, expected):
    assert spoken(text) == expected
