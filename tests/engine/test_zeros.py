"""What is shown as zero before anything was counted."""

from dataclasses import replace

import pytest

from canary.checks.visible_content import CAUSES
from canary.core import metrics
from canary.core.metrics import METRICS, Kind, Sending, Skip
from canary.core.route import Receiver
from canary.core.run import CutShort
from canary.core.snapshot import Series
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Plan, Probe
from canary.core.verdict import Status
from canary.engine.state import Known
from canary.engine.tally import Tally
from canary.engine.zeros import zeros
from tests.fakes.stored import NOON, result_of, run_of

PROBE = Probe(name="heavy", summary="", questions=())
CHAT = Pipeline(
    name="chat",
    hops=(Hop(name="ui"), Hop(name="litellm", url="http://litellm"), Hop(name="vllm", url="http://vllm")),
    assignments=(Assignment(probe=PROBE),),
)
PLAN = Plan(pipelines=(CHAT,), receivers=(Receiver(name="a", kind="slack", options=None),))
NEVER = "vllm-chat-unbudgeted"  # it has no visible text


def labels_of(metric, plan=PLAN):
    return {series.labels for series in zeros(plan) if series.metric == metric}


def test_every_series_has_the_labels_of_its_metric_and_stands_once():
    found = list(zeros(PLAN))
    assert len(set(found)) == len(found)
    for series in found:
        assert len(series.labels) == len(METRICS[series.metric].labels)
        assert METRICS[series.metric].kind is not Kind.GAUGE


def test_hops_that_are_probed():
    places = {("chat", hop, "heavy", "plain") for hop in ("litellm", "vllm")}
    assert labels_of(metrics.FIRST_VISIBLE) == places
    assert labels_of(metrics.ZERO_VISIBLE) == {(*place, cause) for place in places for cause in CAUSES}


def test_the_plain_answer_of_a_budget_test_is_its_control():
    tests = (BudgetTest(parameter="thinking_budget", tokens=64),)
    plan = replace(PLAN, pipelines=(replace(CHAT, assignments=(Assignment(probe=PROBE, budgets=tests),)),))
    assert {labels[-1] for labels in labels_of(metrics.FIRST_VISIBLE, plan)} == {"control"}


@pytest.mark.parametrize(
    ("metric", "labels"),
    [
        pytest.param(metrics.RUNS_SKIPPED, {("chat", "heavy", skip) for skip in Skip}, id="skipped"),
        pytest.param(metrics.NOTIFICATIONS, {("slack", sending) for sending in Sending}, id="told"),
        pytest.param(
            metrics.RUNS, {("chat", "heavy", word) for word in (*map(str.lower, Status), *CutShort)}, id="outcomes"
        ),
    ],
)
def test_every_way_that_it_can_go(metric, labels):
    assert labels_of(metric) == labels


def test_what_a_run_counts_of_a_plain_answer_was_there_as_zero():
    """But for its verdicts: an alert on the first of anything else sees an increase."""
    tally, one = Tally(), result_of(NEVER)
    tally.run(run_of("r1", results=(one,)))
    tally.tokens(("chat", "vllm", "heavy", "plain"), one.measurement)
    born = {*tally.counters, *tally.distributions} - set(zeros(PLAN))
    assert {series.metric for series in born} == {metrics.VERDICTS}


def test_what_was_counted_stays_and_what_left_the_plan_goes():
    known = Known(plan=PLAN, started_at=NOON)
    known.follow(PLAN)
    missing = Series(metric=metrics.FIRST_VISIBLE_MISSING, labels=("chat", "vllm", "heavy", "plain"))
    assert known.tally.counters[missing] == 0
    known.learn(run_of("r1", results=(result_of(NEVER),)))
    known.follow(PLAN)
    assert known.tally.counters[missing] == 1
    known.follow(Plan(pipelines=()))
    assert [series for series in known.tally.counters if "pipeline" in METRICS[series.metric].labels] == []
    assert known.tally.distributions == {}
