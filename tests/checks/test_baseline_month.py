"""A simulated month: quiet while all is well; an upgrade is named and becomes the norm; regressions are found."""

from datetime import timedelta

import pytest

from tests.fakes.month import HOPS, START, Life, Machine, times

MACHINES = {
    "usual": Machine(),
    "small and quick": Machine(prefill_s=0.2, tokens_per_s=140.0, reasoning=400.0),
    "large and slow": Machine(prefill_s=1.5, tokens_per_s=25.0, reasoning=2000.0),
}
ABOVE = HOPS[-2::-1]  # the hops above the engine, nearest first
QUICK_S = 4 * 3600.0
DAYS = 30


def lived(name, seed, *, days=DAYS, every_s=QUICK_S, **more):
    """A life after so many healthy days, and the findings of these."""
    life = Life(seed=f"{name} {seed}", machine=MACHINES[name], **more)
    return life, [finding for now in times(days, every_s) for finding in life.run(now)]


def next_runs(life, count, every_s=QUICK_S):
    """The findings of each of the next runs."""
    return [life.run(START + timedelta(seconds=every_s * life.runs)) for _ in range(count)]


def found(findings):
    return [(each.subject, each.reason, each.origin, each.affected) for each in findings]


def at_the_engine(findings):
    """One finding: the engine, or a hop above it where the engine cannot be told yet."""
    (finding,) = findings
    return finding.origin == "engine" or finding.at_or_below


@pytest.mark.parametrize("name", MACHINES)
def test_a_healthy_month_is_quiet_and_then_each_regression_is_found_in_three_runs(name):
    life, findings = lived(name, 1)
    assert findings == []
    life.change(slower=2.0)
    for told in next_runs(life, 4)[2:]:
        assert [(each.subject, each.reason) for each in told] == [("speed", "slower")]
        assert at_the_engine(told)
    life.change(slower=1.0)
    assert next_runs(life, 12)[3:] == [()] * 9
    life.change(thinks=0.2)
    third, fourth = next_runs(life, 4)[2:]
    assert at_the_engine(third)
    assert found(fourth) == [("reasoning", "less_reasoning", "engine", ABOVE)]


@pytest.mark.parametrize(
    ("usual", "every_s", "days", "found_in"),
    [
        pytest.param({"day": 0.6}, QUICK_S, 30, 3, id="a busy day"),
        pytest.param({"day": 0.6}, 3600.0, 20, 5, id="a busy day, seen hour by hour"),
        pytest.param({"week": 0.2}, QUICK_S, 30, 4, id="quiet week-ends"),
        pytest.param({"drift": 0.01}, QUICK_S, 30, 5, id="a slow drift"),
        pytest.param({"outliers": 0.02}, QUICK_S, 30, 4, id="many outliers"),
        pytest.param({"day": 0.6}, 6 * 3600.0, 60, 5, id="a rare probe"),
    ],
)
def test_what_real_traffic_does_is_quiet_and_hides_no_half_of_the_speed(usual, every_s, days, found_in):
    """Two days are missing, as if the daemon had been off."""
    life = Life(seed=f"{usual}", machine=Machine(**usual), hops=("engine",))
    moments = times(days, every_s)
    lived = [now for now in moments if not timedelta(days=12) <= now - START < timedelta(days=14)]
    assert [finding for now in lived for finding in life.run(now)] == []
    life.change(slower=2.0)
    after = [life.run(moments[-1] + timedelta(seconds=every_s * (index + 1))) for index in range(found_in)]
    assert [finding.reason for finding in after[-1]] == ["slower"]


def test_two_replicas_of_different_speed_are_quiet_and_hide_a_slowdown_like_their_difference():
    """Which of them answered is not known: a doubling may pass for the slower one, three times as slow does not."""
    life = Life(seed="replicas", machine=Machine(replicas=1.4), hops=("engine",))
    assert [finding for now in times(30, QUICK_S) for finding in life.run(now)] == []
    life.change(slower=3.0)
    assert [finding.reason for finding in next_runs(life, 5)[-1]] == ["slower"]


def test_what_the_gateway_adds_begins_at_the_gateway():
    life, _ = lived("usual", 3, days=10)
    life.change(lag_s=60.0)
    assert found(next_runs(life, 3)[-1]) == [("speed", "slower", "gateway", ("agent", "edge"))]


def test_more_reasoning_explains_that_all_is_later():
    life, _ = lived("usual", 4, days=10)
    life.change(thinks=4.0)
    (finding,) = next_runs(life, 4)[-1]
    assert (finding.check, finding.reason, finding.origin) == ("baseline", "more_reasoning", "engine")
    assert finding.message.endswith("This explains baseline (speed) too.")


def test_an_upgrade_is_named_and_after_three_days_it_is_the_norm():
    life, _ = lived("usual", 5, days=15)
    life.change(version="0.23.0", tokens_per_s=24.0)
    told = next_runs(life, int(15 * 86400 / QUICK_S))
    firing = [index for index, findings in enumerate(told) if findings]
    assert (firing[0], firing[-1]) == (2, pytest.approx(3 * 86400 / QUICK_S + 4, abs=4))
    assert firing == list(range(firing[0], firing[-1] + 1))
    findings = [finding for findings in told for finding in findings]
    assert {(each.origin, "since vLLM 0.22.1 -> 0.23.0" in each.message) for each in findings} == {("engine", True)}
    life.change(slower=2.5)
    assert [finding.origin for finding in next_runs(life, 4)[-1]] == ["engine"]


def test_an_upgrade_that_is_no_worse_is_quiet():
    life, _ = lived("usual", 6, days=10)
    life.change(version="0.23.0", tokens_per_s=90.0)
    assert [finding for findings in next_runs(life, 40) for finding in findings] == []
    life.change(tokens_per_s=40.0)
    (finding,) = next_runs(life, 4)[-1]
    assert "since" not in finding.message  # it is worse than the new version's own runs


@pytest.mark.bench
@pytest.mark.parametrize("seed", range(2))
def test_a_month_of_a_run_every_five_minutes(seed, capsys):
    lives = [lived(name, seed, every_s=300.0) for name in MACHINES]
    checked = sum(life.checked for life, _ in lives)
    false = [finding for _, findings in lives for finding in findings]
    with capsys.disabled():
        print(f"\nseed {seed}: {checked} verdicts, {len(false)} false, {len(false) / checked * 1e6:.1f} per million")
    assert false == []
    for life, _ in lives:
        life.change(slower=2.0)
        assert [finding.reason for finding in next_runs(life, 3, 300.0)[-1]] != []
