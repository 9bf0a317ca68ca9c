"""What is known, and the snapshot that others see."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest

from canary.core.conclusion import Conclusion
from canary.core.incident import State
from canary.core.run import CutShort
from canary.core.snapshot import Readiness
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Plan, Probe, QuestionTemplate
from canary.engine.state import Known, Pulse
from tests.fakes.stored import NOON, after, conclusion_of, incident_of, page_of, result_of, run_of

HEAVY = Probe(name="heavy", summary="", questions=(QuestionTemplate(text="?"),))
BUDGET = BudgetTest(parameter="thinking_token_budget", tokens=64)


def plan_of(*, hops=("litellm", "vllm"), unasked=(), budgets=(), name="chat"):
    """`unasked`: hops that are not probed."""
    pipeline = Pipeline(
        name=name,
        hops=(*(Hop(name=hop) for hop in unasked), *(Hop(name=hop, url=f"http://{hop}/") for hop in hops)),
        assignments=(Assignment(probe=HEAVY, budgets=budgets),),
    )
    return Plan(pipelines=(pipeline,))


@pytest.fixture
def known():
    return Known(plan=plan_of(), started_at=NOON)


def shown(known):
    pulse = Pulse(
        now=NOON,
        next_runs={},
        schedule_lag_s=0.0,
        loop_lag_s=0.0,
        tokens_today={},
        waiting=0,
        dead_letters=0,
        store_up=True,
        readiness=Readiness(),
    )
    return known.snapshot(pulse)


def test_a_snapshot_is_of_its_moment(known):
    known.learn(run_of("r1"))
    before = shown(known)
    known.learn(run_of("r2", after(minutes=5)))
    assert {each.run_id for each in before.latest} == {"r1"}
    assert {each.run_id for each in shown(known).latest} == {"r2"}
    assert sum(before.counters.values()) < sum(shown(known).counters.values())
    assert isinstance(before.counters, MappingProxyType)


def test_a_run_that_was_cut_short_is_not_the_latest(known):
    known.learn(run_of("r1"))
    known.learn(run_of("r2", after(minutes=5), cut_short=CutShort.BUG))
    assert {each.run_id for each in known.latest.values()} == {"r1"}
    assert known.last_runs == {("chat", "heavy"): NOON}


def test_what_a_probe_asks_no_more_is_shown_no_more(known):
    known.learn(run_of("r1", results=(result_of(), result_of(variant="thinking_token_budget=64"))))
    known.learn(run_of("r2", results=(result_of(),)))
    assert [each.variant for each in known.latest.values()] == ["plain"]


def test_a_run_that_outlived_its_pipeline_leaves_nothing(known):
    known.follow(plan_of(name="other"))
    known.learn(run_of("r1"))
    known.learn(run_of("r2", hops=(), cut_short=CutShort.BUG))  # before anything was seen
    assert known.latest == {}
    assert not any(known.tally.counters.values()), "all at zero"


@pytest.mark.parametrize(
    ("plan", "hops", "counted"),
    [
        pytest.param(plan_of(), {"vllm", "litellm"}, {"vllm", "litellm"}, id="the same"),
        pytest.param(plan_of(hops=("vllm",)), {"vllm"}, {"vllm"}, id="a hop is gone"),
        pytest.param(
            plan_of(unasked=("litellm",), hops=("vllm",)), {"vllm"}, {"vllm"}, id="a hop is not probed any more"
        ),
        pytest.param(plan_of(name="other"), set(), set(), id="the pipeline is gone"),
        pytest.param(plan_of(budgets=(BUDGET,)), {"vllm", "litellm"}, set(), id="other forms of the request"),
    ],
)
def test_a_reload_takes_away_what_is_gone(known, plan, hops, counted):
    known.learn(run_of("r1"))
    known.follow(plan)
    assert {each.hop for each in known.latest.values()} == hops
    assert {each.labels[1] for each, seen in known.tally.distributions.items() if sum(seen.counts)} == counted
    assert {each.labels[0] for each in known.tally.distributions} <= {pipeline.name for pipeline in plan.pipelines}


def test_incidents_leave_when_they_are_over_and_pages_an_hour_later(known):
    known.conclude(conclusion_of(), NOON)
    assert (set(known.incidents), set(known.pages)) == ({"i1"}, {"p1"})
    assert not known.quiet("chat")
    over = Conclusion(incidents=(incident_of(state=State.OK),), pages=(page_of(resolved_at=after(minutes=1)),))
    known.conclude(over, after(minutes=1))
    assert (set(known.incidents), set(known.pages)) == (set(), {"p1"})
    assert known.quiet("chat")
    known.conclude(Conclusion(), after(minutes=62))
    assert known.pages == {}


@pytest.mark.parametrize(
    ("state", "quiet"),
    [(State.PENDING, True), (State.FIRING, False), (State.RECOVERING, False)],
)
def test_only_an_open_incident_disturbs_the_baseline(known, state, quiet):
    known.conclude(Conclusion(incidents=(incident_of(state=state),)), NOON)
    assert known.quiet("chat") is quiet
    assert known.quiet("other")


def test_a_restart_remembers_the_last_runs_but_not_of_what_is_gone(known):
    known.learn(run_of("r1"))
    latest = tuple(known.latest.values())
    gone = replace(latest[0], probe="old", at=NOON + timedelta(days=1))
    again = Known(plan=plan_of(), started_at=NOON)
    again.hold((incident_of(),), (page_of(),))
    again.show((*latest, gone))
    assert again.last_runs == {("chat", "heavy"): NOON}
    assert len(again.latest) == len(latest)
    assert (set(again.incidents), set(again.pages)) == ({"i1"}, {"p1"})


def test_a_store_that_comes_late_does_not_show_what_is_older(known):
    known.learn(run_of("r1"))
    before = [replace(each, run_id="r0") for each in known.latest.values()]
    known.show(before)
    assert {each.run_id for each in known.latest.values()} == {"r1"}
