"""Silences and deploys."""

import pytest

from canary.core.deploy import Deploy
from canary.core.route import Match, Silence
from tests.fakes.stored import NOON, after


def silence(name, begins=NOON, ends=None):
    match = Match(labels={"env": "prod"}, check="budget")
    ends = ends or after(hours=2)
    return Silence(id=name, match=match, starts_at=begins, ends_at=ends, author="kim", comment="deploy \0")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(after(hours=-1), ["soon", "now", "later"], id="before all"),
        pytest.param(after(minutes=30), ["now", "later"], id="one is over: its end is not within"),
        pytest.param(after(days=2), [], id="after all"),
    ],
)
async def test_those_that_are_not_over(store, now, expected):
    all_of_them = (
        silence("later", after(hours=5), after(hours=9)),
        silence("now"),
        silence("soon", ends=after(minutes=30)),
    )
    for each in all_of_them:
        await store.add_silence(each)
    assert [each.id for each in await store.silences(now)] == expected


async def test_a_silence_comes_back_as_it_was(store):
    await store.add_silence(silence("s"))
    assert await store.silences(NOON) == (silence("s"),)


@pytest.mark.parametrize(
    ("at", "ends"),
    [
        pytest.param(after(hours=1), after(hours=1), id="while it lasts"),
        pytest.param(after(hours=3), after(hours=2), id="when it is over it stays as it was"),
        pytest.param(after(hours=-1), after(hours=-1), id="before it begins"),
    ],
)
async def test_ending_one(store, at, ends):
    await store.add_silence(silence("s"))
    assert (await store.end_silence("s", at)).ends_at == ends
    assert await store.silences(max(at, ends)) == ()


async def test_ending_one_that_is_not_there(store):
    assert await store.end_silence("s", NOON) is None


async def test_deploys_since(store):
    first, second = Deploy(at=NOON, text="vLLM 0.23 \ud800"), Deploy(at=after(hours=1), text="t", pipeline="chat")
    await store.add_deploy(second)
    await store.add_deploy(first)
    assert await store.deploys(NOON) == (first, second)
    assert await store.deploys(after(minutes=1)) == (second,)
