"""At least once, in order, to everybody: the outbox over a real SQLite, with the time passed in."""

import asyncio
from datetime import timedelta

import pytest

from canary.core.conclusion import Conclusion
from canary.core.metrics import Sending
from canary.core.notification import Rejected, RetryLater, Sent
from canary.engine.archive import Archive, Entry
from canary.engine.dispatch import FIRST_DELAY_S, GIVE_UP_S, LONGEST_DELAY_S, Dispatcher, delay_s
from tests.fakes.stored import notification_of


class Receivers:
    """`answers`: by receiver, what it says to each attempt; after that it takes everything."""

    def __init__(self, archive, time):
        self.taken, self.tried, self.told, self.failures = [], [], [], []
        self.answers = {}
        self.time = time
        self.dispatcher = Dispatcher(
            archive=archive,
            deliver=self._deliver,
            told=lambda notification, sending, why: self.told.append((notification.id, sending, why)),
            failed=self.failures.append,
            now=lambda: time.wall,
            steady=lambda: time.steady_s,
        )

    async def _deliver(self, notification, handle):
        self.tried.append(notification.id)
        answers = self.answers.get(notification.receiver, [])
        answer = answers.pop(0) if answers else Sent(handle=f"handle of {notification.page_id}")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Sent):
            self.taken.append((notification.id, handle))
            self.last = notification
        return answer

    async def decide(self, *notifications):
        """As the cycle does it: known, offered, saved."""
        self.dispatcher.offer(notifications)
        await self.dispatcher.archive.save(Entry(conclusion=Conclusion(notifications=notifications)))

    @property
    def names(self):
        return [name for name, _ in self.taken]


@pytest.fixture
def archive(store):
    return Archive(store=store)


@pytest.fixture
def receivers(archive, time):
    return Receivers(archive, time)


def told(name, time, *, page="p1", receiver="slack", later_s=0.0):
    at = time.wall + timedelta(seconds=later_s)
    return notification_of(name, page_id=page, receiver=receiver, at=at)


async def test_it_is_marked_after_it_was_taken_and_never_told_again(receivers, store, time):
    await receivers.decide(told("n1", time))
    await receivers.dispatcher.flush()
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"]
    (row,) = await store.deliveries("p1")
    assert row.sent_at == time.wall
    assert receivers.told == [("n1", Sending.SENT, "")]
    assert receivers.dispatcher.waiting == {}


async def test_the_next_of_a_page_comes_after_the_one_before_with_its_handle(receivers, time):
    await receivers.decide(told("n1", time), told("n2", time, later_s=1))
    receivers.answers["slack"] = [RetryLater(why="503")]
    await receivers.dispatcher.flush()
    assert receivers.tried == ["n1"], "n2 must not overtake it"
    time.go(60.0)
    await receivers.dispatcher.flush()
    await receivers.dispatcher.flush()
    assert receivers.taken == [("n1", None), ("n2", "handle of p1")]


async def test_receivers_do_not_wait_for_each_other(receivers, time):
    await receivers.decide(told("n1", time), told("n2", time, receiver="pd"))
    receivers.answers["slack"] = [RetryLater(why="down")] * 3
    await receivers.dispatcher.flush()
    assert receivers.names == ["n2"]


async def test_a_receiver_that_refuses_is_left_alone_for_a_while(receivers, time):
    await receivers.decide(told("n1", time), told("n2", time, page="p2"))
    receivers.answers["slack"] = [RetryLater(why="429", after_s=30.0)]
    await receivers.dispatcher.flush()
    time.go(20.0)
    await receivers.dispatcher.flush()
    assert receivers.tried == ["n1"]
    time.go(12.0)
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1", "n2"]


async def test_what_will_never_be_taken_is_a_dead_letter_and_the_rest_goes_on(receivers, store, time):
    await receivers.decide(told("n1", time), told("n2", time, later_s=1))
    receivers.answers["slack"] = [Rejected(why="invalid_auth")]
    await receivers.dispatcher.flush()
    time.go(1.0)
    await receivers.dispatcher.flush()
    assert receivers.names == ["n2"]
    assert [(letter.notification.id, letter.why) for letter in await store.dead_letters()] == [("n1", "invalid_auth")]
    assert receivers.told[0] == ("n1", Sending.DEAD, "invalid_auth")


async def test_after_a_day_it_is_given_up(receivers, store, time):
    await receivers.decide(told("n1", time))
    receivers.answers["slack"] = [RetryLater(why="down")] * 1000
    tries = 0
    while receivers.dispatcher.waiting:
        await receivers.dispatcher.flush()
        time.go(450.0)
        tries += 1
    assert tries * 450 == pytest.approx(GIVE_UP_S, rel=0.02)
    assert 60 < len(receivers.tried) < 150, "doubling to a quarter of an hour"
    (letter,) = await store.dead_letters()
    assert letter.why == "not taken for a day, at last: down"


