"""Incidents, pages and transitions after a restart; and who was not told, and why."""

import pytest

from canary.core.conclusion import Conclusion
from canary.core.incident import Event, State
from canary.core.notification import Reason, Withheld
from tests.fakes.stored import NOON, after, conclusion_of, incident_of, page_of, run_of, transition_of


async def test_what_a_run_changed_is_there_after_it(store):
    conclusion = conclusion_of()
    await store.save_run(run_of("r1"), conclusion, quiet=False)
    assert await store.incidents() == conclusion.incidents
    assert await store.incident("i1") == conclusion.incidents[0]
    assert await store.pages() == conclusion.pages
    assert await store.page("p1") == conclusion.pages[0]
    assert await store.transitions() == conclusion.transitions


async def test_without_a_run_too(store):
    conclusion = conclusion_of()
    await store.save_conclusion(conclusion)
    await store.save_conclusion(conclusion)
    assert await store.incidents() == conclusion.incidents
    assert await store.transitions() == conclusion.transitions
    assert await store.queue_depth() == 1


async def test_nothing_is_there(store):
    assert await store.incident("i1") is None
    assert await store.page("p1") is None
    assert (await store.incidents(), await store.pages(), await store.transitions()) == ((), (), ())


async def test_an_incident_that_is_over_is_no_longer_among_those_open(store):
    over = incident_of(state=State.OK, since=after(hours=2))
    await store.save_conclusion(conclusion_of())
    await store.save_conclusion(Conclusion(incidents=(over,)))
    assert await store.incidents() == ()
    assert await store.incident("i1") == over
    assert await store.incidents(since=after(hours=1)) == (over,)
    assert await store.incidents(since=after(hours=3)) == ()


@pytest.mark.parametrize("state", [State.PENDING, State.FIRING, State.RECOVERING])
async def test_open_is_every_state_but_ok(store, state):
    await store.save_conclusion(Conclusion(incidents=(incident_of(state=state),)))
    assert [each.state for each in await store.incidents(since=after(days=9))] == [state]


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        pytest.param(after(minutes=10), ["open", "late"], id="resolved before are not"),
        pytest.param(after(minutes=5), ["open", "early", "late"], id="inclusive"),
        pytest.param(after(days=1), ["open"], id="open ones always"),
        pytest.param(None, ["open"], id="by default an hour of now, which is long after"),
    ],
)
async def test_pages_are_the_open_ones_and_those_resolved_since(store, since, expected):
    pages = (
        page_of("open"),
        page_of("early", opened_at=after(minutes=1), resolved_at=after(minutes=5)),
        page_of("late", opened_at=after(minutes=2), resolved_at=after(minutes=15)),
    )
    await store.save_conclusion(Conclusion(pages=pages))
    assert [page.id for page in await store.pages(since=since)] == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({}, ["a", "b", "a"], id="all, newest last"),
        pytest.param({"since": after(minutes=1)}, ["b", "a"], id="since, inclusive"),
        pytest.param({"incident_id": "a"}, ["a", "a"], id="of an incident"),
        pytest.param({"pipeline": "chat", "most": 1}, ["a"], id="the newest of a pipeline"),
        pytest.param({"pipeline": "other"}, [], id="of another"),
    ],
)
async def test_transitions_are_found_by(store, asked, expected):
    transitions = (
        transition_of("a"),
        transition_of("b", after(minutes=1)),
        transition_of("a", after(minutes=2), event=Event.PASSED_ENOUGH),
    )
    await store.save_conclusion(Conclusion(transitions=transitions))
    assert [each.incident_id for each in await store.transitions(**asked)] == expected


async def test_who_was_not_told_is_kept_once_for_each_reason_and_counted(store):
    def silenced(at, receiver="slack", reason=Reason.SILENCED):
        return Withheld(page_id="p1", receiver=receiver, reason=reason, at=at, until=after(hours=2))

    await store.save_conclusion(Conclusion(withheld=(silenced(NOON), silenced(NOON, None, Reason.NO_ROUTE))))
    await store.save_conclusion(Conclusion(withheld=(silenced(after(minutes=5)),)))
    await store.save_conclusion(Conclusion(withheld=(silenced(after(minutes=9)),)))

    found = await store.withheld("p1")
    assert [(each.withheld, each.first_at, each.times) for each in found] == [
        (silenced(NOON, None, Reason.NO_ROUTE), NOON, 1),
        (silenced(after(minutes=9)), NOON, 3),
    ]
    assert await store.withheld("p2") == ()
