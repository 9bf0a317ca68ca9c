import re
from pathlib import Path

import pytest

from canary.config.errors import ConfigError
from canary.config.load import load_plan
from canary.config.series import KNOWN_LABELS, MAX_SERIES, series_of
from canary.core.metrics import BUCKETS_S, METRICS, Kind
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Probe, QuestionTemplate
from canary.core.timeout import Clock, Timeout, TimerPhase

PROBE = Probe(name="ask", summary="", questions=(QuestionTemplate(text="?"),), checks=("reachable", "complete"))
HISTOGRAMS = sum(metric.kind is Kind.HISTOGRAM for metric in METRICS.values())


def count(*hops: Hop, probe: Probe = PROBE, budgets: int = 0) -> int:
    tests = (BudgetTest(parameter="thinking_budget", tokens=64),) * budgets
    return series_of(Pipeline(name="p", hops=hops, assignments=(Assignment(probe=probe, budgets=tests),)))


def hop(name: str = "h", timers: int = 0) -> Hop:
    timer = Timeout(name="t", phase=TimerPhase.IDLE, clock=Clock.BYTE, limit_s=1.0)
    return Hop(name=name, url="http://h/v1", timeouts=(timer,) * timers)


ONE = count(hop()) - count()  # of a hop, without what every run has


def test_an_answer_has_at_least_its_buckets():
    assert HISTOGRAMS * (len(BUCKETS_S) + 3) < ONE


@pytest.mark.parametrize(
    ("more", "fewer", "difference"),
    [
        pytest.param(count(hop("a"), hop("b")), count(hop("a")), ONE, id="a hop"),
        pytest.param(count(Hop(name="ui"), hop()), count(hop()), 0, id="a hop that is not probed"),
        pytest.param(count(hop(), budgets=2), count(hop()), 2 * ONE, id="two budgets"),
        pytest.param(count(hop("a", timers=3), hop("b")), count(hop("a"), hop("b")), 3, id="timers above one hop"),
        pytest.param(count(hop("a"), hop("b", timers=3)), count(hop("a"), hop("b")), 0, id="timers above none"),
    ],
)
def test_what_multiplies(more: int, fewer: int, difference: int):
    assert more - fewer == difference


def test_more_checks_are_more_series():
    assert count(hop()) < count(hop(), probe=Probe(name="ask", summary="", questions=PROBE.questions))


def test_every_label_of_every_metric_is_counted():
    own = {"pipeline", "hop", "probe", "variant"}
    of_probes = {label for metric in METRICS.values() if "probe" in metric.labels for label in metric.labels}
    assert of_probes - own <= KNOWN_LABELS


def test_ten_thousand_hops_are_refused(tmp_path: Path, env: dict[str, str]):
    hops = "".join(f"\n      - {{name: h{hop}, url: 'http://h/v1', model: m}}" for hop in range(500))
    for file in range(4):
        others = "".join(f"\n  - {{<<: *first, name: p{file}.{index}}}" for index in range(1, 5))
        first = f"  - &first\n    name: p{file}\n    probes: [{{use: quick}}]\n    hops:{hops}"
        (tmp_path / f"{file}.yaml").write_text(f"pipelines:\n{first}{others}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_plan([tmp_path], env=env)
    total, here = re.findall(r"\d+(?:,\d+)+", str(caught.value))[:2]
    assert int(total.replace(",", "")) == 20 * int(here.replace(",", "")) > 1_000_000
    assert str(caught.value) == (
        f"{tmp_path}/0.yaml:2: pipelines[0]: found {total} time series in the whole config, {here} of them here, "
        "expected at most 250,000 (each hop, probe and budget multiplies them: "
        "probe fewer hops, or split the config over several canaries)"
    )


def test_a_large_team_fits(tmp_path: Path, env: dict[str, str]):
    """Fifty pipelines of five hops and three probes, one with two budgets."""
    budgets = ", budgets: [{parameter: thinking_budget, tokens: 64}, {parameter: thinking_token_budget, tokens: 64}]"
    hops = "".join(f"\n      - {{name: h{hop}, url: 'http://h/v1', model: m}}" for hop in range(5))
    probes = f"[{{use: quick}}, {{use: reasoning-heavy}}, {{use: tiny-budget{budgets}}}]"
    pipelines = "".join(f"\n  - name: p{index}\n    hops:{hops}\n    probes: {probes}" for index in range(50))
    (tmp_path / "all.yaml").write_text(f"pipelines:{pipelines}\n", encoding="utf-8")
    plan = load_plan([tmp_path], env=env)
    assert 100_000 < sum(map(series_of, plan.pipelines)) < MAX_SERIES
