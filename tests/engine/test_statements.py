"""What people say over HTTP, and how often the store is asked for it."""

from datetime import timedelta

import pytest

from canary.core.spec import Pipeline, Plan
from canary.core.status import Level
from canary.engine.archive import Archive
from canary.engine.state import Known
from canary.engine.statements import READ_EVERY_S, Statements
from canary.web.actions import Done, Refusal, Refused, Word
from tests.fakes.clocks import START
from tests.fakes.stored import conclusion_of, run_of


@pytest.fixture
async def said(store, time):
    known = Known(plan=Plan(pipelines=(Pipeline(name="chat", hops=()),)), started_at=START)
    await store.save_run(run_of("r1", START), conclusion_of(), quiet=True)
    return Statements(known=known, archive=Archive(store=store), clocks=time.clocks)


def word(**more):
    return Word(**({"level": Level.PARTIAL, "duration_s": 3600.0, "author": "kim"} | more))


async def page_of(store):
    (page,) = await store.pages()
    return page.id


async def test_a_note(said, store, time):
    page_id = await page_of(store)
    assert await said.note(page_id, "We look into it.", "kim") == Done(message="noted")
    (note,) = (await said.chronicle()).notes
    assert (note.page_id, note.text, note.author, note.at) == (page_id, "We look into it.", "kim", time.wall)


async def test_overrides(said, store, time):
    page_id = await page_of(store)
    assert isinstance(await said.override(word(pipeline="chat")), Done)
    made = await said.override(word(page_id=page_id, level=Level.OPERATIONAL))
    assert made.message == "operational until 2026-03-02 13:00 UTC"
    found = (await said.chronicle()).overrides
    assert {(each.pipeline, each.page_id, each.ends_at - each.at) for each in found} == {
        ("chat", None, timedelta(hours=1)),
        (None, page_id, timedelta(hours=1)),
    }
    time.go(60)
    assert isinstance(await said.end(made.ids[0]), Done)
    assert [each.pipeline for each in (await said.chronicle()).overrides if each.holds(time.wall)] == ["chat"]


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda said: said.note("nothing", "x", "kim"), id="a note on no page"),
        pytest.param(lambda said: said.override(word(pipeline="nothing")), id="no pipeline"),
        pytest.param(lambda said: said.override(word(page_id="nothing")), id="no page"),
        pytest.param(lambda said: said.end("nothing"), id="no override"),
    ],
)
async def test_what_is_not_there(said, store, ask):
    assert (await ask(said)).why is Refusal.NOT_FOUND
    store.away = "locked"
    answer = await ask(said)
    assert isinstance(answer, Refused)
    assert answer.why in {Refusal.UNAVAILABLE, Refusal.NOT_FOUND}  # the plan knows its pipelines without the store


async def test_the_store_is_asked_once_in_a_while(said, store, time):
    first = await said.chronicle()
    asked = len(store.calls)
    for _ in range(50):
        assert await said.chronicle() is first
    assert len(store.calls) == asked
    time.go(READ_EVERY_S)
    assert await said.chronicle() is first, "nothing new is the same"
    assert len(store.calls) > asked


async def test_without_the_store_the_last_is_shown(said, store, time):
    first = await said.chronicle()
    assert first.pages
    store.away = "unreachable"
    time.go(READ_EVERY_S)
    assert await said.chronicle() is first
