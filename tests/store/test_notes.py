"""Notes on pages and overrides of levels."""

from dataclasses import replace

import pytest

from canary.core.status import Level, Note, Override
from tests.fakes.stored import NOON, after, conclusion_of, run_of


def note(page_id, at=NOON, text="We have found the cause."):
    return Note(page_id=page_id, at=at, text=text, author="kim")


def override(name, ends=None, at=NOON):
    ends = ends or after(hours=2)
    return Override(id=name, level=Level.PARTIAL, at=at, ends_at=ends, author="kim", pipeline="chat")


async def test_notes_come_back_in_order(store):
    for each in (note("p2", after(minutes=2)), note("p1"), note("p3"), note("p1", after(minutes=1), "It is over.\0")):
        await store.add_note(each)
    found = await store.notes(["p1", "p2"])
    assert [(each.page_id, each.text) for each in found] == [
        ("p1", "We have found the cause."),
        ("p1", "It is over.\0"),
        ("p2", "We have found the cause."),
    ]
    assert await store.notes([]) == ()


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        pytest.param(after(hours=-1), ["short", "long"], id="before"),
        pytest.param(after(minutes=30), ["long"], id="one is over: its end is not within"),
        pytest.param(after(days=2), [], id="after all"),
    ],
)
async def test_overrides_that_were_not_over(store, since, expected):
    await store.add_override(override("long", at=after(minutes=1)))
    await store.add_override(override("short", after(minutes=30)))
    assert [each.id for each in await store.overrides(since)] == expected


async def test_an_override_comes_back_as_it_was(store):
    await store.add_override(override("o"))
    assert await store.overrides(NOON) == (override("o"),)


@pytest.mark.parametrize(
    ("at", "ends"),
    [
        pytest.param(after(hours=1), after(hours=1), id="while it holds"),
        pytest.param(after(hours=3), after(hours=2), id="when it is over it stays as it was"),
    ],
)
async def test_ending_one(store, at, ends):
    await store.add_override(override("o"))
    assert await store.end_override("o", at) == replace(override("o"), ends_at=ends)
    assert await store.end_override("another", at) is None


async def test_notes_go_with_their_page_and_overrides_with_time(store):
    await store.save_run(run_of("r1"), conclusion_of(), quiet=True)
    (page,) = await store.pages()
    await store.add_note(note(page.id))
    await store.add_note(note("gone"))
    await store.add_override(override("old"))
    await store.add_override(override("new", after(days=300)))
    await store.prune(after(days=200))
    assert [each.page_id for each in await store.notes([page.id, "gone"])] == [page.id]
    assert [each.id for each in await store.overrides(NOON)] == ["new"]


async def test_a_case_has_its_notes(store):
    await store.save_run(run_of("r1"), conclusion_of(), quiet=True)
    (page,) = await store.pages()
    await store.add_note(note(page.id))
    assert (await store.case(page.id)).notes == (note(page.id),)
