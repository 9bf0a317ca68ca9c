from dataclasses import replace

from canary.core.conclusion import Conclusion
from canary.core.incident import State
from tests.fakes.stored import NOON, after, conclusion_of, incident_of, page_of, run_of


async def test_a_page_with_all_that_belongs_to_it(store):
    await store.save_run(run_of("r1"), conclusion_of("r1"), quiet=True)
    left = incident_of("i2", state=State.OK, since=after(minutes=5))
    other = replace(incident_of("i3", since=after(minutes=5)), cause="another")
    await store.save_conclusion(Conclusion(incidents=(left, other)))
    found = await store.case("p1")
    assert found.page == page_of()
    assert {each.id for each in found.incidents} == {"i1", "i2"}  # one fires, one has left; none of another cause
    assert [each.incident_id for each in found.transitions] == ["i1"]
    assert [each.notification.id for each in found.deliveries] == ["n1"]
    assert await store.case("nobody") is None


async def test_an_incident_of_another_time_is_not_on_it(store):
    over = page_of(resolved_at=after(minutes=10), members=())
    early, late = incident_of("e", since=after(minutes=-1)), incident_of("l", since=after(minutes=11))
    await store.save_conclusion(Conclusion(pages=(over,), incidents=(early, incident_of("i"), late)))
    assert [each.id for each in (await store.case("p1")).incidents] == ["i"]


async def test_recent_pages(store):
    mine = [
        page_of("old", after(days=-9), resolved_at=after(days=-8), pipelines=("chat",)),
        page_of("over", after(hours=-3), resolved_at=after(hours=-1), pipelines=("chat", "b_c")),
        page_of("open", after(days=-20), pipelines=("chat",)),
        page_of("other", NOON, pipelines=("chat2",)),
    ]
    await store.save_conclusion(Conclusion(pages=tuple(mine)))
    ids = lambda pages: [page.id for page in pages]  # noqa: E731
    assert ids(await store.recent_pages(after(hours=-2), pipeline="chat")) == ["over", "open"]
    assert ids(await store.recent_pages(after(hours=-2))) == ["other", "over", "open"]
    assert ids(await store.recent_pages(after(hours=-2), most=1)) == ["other"]
    assert ids(await store.recent_pages(after(hours=-2), pipeline="b%c")) == []  # a name is no pattern
    assert ids(await store.recent_pages(after(hours=-2), pipeline="b_c")) == ["over"]