async def test_an_exception_in_a_notifier_is_ours_and_costs_no_page(receivers, time):
    await receivers.decide(told("n1", time))
    receivers.answers["slack"] = [ZeroDivisionError()]
    await receivers.dispatcher.flush()
    assert [type(error) for error in receivers.failures] == [ZeroDivisionError]
    time.go(10.0)
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"]


async def test_a_restart_neither_repeats_nor_forgets(receivers, archive, time):
    await receivers.decide(told("n1", time), told("n2", time, receiver="pd"), told("n3", time, later_s=1))
    receivers.answers["pd"] = [RetryLater(why="down")]
    await receivers.dispatcher.flush()
    again = Receivers(Archive(store=archive.store), time)
    time.go(60.0)
    await again.dispatcher.flush()
    assert sorted(again.names) == ["n2", "n3"]
    assert dict(again.taken)["n3"] == "handle of p1"


async def test_a_dead_store_silences_nobody_and_says_so(receivers, store, time):
    store.away = "unreachable"
    await receivers.decide(told("n1", time))
    await receivers.dispatcher.flush()
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"], "once"
    assert receivers.last.message.notes == (
        "History could not be written (the database is unreachable), so this may be told twice.",
    )
    store.away = None
    await receivers.dispatcher.archive.catch_up()
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"]
    (row,) = await store.deliveries("p1")
    assert row.sent_at is not None


async def test_a_store_that_reads_but_cannot_mark_does_not_page_for_ever(receivers, store, time):
    await receivers.decide(told("n1", time))
    store.away, store.reads = "full", True
    for _ in range(5):
        await receivers.dispatcher.flush()
        time.go(60.0)
    assert receivers.names == ["n1"]
    store.away = None
    await receivers.dispatcher.archive.catch_up()
    await receivers.dispatcher.flush()
    (row,) = await store.deliveries("p1")
    assert row.sent_at is not None
    assert receivers.names == ["n1"]


HOUR = 3600.0


@pytest.mark.parametrize("jump_s", [HOUR, -HOUR, -48 * HOUR], ids=str)
async def test_a_wall_clock_that_is_set_holds_no_page_and_gives_none_up(receivers, time, jump_s):
    await receivers.decide(told("n1", time))
    receivers.answers["slack"] = [RetryLater(why="down"), RetryLater(why="down")]
    await receivers.dispatcher.flush()
    time.set_wall(jump_s)
    await receivers.decide(told("n2", time, page="p2"), told("n3", time, page="p3", receiver="pd"))
    await receivers.dispatcher.flush()
    assert receivers.names == ["n3"], "the one that refused is left alone for as long as before"
    time.go(7.0)
    await receivers.dispatcher.flush()
    time.go(20.0)
    await receivers.dispatcher.flush()
    assert sorted(receivers.names) == ["n1", "n2", "n3"]


async def test_what_was_decided_first_is_told_first_whatever_the_clock_said(receivers, time):
    """The end of a page is stamped before its beginning, and the receiver hears of both later."""
    receivers.answers["slack"] = [RetryLater(why="down")]
    await receivers.decide(told("opened", time))
    await receivers.dispatcher.flush()
    time.set_wall(-HOUR)
    await receivers.decide(told("resolved", time))
    time.go(60.0)
    for _ in range(2):
        await receivers.dispatcher.flush()
    assert receivers.names == ["opened", "resolved"]


async def test_after_a_restart_a_wait_is_no_longer_than_it_ever_was(receivers, archive, time):
    """It was to be told in some seconds, by a clock that has been set back by two days since."""
    receivers.answers["slack"] = [RetryLater(why="down", after_s=10.0)]
    await receivers.decide(told("n1", time))
    await receivers.dispatcher.flush()
    time.set_wall(-48 * HOUR)
    again = Receivers(Archive(store=archive.store), time)
    await again.decide(told("n2", time, page="p2"))
    await again.dispatcher.flush()
    assert again.names == ["n2"]
    time.go(HOUR + 2)
    await again.dispatcher.flush()
    assert again.names == ["n2", "n1"]


async def test_a_machine_that_slept_for_two_days_has_not_tried_for_a_day(receivers, store, time):
    await receivers.decide(told("n1", time))
    time.set_wall(48 * HOUR)
    receivers.answers["slack"] = [RetryLater(why="no network yet")]
    await receivers.dispatcher.flush()
    time.go(10.0)
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"]
    assert await store.dead_letters() == ()


