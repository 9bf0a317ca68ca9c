import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from canary.core.metrics import METRICS
from tests.fakes.queries import CONFIG, RULES, dashboard, dashboard_queries, filled_in, metrics_in, rules, selectors_in

UNIT_TESTS = Path(__file__).parent / "prometheus" / "rules.test.yml"
ADDED = {"job", "instance", "le"}  # by the scrape, by a histogram
QUERIES = {rule.get("alert") or rule["record"]: rule["expr"] for rule in rules()} | dashboard_queries()
CASES = [
    case
    for test in yaml.safe_load(UNIT_TESTS.read_text(encoding="utf-8"))["tests"]
    for case in test.get("alert_rule_test", ())
]
ALERTS = [rule for rule in rules() if "alert" in rule]
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def promtool(*arguments):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_asks_for_what_there_is(query):
    assert metrics_in(query) - set(METRICS) == set()
    assert [
        (name, unknown) for name, labels in selectors_in(query) if (unknown := labels - {*METRICS[name].labels, *ADDED})
    ] == []


def test_a_query_for_what_there_is_not_is_found():
    query = 'sum(rate(canary_nothing_total{hop="a"}[1h])) / x:canary_runs_total:sum > canary_ready{hop="a"}'
    assert metrics_in(query) == {"canary_nothing_total", "canary_ready"}
    assert selectors_in(query) == [("canary_nothing_total", {"hop"}), ("canary_ready", {"hop"})]


def test_every_metric_is_on_the_dashboard():
    shown = {name for query in dashboard_queries().values() for name in metrics_in(query)}
    assert set(METRICS) - shown == set()


def test_the_dashboard_is_whole():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(
        panel["targets"] and panel["datasource"]["uid"] == "${datasource}" for panel in panels if panel["type"] != "row"
    )
    places = [(panel["gridPos"]["x"] + dx, panel["gridPos"]["y"] + dy) for panel in panels for dx, dy in _area(panel)]
    assert len(set(places)) == len(places)  # no panel lies over another
    assert max(x for x, _ in places) < 24


def _area(panel):
    place = panel["gridPos"]
    return [(dx, dy) for dx in range(place["w"]) for dy in range(place["h"])]


@pytest.mark.parametrize("query", dashboard_queries().values(), ids=dashboard_queries())
def test_every_variable_of_the_dashboard_is_declared(query):
    declared = {variable["name"] for variable in dashboard()["templating"]["list"]} | {"__range", "__rate_interval"}
    assert set(re.findall(r"\$(\w+)", query)) <= declared
    assert filled_in(query)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_what_is_wrong_and_is_tested(alert):
    assert alert["labels"]["severity"]
    assert alert["annotations"]["summary"].endswith(".")
    cases = [case for case in CASES if case["alertname"] == alert["alert"]]
    assert [case for case in cases if case["exp_alerts"]]
    assert [case for case in cases if not case["exp_alerts"]]


@needs_promtool
def test_the_shipped_files_are_valid():
    found = promtool("check", "config", str(CONFIG / "prometheus" / "prometheus.example.yml"))
    assert found.returncode == 0, found.stdout + found.stderr


@needs_promtool
def test_the_alerts_fire_when_they_should():
    found = promtool("test", "rules", str(UNIT_TESTS))
    assert found.returncode == 0, found.stdout + found.stderr


@needs_promtool
def test_the_alerts_test_can_fail(tmp_path):
    """With a rule that never fires, its case fails."""
    broken = tmp_path / "canary.rules.yml"
    broken.write_text(RULES.read_text(encoding="utf-8").replace("up{job=", "up{nothing="), encoding="utf-8")
    cases = UNIT_TESTS.read_text(encoding="utf-8").replace("../../../config/prometheus/canary.rules.yml", str(broken))
    (tmp_path / "test.yml").write_text(cases, encoding="utf-8")
    assert "CanaryDown" in promtool("test", "rules", str(tmp_path / "test.yml")).stderr
