"""A row that cannot be read hides no other, stays as it is, and is named with its reason."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.incident import Incident, Page, Transition
from canary.core.notification import Notification, Reason, Withheld
from canary.core.route import Match, Silence
from canary.core.span import RANGES
from canary.core.status import Level, Note, Override
from canary.store import CodecError
from canary.store.codec import decode
from tests.fakes.stored import NOON, after, conclusion_of, incident_of, notification_of, page_of, run_of, transition_of

FUTURE = '{"written": "by a version to come"}'
GRAIN = next(iter(RANGES.values())).grain


def silence_of(silence_id):
    return Silence(id=silence_id, match=Match(), starts_at=NOON, ends_at=after(hours=1), author="a", comment="c")


def override_of(override_id):
    return Override(id=override_id, level=Level.MAJOR, at=NOON, ends_at=after(hours=1), author="a")


async def fill(store):
    """Two of everything; the first of each is the one to be damaged."""
    await store.save_run(run_of("r1"), conclusion_of("r1"), quiet=True)
    two = Conclusion(
        incidents=(incident_of("i2", since=after(minutes=1)),),
        pages=(page_of("p2", after(minutes=1), members=("i2",)),),
        transitions=(transition_of("i2", after(minutes=1)),),
        notifications=(notification_of("n2", page_id="p2", at=after(minutes=1)),),
        withheld=tuple(Withheld(page_id="p1", receiver=name, reason=Reason.SILENCED, at=NOON) for name in "ab"),
    )
    await store.save_run(run_of("r2", after(minutes=1)), two, quiet=True)
    for n in (1, 2):
        await store.add_silence(silence_of(f"s{n}"))
        await store.add_override(override_of(f"o{n}"))
        await store.add_deploy(Deploy(at=after(minutes=n), text=f"d{n}"))
        await store.add_note(Note(page_id="p1", at=after(minutes=n), text=f"t{n}", author="a"))


async def broken(store, statement):
    async with store.database.writing() as connection:
        await connection.exec_driver_sql(statement)


def noted(store):
    return {(row.table, row.key) for row in store.aside.rows}


async def answers(store):
    return [each.past.run_id async for each in store.answers(NOON, after(days=1))]


async def history(store):
    return {past.run_id for pasts in (await store.history("chat", "heavy")).values() for past in pasts}


async def ids(asking):
    return [each.id for each in await asking]


async def of_case(store, noun):
    return len(getattr(await store.case("p1"), noun))


BODY = f"SET body = '{FUTURE}'"
READERS = [
    pytest.param(f"incidents {BODY} WHERE id = 'i1'", lambda s: ids(s.incidents()), ["i2"], "i1", id="incidents"),
    pytest.param(f"pages {BODY} WHERE id = 'p1'", lambda s: ids(s.pages(since=NOON)), ["p2"], "p1", id="pages"),
    pytest.param(f"pages {BODY} WHERE id = 'p1'", lambda s: ids(s.recent_pages(NOON)), ["p2"], "p1", id="recent pages"),
    pytest.param(f"silences {BODY} WHERE id = 's1'", lambda s: ids(s.silences(NOON)), ["s2"], "s1", id="silences"),
    pytest.param(f"overrides {BODY} WHERE id = 'o1'", lambda s: ids(s.overrides(NOON)), ["o2"], "o1", id="overrides"),
    pytest.param(
        "runs SET status = 'GREAT' WHERE id = 'r1'", lambda s: ids(s.runs()), ["r2"], "r1", id="a run's status"
    ),
    pytest.param("runs SET findings = '7' WHERE id = 'r1'", lambda s: ids(s.runs()), ["r2"], "r1", id="findings"),
]


@pytest.mark.parametrize(("damage", "read", "left", "key"), READERS)
async def test_the_others_are_read(store, damage, read, left, key):
    await fill(store)
    await broken(store, f"UPDATE {damage}")
    assert await read(store) == left
    assert noted(store) == {(damage.split()[0], key)}
    await read(store)
    assert len(store.aside.rows) == 1, "once"


NUMBERED = [
    pytest.param("transitions", BODY, lambda s: s.transitions(), id="transitions"),
    pytest.param("deploys", BODY, lambda s: s.deploys(NOON), id="deploys"),
    pytest.param("notes", BODY, lambda s: s.notes(["p1"]), id="notes"),
]


@pytest.mark.parametrize(("table", "change", "read"), NUMBERED)
async def test_so_they_are_where_the_key_is_a_number(store, table, change, read):
    await fill(store)
    await broken(store, f"UPDATE {table} {change} WHERE id = (SELECT min(id) FROM {table})")
    assert len(await read(store)) == 1
    ((where, key),) = noted(store)
    assert (where, key.isdecimal()) == (table, True)


@pytest.mark.parametrize(
    "change",
    ["numbers = '[1]'", 'numbers = \'{"wait_s": "long"}\'', "numbers = '{'", "fingerprint = '7'"],
)
async def test_an_answer_that_cannot_be_read_is_compared_with_nothing(store, change):
    await fill(store)
    await broken(store, f"UPDATE results SET {change} WHERE run_id = 'r1'")
    assert await history(store) == {"r2"}
    assert set(await answers(store)) == {"r2"}
    assert {table for table, _ in noted(store)} == {"results"}


async def test_a_status_that_only_a_later_version_has(store):
    await fill(store)
    await broken(store, "UPDATE results SET status = 'GREAT' WHERE run_id = 'r1'")
    assert set(await answers(store)) == {"r2"}


@pytest.mark.parametrize("change", ["runs SET body = {}", "results SET place = 99"])
async def test_what_the_newest_run_showed_is_not_known(store, url, change):
    await fill(store)
    change = change.format("x'00'" if url.startswith("sqlite") else "'\\x00'")
    await broken(store, f"UPDATE {change}")
    assert await store.latest() == ()
    assert store.aside.rows


async def test_the_notification_behind_one_that_cannot_be_read(store):
    """Of another page at once; of the same page as soon as the first is given up, which keeps its reason."""
    await fill(store)
    await store.save_conclusion(Conclusion(notifications=(notification_of("n3"),)))
    await broken(store, f"UPDATE outbox {BODY} WHERE notification_id = 'n1'")
    assert [row.notification.id for row in await store.due(after(days=1))] == ["n2"]
    ((row),) = store.aside.rows
    assert (row.table, row.key) == ("outbox", "n1")
    await store.dead("n1", after(days=1), row.why)
    assert [row.notification.id for row in await store.due(after(days=1))] == ["n2", "n3"]
    assert [each.notification.id for each in await store.deliveries("p1")] == ["n3"]
    assert await store.dead_letters() == ()


async def test_who_was_not_told_for_a_reason_to_come(store):
    await fill(store)
    await broken(store, "UPDATE withheld SET reason = 'to_come' WHERE receiver = 'a'")
    assert [each.withheld.receiver for each in await store.withheld("p1")] == ["b"]


async def test_a_case_is_what_can_be_read_of_it(store):
    await fill(store)
    for table in ("transitions", "notes", "outbox", "incidents"):
        await broken(store, f"UPDATE {table} {BODY}")
    assert [await of_case(store, noun) for noun in ("transitions", "notes", "deliveries", "incidents")] == [0] * 4
    await broken(store, f"UPDATE pages {BODY}")
    with pytest.raises(CodecError, match="cannot be read: Page without id"):
        await store.case("p1")


async def test_a_span_counts_without_its_fingerprint(store):
    await fill(store)
    await broken(store, "UPDATE spans SET fingerprint = '7' WHERE fingerprint IS NOT NULL")
    spans = await store.spans("chat", "heavy", GRAIN, NOON - timedelta(hours=1))
    assert sum(span.counts.passed for span in spans) == 4
    assert {span.fingerprint for span in spans} == {None}
    assert {table for table, _ in noted(store)} == {"spans"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("kind", [Incident, Page, Transition, Notification, Silence, Deploy, Note, Override])
@given(text=st.text(max_size=40) | JSON.map(json.dumps))
def test_whatever_lies_there_it_is_the_rows_fault(kind, text):
    with pytest.raises(CodecError):
        decode(kind, text)
