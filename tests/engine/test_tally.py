"""What one run adds to counters and histograms."""

from dataclasses import replace

import pytest

from canary.core import metrics
from canary.core.measurement import CountSource, TokenCount
from canary.core.metrics import BUCKETS_S, TokenKind
from canary.core.observation import StoppedByUs
from canary.core.run import CutShort
from canary.core.snapshot import Series
from canary.core.stream import Usage
from canary.core.verdict import Status, Verdict
from canary.engine.tally import Tally, tokens_of
from tests.fakes.stored import NOON, after, result_of, run_of

AT = ("chat", "vllm", "heavy", "plain")


def result(*, verdicts=(), **measured):
    plain = result_of(status=Status.PASS)
    return replace(plain, measurement=replace(plain.measurement, **measured), verdicts=verdicts or plain.verdicts)


def tally_of(*results, **more):
    tally = Tally()
    for number, each in enumerate(results):
        tally.run(run_of(f"r{number}", results=(each,), **more))
    return tally


def verdict(status, check="visible_content", reason="budget_exhausted"):
    return Verdict(check=check, status=status, reason=reason, message="")


def test_every_series_is_one_that_the_table_names_with_as_many_labels():
    tally = tally_of(result(verdicts=(verdict(Status.FAIL),), time_to_first_visible_content_s=None), result())
    tally.tokens(AT, result().measurement)
    for series in [*tally.counters, *tally.distributions]:
        assert len(series.labels) == len(metrics.METRICS[series.metric].labels)
    assert {series.metric for series in tally.distributions} == {
        metrics.FIRST_REASONING,
        metrics.FIRST_VISIBLE,
        metrics.FIRST_TOKEN,
        metrics.DURATION,
    }


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        pytest.param(0.0, 0, id="at once"),
        pytest.param(60.0, BUCKETS_S.index(60.0), id="an upper bound belongs to its bucket"),
        pytest.param(60.001, BUCKETS_S.index(60.0) + 1, id="just over it"),
        pytest.param(5000.0, len(BUCKETS_S), id="over the last"),
    ],
)
def test_a_value_falls_into_its_bucket_with_its_run(seconds, bucket):
    tally = tally_of(result(time_to_first_visible_content_s=seconds))
    found = tally.distributions[Series(metric=metrics.FIRST_VISIBLE, labels=AT)]
    assert [index for index, count in enumerate(found.counts) if count] == [bucket]
    assert (sum(found.counts), found.total) == (1, seconds)
    assert (found.exemplars[bucket].run_id, found.exemplars[bucket].at) == ("r0", NOON)


def test_a_first_visible_text_that_never_came_is_the_worst_of_all_and_counted():
    tally = tally_of(
        result(time_to_first_visible_content_s=2.0),
        result(time_to_first_visible_content_s=None, total_s=31.0, verdicts=(verdict(Status.FAIL),)),
    )
    found = tally.distributions[Series(metric=metrics.FIRST_VISIBLE, labels=AT)]
    assert (found.counts[-1], sum(found.counts), found.total) == (1, 2, 33.0)
    assert tally.counters[Series(metric=metrics.FIRST_VISIBLE_MISSING, labels=AT)] == 1
    assert tally.counters[Series(metric=metrics.ZERO_VISIBLE, labels=(*AT, "budget_exhausted"))] == 1


@pytest.mark.parametrize(
    "spoiled",
    [
        pytest.param({"end": StoppedByUs(at=1.0, reason="enough")}, id="we stopped it"),
        pytest.param({"verdicts": (verdict(Status.UNKNOWN, "first_visible", "prober_fault"),)}, id="our own fault"),
    ],
)
def test_an_answer_that_says_nothing_is_in_no_histogram(spoiled):
    tally = tally_of(result(time_to_first_visible_content_s=None, **spoiled))
    assert tally.distributions == {}
    assert Series(metric=metrics.FIRST_VISIBLE_MISSING, labels=AT) not in tally.counters


def test_a_run_that_was_cut_short_is_counted_and_nothing_else():
    tally = tally_of(result(), cut_short=CutShort.SHUTDOWN)
    assert tally.counters == {Series(metric=metrics.RUNS, labels=("chat", "heavy", "shutdown")): 1}
    assert tally.distributions == {}


@pytest.mark.parametrize(
    ("reported", "reasoning", "visible", "tokens"),
    [
        pytest.param(None, None, None, {}, id="nothing is known"),
        pytest.param((10, 100), None, None, {TokenKind.INPUT: 10, TokenKind.OUTPUT: 100}, id="not told apart"),
        pytest.param(
            (10, 100), 80, None, {TokenKind.INPUT: 10, TokenKind.REASONING: 80, TokenKind.OUTPUT: 20}, id="half told"
        ),
        pytest.param(None, 80, 20, {TokenKind.REASONING: 80, TokenKind.VISIBLE: 20}, id="counted by us"),
        pytest.param(
            (10, 90),
            80,
            20,
            {TokenKind.INPUT: 10, TokenKind.REASONING: 80, TokenKind.VISIBLE: 20},
            id="we count more than is reported",
        ),
    ],
)
def test_tokens_by_kind(reported, reasoning, visible, tokens):
    def count(value):
        return None if value is None else TokenCount(value=value, source=CountSource.COUNTED)

    usage = Usage(prompt_tokens=reported[0], completion_tokens=reported[1]) if reported else None
    measured = result(usage=usage, reasoning_tokens=count(reasoning), visible_tokens=count(visible)).measurement
    assert tokens_of(measured) == tokens


def test_what_is_gone_is_forgotten_and_the_rest_is_not():
    tally = Tally()
    for at in [("a", "vllm", "x", "plain"), ("a", "old", "x", "plain"), ("a", "vllm", "old", "plain")]:
        tally.add(metrics.FIRST_VISIBLE_MISSING, *at)
    tally.add(metrics.RUNS_SKIPPED, "b", "x", "overlap")
    tally.add(metrics.NOTIFICATIONS, "slack", "sent")
    tally.forget({"a"}, {("a", "vllm")}, {("a", "x")})
    assert {series.labels for series in tally.counters} == {("a", "vllm", "x", "plain"), ("slack", "sent")}


def test_an_exemplar_does_not_outlive_its_run():
    first, second = result(time_to_first_visible_content_s=1.0), result(time_to_first_visible_content_s=100.0)
    tally = Tally()
    tally.run(run_of("old", NOON, results=(first,)))
    tally.run(run_of("new", after(minutes=1), results=(second,)))
    series = Series(metric=metrics.FIRST_VISIBLE, labels=AT)
    before = tally.distributions[series]
    tally.forget_runs(NOON)
    assert tally.distributions[series] == before, "a run that began at that very moment is kept"
    tally.forget_runs(after(minutes=1))
    now = tally.distributions[series]
    assert [each.run_id for each in now.exemplars.values()] == ["new"]
    assert (now.counts, now.total) == (before.counts, before.total)
