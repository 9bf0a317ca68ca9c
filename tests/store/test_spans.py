from dataclasses import replace
from datetime import timedelta

import pytest

from canary.core.measurement import Fingerprint
from canary.core.observation import ConnectFailed, Phase, StoppedByUs
from canary.core.run import CutShort
from canary.core.span import DAYS, RANGES, WHOLE_RUN, Counts
from canary.core.verdict import Status
from tests.fakes.stored import BAD, NOON, NOTHING, after, result_of, run_of

DAY, QUARTER = RANGES["90d"], RANGES["24h"]
BEFORE = NOON - timedelta(days=1)


async def spans(store, each=DAY, probe="heavy"):
    return await store.spans("chat", probe, each.grain, BEFORE)


def seen(first_visible_s, *, hop="vllm", variant="plain", status=Status.PASS, **more):
    """One answer with that first visible text; None: none came."""
    made = result_of(hop=hop, variant=variant, status=status)
    return replace(made, measurement=replace(made.measurement, time_to_first_visible_content_s=first_visible_s, **more))


async def save(store, name, *results, at=NOON, **more):
    await store.save_run(run_of(name, at, results=results, **more), NOTHING, quiet=True)


async def test_what_a_span_adds_up(store):
    await save(store, "a", seen(2.0))
    await save(store, "b", seen(4.0), at=after(minutes=5))
    await save(store, "c", seen(None, status=Status.FAIL), at=after(minutes=10))
    (found,) = await spans(store)
    assert found.counts == Counts(passed=2, failed=1)
    assert found.never == 1
    spread = found.first_visible
    assert (spread.count, spread.mean, spread.least, spread.most) == (2, 3.0, 2.0, 4.0)
    assert found.fingerprint == result_of().measurement.fingerprint
    assert set(found.silences) == {"byte", "event", "token", "visible"}


async def test_a_run_is_counted_once_in_every_grain(store):
    for _ in range(2):
        await save(store, "a", seen(2.0))
    for each in RANGES.values():
        (found,) = await spans(store, each)
        assert (found.counts.total, found.first_visible.count) == (1, 1)


async def test_spans_lie_where_their_runs_began(store):
    await save(store, "a", seen(1.0), at=after(minutes=14, seconds=59))
    await save(store, "b", seen(2.0), at=after(minutes=15))
    assert [each.at for each in await spans(store, QUARTER)] == [NOON, after(minutes=15)]


async def test_a_hop_fails_with_any_form_of_the_request_and_is_measured_by_whole_ones(store):
    await save(store, "a", seen(2.0), seen(99.0, variant="budget=64", status=Status.FAIL))
    (found,) = await spans(store)
    assert found.counts == Counts(failed=1)
    assert (found.first_visible.count, found.first_visible.most) == (1, 2.0)


@pytest.mark.parametrize(
    ("end", "never"),
    [
        pytest.param(StoppedByUs(at=1.0, reason="enough"), 0, id="what we stopped might have come"),
        pytest.param(ConnectFailed(at=0.1, phase=Phase.DNS), 1, id="no connection"),
    ],
)
async def test_an_answer_without_a_first_text(store, end, never):
    await save(store, "a", seen(None, end=end))
    (found,) = await spans(store)
    assert (found.never, found.first_visible) == (never, None)
    assert bool(found.silences) is isinstance(end, StoppedByUs)  # what was never connected has no silence


async def test_nothing_follows_from_a_run_that_was_cut_short(store):
    await save(store, "a", seen(2.0, status=Status.FAIL), cut_short=CutShort.SHUTDOWN)
    (found,) = await spans(store)
    assert (found.counts, found.first_visible) == (Counts(unknown=1), None)
    (whole,) = [day for day in await store.days(["chat"], BEFORE) if day.hop == WHOLE_RUN]
    assert whole.counts == Counts(unknown=1)


async def test_days_are_of_all_probes(store):
    await save(store, "a", seen(1.0))
    await save(store, "b", seen(1.0, status=Status.FAIL), probe="tiny")
    await save(store, "c", seen(1.0), pipeline="other")
    found = {(day.hop, day.at): day.counts for day in await store.days(["chat"], BEFORE)}
    midnight = NOON.replace(hour=0)
    assert found == {("", midnight): Counts(passed=1, failed=1), ("vllm", midnight): Counts(passed=1, failed=1)}
    assert {day.pipeline for day in await store.days(["chat", "other"], BEFORE)} == {"chat", "other"}
    assert await store.days([], BEFORE) == ()


async def test_the_latest_version_of_a_span(store):
    new = Fingerprint(model="new")
    await save(store, "a", seen(1.0))
    await save(store, "b", seen(1.0, fingerprint=new), at=after(minutes=1))
    (found,) = await spans(store)
    assert found.fingerprint == new


async def test_a_real_stream_without_visible_text(store):
    await save(store, "a", result_of(BAD))
    (found,) = await spans(store)
    assert found.first_reasoning.count == 1


async def test_spans_outlive_their_runs_and_not_their_range(opened):
    store = await opened(keep_runs=0)
    await save(store, "a", seen(1.0))
    await store.prune(after(hours=1))
    assert await store.runs() == ()
    assert {len(await spans(store, each)) for each in RANGES.values()} == {1}
    await store.prune(after(days=2))
    assert {name: len(await spans(store, each)) for name, each in RANGES.items()} == {
        "24h": 0,
        "7d": 1,
        "30d": 1,
        "90d": 1,
    }
    pruned = await store.prune(after(days=92))
    assert pruned.spans == 6
    assert await store.days(["chat"], BEFORE) == ()


def test_ranges_have_about_as_many_spans():
    counts = {name: len(each.starts(NOON)) for name, each in RANGES.items()}
    assert counts == {"24h": 96, "7d": 84, "30d": 90, "90d": 90}
    for each in RANGES.values():
        assert each.starts(NOON)[-1] <= NOON < each.starts(NOON)[-1] + each.grain
    assert DAYS.starts(NOON)[-1] == NOON.replace(hour=0)