async def test_a_page_of_before_the_store_went_away_is_told_from_memory(receivers, store, time):
    await receivers.decide(told("n1", time))
    receivers.answers["slack"] = [RetryLater(why="down")]
    await receivers.dispatcher.flush()
    store.away = "unreachable"
    time.go(60.0)
    await receivers.dispatcher.flush()
    assert receivers.names == ["n1"]


async def test_the_loop_wakes_when_something_is_decided(receivers, time):
    loop = asyncio.create_task(receivers.dispatcher.run())
    taken = asyncio.Event()
    deliver = receivers.dispatcher.deliver

    async def delivering(notification, handle):
        delivery = await deliver(notification, handle)
        taken.set()
        return delivery

    receivers.dispatcher.deliver = delivering
    await receivers.decide(told("n1", time))
    async with asyncio.timeout(10):
        await taken.wait()
    receivers.dispatcher.close()
    await loop
    assert receivers.names == ["n1"]


async def test_what_waits_is_tried_at_once_after_a_reload(receivers, time):
    """It may have been the config that was wrong."""
    await receivers.decide(told("n1", time), told("n2", time, page="p2"))
    receivers.answers["slack"] = [RetryLater(why="the host's name is not known", after_s=600.0)]
    for _ in range(2):
        await receivers.dispatcher.flush()
    assert receivers.names == []
    receivers.dispatcher.hurry()
    await receivers.dispatcher.flush()
    assert sorted(receivers.names) == ["n1", "n2"]


async def test_what_waits_and_for_how_long(receivers, time):
    await receivers.decide(told("n1", time))
    assert not receivers.dispatcher.struggles
    receivers.answers["slack"] = [RetryLater(why="down")]
    await receivers.dispatcher.flush()
    time.go(30.0)
    assert receivers.dispatcher.struggles
    assert receivers.dispatcher.oldest_s() == 30.0


@pytest.mark.parametrize("name", ["n1", "n2", "n3"])
def test_delays_double_to_a_limit_with_a_jitter_of_their_own(name):
    delays = [delay_s(name, attempts) for attempts in range(1, 15)]
    assert delays == [delay_s(name, attempts) for attempts in range(1, 15)]
    for attempts, delay in enumerate(delays):
        assert 0.75 <= delay / min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**attempts) <= 1.25
    assert delay_s(name, 10_000) <= LONGEST_DELAY_S * 1.25


@pytest.mark.parametrize(
    ("wish_s", "attempts", "least", "most"),
    [
        pytest.param(30.0, 1, 30.0, 32.0, id="as asked"),
        pytest.param(30.0, 3, 30.0, 32.0, id="as asked again"),
        pytest.param(30.0, 8, 127.0, 129.0, id="it keeps on refusing"),
        pytest.param(1e9, 1, 900.0, 902.0, id="thirty years"),
        pytest.param(float("inf"), 1, 900.0, 902.0, id="for ever"),
        pytest.param(0.0, 1, 0.5, 2.0, id="at once"),
        pytest.param(0.0, 5, 15.0, 17.0, id="at once, it says each time"),
        pytest.param(0.0, 10_000, 900.0, 902.0, id="at once, it says for a day"),
    ],
)
def test_what_a_receiver_asks_for_is_kept_to_within_reason(wish_s, attempts, least, most):
    assert least <= delay_s("n1", attempts, wish_s) <= most


async def test_a_receiver_that_hangs_holds_up_nobody_else(archive, time):
    """Told of a second page while it still hears of the first: the other receiver hears of both meanwhile."""
    hears, lets_go, heard_twice, heard_all = (asyncio.Event() for _ in range(4))
    taken = []

    async def deliver(notification, _handle):
        if notification.receiver == "slow":
            hears.set()
            await lets_go.wait()
        taken.append(notification.id)
        if {"n2", "n4"} <= set(taken):
            heard_twice.set()
        if len(taken) == 4:
            heard_all.set()
        return Sent()

    dispatcher = Dispatcher(
        archive=archive,
        deliver=deliver,
        told=lambda *_: None,
        failed=lambda error: pytest.fail(str(error)),
        now=lambda: time.wall,
        steady=lambda: time.steady_s,
    )

    async def decide(*notifications):
        dispatcher.offer(notifications)
        await archive.save(Entry(conclusion=Conclusion(notifications=notifications)))

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(dispatcher.run())
        await decide(told("n1", time, receiver="slow"), told("n2", time))
        await hears.wait()
        await decide(told("n3", time, page="p2", receiver="slow"), told("n4", time, page="p2"))
        await heard_twice.wait()
        assert taken == ["n2", "n4"]
        lets_go.set()
        await heard_all.wait()
        dispatcher.close()
    assert taken[2:] == ["n1", "n3"]
