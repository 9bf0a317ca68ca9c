"""Earlier answers by series, newest last; the newest of each; and all of a span."""

from dataclasses import replace

import pytest

from canary.analysis.remember import past_of
from canary.core.run import CutShort
from canary.core.verdict import Status
from tests.fakes.stored import NOON, NOTHING, after, conclusion_of, fill, result_of, run_of

FAIL, PASS = Status.FAIL, Status.PASS


async def save(store, *runs):
    for run in runs:
        await store.save_run(run, NOTHING, quiet=True)


async def test_a_past_is_what_was_remembered_of_the_run(store):
    results = (result_of(hop="vllm", status=PASS), result_of("vllm-chat-budget16", hop="litellm", variant="budget"))
    run = run_of("r1", results=results)
    await store.save_run(run, NOTHING, quiet=False)
    assert await store.history("chat", "heavy") == {
        (each.hop, each.variant): (past_of(run, each, quiet=False),) for each in results
    }


async def test_history_is_of_one_probe_and_newest_last(store):
    await save(store, run_of("b", after(minutes=1)), run_of("a"), run_of("x", probe="tiny"), run_of("y", pipeline="p"))
    found = await store.history("chat", "heavy")
    assert {place: [past.run_id for past in pasts] for place, pasts in found.items()} == {
        ("litellm", "plain"): ["a", "b"],
        ("vllm", "plain"): ["a", "b"],
    }
    assert await store.history("nobody", "heavy") == {}


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param([PASS] * 5, [2, 3, 4], id="clean: the newest"),
        pytest.param([PASS, PASS, PASS, PASS, FAIL, FAIL], [1, 2, 3, 4, 5], id="rare: older clean ones are added"),
        pytest.param([PASS, FAIL, FAIL, FAIL, FAIL], [0, 2, 3, 4], id="none clean of the newest"),
        pytest.param([FAIL, FAIL, FAIL, FAIL], [1, 2, 3], id="none clean at all"),
    ],
)
async def test_an_incident_does_not_push_out_what_healthy_was(store, statuses, expected):
    runs = [run_of(f"{n}", after(minutes=n), status=status, hops=("vllm",)) for n, status in enumerate(statuses)]
    await save(store, *runs)
    (pasts,) = (await store.history("chat", "heavy", most=3)).values()
    assert [int(past.run_id) for past in pasts] == expected


async def test_latest_is_what_the_newest_run_of_each_probe_showed(store):
    """What it asked no more, like a budget that left the config or a second try, is not shown either."""
    old = run_of("old", results=(result_of(), result_of(variant="budget")), finished_at=after(seconds=30))
    new = run_of("new", after(minutes=1), results=(result_of("vllm-chat-budget16"),), finished_at=after(minutes=2))
    await save(store, new, old, run_of("x", probe="tiny", hops=("vllm",), finished_at=None))
    found = {(each.probe, each.variant): each for each in await store.latest()}
    assert {place: (each.run_id, each.at) for place, each in found.items()} == {
        ("heavy", "plain"): ("new", after(minutes=2)),
        ("tiny", "plain"): ("x", NOON),
    }
    assert found["heavy", "plain"].measurement == new.results[0].measurement
    assert found["heavy", "plain"].verdicts == new.results[0].verdicts


async def test_nothing_of_a_run_that_was_cut_short_is_the_latest(store):
    whole = run_of("whole", hops=("vllm", "litellm"))
    cut = run_of("cut", after(minutes=1), hops=("vllm",), cut_short=CutShort.SHUTDOWN)
    await save(store, whole, cut, run_of("x", probe="tiny", cut_short=CutShort.DEADLINE))
    assert [(each.run_id, each.hop) for each in await store.latest()] == [("whole", "vllm"), ("whole", "litellm")]


async def test_nothing_was_ever_asked(store):
    assert await store.latest() == ()
    assert [answer async for answer in store.answers(NOON, after(days=1))] == []


async def test_answers_are_those_of_the_span_series_by_series(store):
    runs = [run_of(f"r{n}", after(minutes=n), status=FAIL if n == 2 else PASS) for n in range(5)]
    await save(store, *runs, run_of("x", after(minutes=2), pipeline="other", hops=("vllm",)))
    found = [each async for each in store.answers(after(minutes=1), after(minutes=4), pipeline="chat", probe="heavy")]
    assert [(each.hop, each.past.run_id, each.status) for each in found] == [
        (hop, f"r{n}", FAIL if n == 2 else PASS) for hop in ("vllm", "litellm") for n in (1, 2, 3)
    ]
    everywhere = [each.pipeline async for each in store.answers(NOON, after(days=1))]
    assert everywhere == ["chat"] * 10 + ["other"]


async def test_answers_of_many_at_one_moment_are_each_given_once(store):
    await fill(store, 1234, hops=("vllm",), every_s=0.0)
    found = [each.past.run_id async for each in store.answers(NOON, after(days=1))]
    assert len(found) == 1234
    assert len(set(found)) == 1234


async def test_an_answer_of_a_run_cut_short_is_no_example(store):
    await save(store, run_of("r1", hops=("vllm",), cut_short=CutShort.DEADLINE))
    (pasts,) = (await store.history("chat", "heavy")).values()
    assert [past.clean for past in pasts] == [False]


async def test_a_measurement_that_cannot_be_read_is_not_known(store):
    """A row of another version must not keep the daemon from starting."""
    odd = replace(result_of().measurement, end=None)
    await save(store, run_of("r1", results=(replace(result_of(), measurement=odd),)), run_of("r2", probe="tiny"))
    assert {each.run_id for each in await store.latest()} == {"r2"}
    assert len(await store.history("chat", "heavy")) == 1


async def test_history_after_a_conclusion_with_incidents(store):
    await store.save_run(run_of("r1", status=FAIL), conclusion_of(), quiet=False)
    assert all(not past.clean for pasts in (await store.history("chat", "heavy")).values() for past in pasts)
