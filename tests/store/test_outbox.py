"""The outbox: in order for each page and receiver, at least once, and nothing is forgotten."""

import pytest

from canary.core.conclusion import Conclusion
from canary.core.notification import Sent
from tests.fakes.stored import NOON, after, notification_of, run_of

LATER = after(minutes=5)


async def put(store, *notifications):
    await store.save_conclusion(Conclusion(notifications=notifications))


async def due(store, now=LATER, most=100):
    return [queued.notification.id for queued in await store.due(now, most)]


async def test_a_notification_comes_back_as_it_was(store):
    notification = notification_of()
    await put(store, notification)
    (queued,) = await store.due(NOON, 1)
    assert (queued.notification, queued.attempts, queued.handle) == (notification, 0, None)
    assert await store.next_due() == NOON


async def test_a_later_one_waits_for_the_earlier_one_of_its_page_and_receiver(store):
    await put(
        store,
        notification_of("a1", page_id="a"),
        notification_of("a2", page_id="a", at=after(minutes=1)),
        notification_of("b1", page_id="b"),
        notification_of("a1-mail", page_id="a", receiver="mail"),
    )
    assert await due(store) == ["a1", "b1", "a1-mail"]
    assert await due(store, most=2) == ["a1", "b1"]
    await store.postponed("a1", after(hours=1), "no answer")
    assert await due(store) == ["b1", "a1-mail"]
    await store.sent("a1", LATER, Sent(handle="h1"))
    assert await due(store) == ["a2", "b1", "a1-mail"]


async def test_after_a_dead_one_the_page_goes_on(store):
    await put(store, notification_of("a1"), notification_of("a2"))
    await store.dead("a1", LATER, "revoked token")
    assert await due(store) == ["a2"]
    (dead,) = await store.dead_letters()
    assert (dead.notification.id, dead.dead_at, dead.why, dead.attempts) == ("a1", LATER, "revoked token", 1)
    assert await store.dead_letters(after(hours=1)) == ()


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(after(seconds=29), [], id="before"),
        pytest.param(after(seconds=30), ["n1"], id="at its time"),
    ],
)
async def test_a_postponed_one_is_due_again(store, now, expected):
    await put(store, notification_of())
    await store.postponed("n1", after(seconds=30), "429")
    assert await due(store, now) == expected
    assert await store.next_due() == after(seconds=30)
    await store.postponed("n1", after(seconds=30), "429 \0\ud800")
    assert [queued.attempts for queued in await store.due(LATER, 1)] == [2]
    (delivered,) = await store.deliveries("p1")
    assert (delivered.why, delivered.due_at) == ("429 \ufffd?", after(seconds=30))


async def test_the_handle_of_the_last_sent_one_goes_with_the_next(store):
    await put(store, notification_of("a1"), notification_of("x1", receiver="mail"))
    await store.sent("a1", NOON, Sent(handle='{"ts": "1"}'))
    await put(store, notification_of("a2"), notification_of("b1", page_id="b"), notification_of("x2", receiver="mail"))
    assert {queued.notification.id: queued.handle for queued in await store.due(LATER, 9)} == {
        "a2": '{"ts": "1"}',
        "b1": None,
        "x1": None,
    }
    await store.sent("a2", NOON, Sent())
    await put(store, notification_of("a3"))
    assert {queued.notification.id: queued.handle for queued in await store.due(LATER, 9)}["a3"] == '{"ts": "1"}'


async def test_what_is_done_stays_done(store):
    await put(store, notification_of())
    await store.sent("n1", NOON, Sent())
    await store.dead("n1", LATER, "too late")
    await store.postponed("n1", LATER, "too late")
    await put(store, notification_of())
    await store.sent("never heard of", NOON, Sent())
    (delivered,) = await store.deliveries("p1")
    assert (delivered.sent_at, delivered.dead_at, delivered.due_at, delivered.attempts) == (NOON, None, None, 1)
    assert (await store.queue_depth(), await store.next_due(), await store.dead_letters()) == (0, None, ())


async def test_it_is_written_with_its_run_or_not_at_all(store):
    await store.save_run(run_of("r1"), Conclusion(notifications=(notification_of(),)), quiet=True)
    await store.save_run(run_of("r1"), Conclusion(notifications=(notification_of("n2"),)), quiet=True)
    assert await due(store) == ["n1"]
    assert await store.queue_depth() == 1
