import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from canary.core import metrics as names
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.metrics import METRICS, STATUS_VALUES, Kind
from canary.core.observation import ConnectFailed, Disconnected, Interrupted, Phase, StoppedByUs
from canary.core.snapshot import Readiness, Series
from canary.core.verdict import Status
from canary.web.metrics import GAUGES, families, registry_of, render
from tests.fakes.evidence import evidence, headers, rejected, timer
from tests.fakes.scripted_answer import done, finish, say, think
from tests.fakes.snapshots import NOW, distribution, finding, incident, pipeline, result, run, snapshot

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLACE = ("chat", "vllm", "heavy", "plain")
ANSWERED = evidence(timeouts=(timer(60.0, name="idle", hop="edge"),), first_visible_limit_s=20.0)


def samples(given):
    """`{(name, labels as a sorted tuple): value}` of all that a snapshot shows."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families(given)
        for sample in family.samples
    }


def shown(given, name):
    """`{label values but those of the place: value}` of one metric."""
    return {
        tuple(value for label, value in labels if label not in names.ANSWER): value
        for (metric, labels), value in samples(given).items()
        if metric == name
    }


def exposition(given, accept=""):
    body, content_type = render(registry_of(lambda: given), accept)
    return body.decode(), content_type


@pytest.fixture
def after_a_run():
    return snapshot(pipeline(tokens_per_day=1000), runs=[run(result(ANSWERED))], tokens_today={"chat": 250})


def test_every_gauge_has_a_row_and_every_row_a_metric():
    assert set(GAUGES) == {metric.name for metric in METRICS.values() if metric.kind is Kind.GAUGE}


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_help_is_a_sentence(metric):
    assert metric.help[0].isupper() or metric.help[0].isdigit()
    assert metric.help.endswith(".")


def test_gauges_of_a_quiet_daemon():
    one = (NOW - timedelta(seconds=5)).timestamp()
    quiet = snapshot(
        schedule_lag_s=1.5, loop_lag_s=0.002, waiting=3, dead_letters=1, last_reload_at=NOW - timedelta(seconds=5)
    )
    found = {name: value for (name, labels), value in samples(quiet).items() if not labels}
    assert found == {
        names.SCHEDULE_LAG: 1.5,
        names.LOOP_LAG: 0.002,
        names.RELOAD_OK: 1.0,
        names.RELOAD_AT: one,
        names.OUTBOX: 3.0,
        names.DEAD_LETTERS: 1.0,
        names.STORE_UP: 1.0,
        names.READY: 1.0,
    }


def test_gauges_of_a_daemon_that_is_not_well():
    ill = snapshot(last_reload_ok=False, last_reload_at=None, store_up=False, readiness=Readiness(problems=("no",)))
    found = samples(ill)
    assert {found[name, ()] for name in (names.RELOAD_OK, names.STORE_UP, names.READY)} == {0.0}
    assert (names.RELOAD_AT, ()) not in found


def test_gauges_of_an_answer(after_a_run):
    assert shown(after_a_run, names.RATIO) == {(): pytest.approx(0.5, abs=0.2)}
    assert shown(after_a_run, names.LONGEST_SILENCE) == {
        ("byte",): pytest.approx(1.0),
        ("event",): pytest.approx(1.0),
        ("token",): pytest.approx(1.0),
        ("visible",): pytest.approx(2.0),
    }
    assert shown(after_a_run, names.HEADROOM) == {("edge/idle",): pytest.approx(1 - 1 / 60)}
    assert shown(after_a_run, names.CHECK_STATUS)[("visible_content",)] == STATUS_VALUES[Status.PASS]
    assert samples(after_a_run)[names.DAY_SHARE, (("pipeline", "chat"),)] == 0.25
    assert shown(after_a_run, names.LAST_RUN) == {(): NOW.timestamp()}


def test_headroom_is_negative_where_the_timer_would_have_fired():
    slow = result(evidence(headers(0.1), say(90.0), finish(90.1), done(90.2), timeouts=(timer(60.0, hop="edge"),)))
    assert shown(snapshot(runs=[run(slow)]), names.HEADROOM) == {("edge/t",): pytest.approx(1 - 89.9 / 60)}


@pytest.mark.parametrize(
    ("given", "absent"),
    [
        pytest.param(
            evidence(end=ConnectFailed(at=0.1, phase=Phase.CONNECT), timeouts=(timer(60.0),)),
            {names.RATIO, names.LONGEST_SILENCE, names.HEADROOM},
            id="no connection",
        ),
        pytest.param(rejected(503, timeouts=(timer(60.0),)), {names.RATIO, names.HEADROOM}, id="rejected"),
        pytest.param(
            evidence(headers(0.1), think(1.0), end=StoppedByUs(at=1.1, reason="enough")),
            {names.RATIO},
            id="we stopped it",
        ),
        pytest.param(
            evidence(headers(0.1), think(1.0), end=Interrupted(at=1.1)),
            {names.RATIO, names.LONGEST_SILENCE},
            id="our shutdown",
        ),
        pytest.param(
            evidence(headers(0.1), think(1.0), end=Disconnected(at=5.0, phase=Phase.BODY), timeouts=(timer(60.0),)),
            {names.HEADROOM},
            id="broke off with the timer running",
        ),
    ],
)
def test_what_was_not_measured_is_left_out(given, absent):
    found = {name for name, _ in samples(snapshot(runs=[run(result(given))]))}
    assert absent & found == set()


@pytest.mark.parametrize("status", Status)
def test_a_check_shows_its_worst_verdict(status):
    passed, *rest = result(evidence(timeouts=(timer(60.0, name="a"), timer(60.0, name="b")))).verdicts
    mixed = replace(result(evidence()), verdicts=(passed, replace(passed, status=status), *rest))
    assert shown(snapshot(runs=[run(mixed)]), names.CHECK_STATUS)[(passed.check,)] == STATUS_VALUES[status]


def test_incidents_are_counted_by_severity_while_they_fire():
    critical, warning = finding(), finding(severity=Severity.WARNING)
    given = snapshot(
        incidents=(
            incident(incident_id="1", found=critical),
            incident(incident_id="2", found=critical, state=State.RECOVERING),
            incident(incident_id="3", found=critical, state=State.PENDING),
            incident(incident_id="4", found=warning, state=State.OK),
        )
    )
    assert shown(given, names.INCIDENTS_FIRING) == {("critical",): 2.0, ("warning",): 0.0}


def test_a_first_visible_text_that_never_came_is_seen_twice():
    """In its counter, and in the histogram's last bucket: neither a count nor a percentile forgets it."""
    thought_only = result(evidence(headers(0.1), think(1.0), finish(2.0), done(2.1)))
    given = snapshot(runs=[run(result(ANSWERED)), run(thought_only)])
    buckets = {
        dict(labels)["le"]: value
        for (name, labels), value in samples(given).items()
        if name == f"{names.FIRST_VISIBLE}_bucket"
    }
    assert buckets["600.0"] == 1
    assert buckets["+Inf"] == 2
    assert shown(given, names.FIRST_VISIBLE_MISSING) == {(): 1.0}
    assert shown(given, f"{names.FIRST_VISIBLE}_count") == {(): 2.0}


def test_buckets_are_cumulative_and_their_bounds_inclusive():
    series = Series(metric=names.DURATION, labels=PLACE)
    given = snapshot(distributions={series: distribution(0.05, 30.0, 30.1, 700.0)})
    found = {dict(labels)["le"]: value for (name, labels), value in samples(given).items() if name.endswith("_bucket")}
    assert [found[bound] for bound in ("0.05", "29.0", "30.0", "35.0", "600.0", "+Inf")] == [1, 1, 2, 3, 3, 4]
    assert samples(given)[f"{names.DURATION}_sum", tuple(sorted(zip(names.ANSWER, PLACE, strict=True)))] == 760.15


def test_the_classic_text_reads_back(after_a_run):
    text, content_type = exposition(after_a_run)
    assert content_type.startswith("text/plain; version=0.0.4")
    read = {sample.name for family in text_format(text) for sample in family.samples}
    assert {name for name, _ in samples(after_a_run)} <= read
    assert "process_resident_memory_bytes" in read
    assert "# {" not in text  # exemplars would break its readers


def test_openmetrics_reads_back_with_exemplars(after_a_run):
    text, content_type = exposition(after_a_run, OPENMETRICS)
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    found = {
        sample.exemplar.labels["run_id"]
        for family in openmetrics(text)
        for sample in family.samples
        if sample.exemplar is not None and sample.name == f"{names.FIRST_VISIBLE}_bucket"
    }
    assert found == {"r1"}


def test_what_left_the_config_leaves_the_next_scrape():
    kept = run(result(ANSWERED), pipeline="other")
    registry = registry_of(lambda: current)
    current = snapshot(pipeline(), pipeline("other"), runs=[run(result(ANSWERED)), kept])
    assert b'pipeline="chat"' in render(registry, "")[0]
    current = snapshot(pipeline("other"), runs=[kept])
    after = render(registry, "")[0]
    assert b'pipeline="chat"' not in after
    assert b'pipeline="other"' in after


def test_ten_thousand_series_come_whole():
    places = [(f"p{p}", f"h{h}", f"probe{q}", "plain") for p in range(10) for h in range(10) for q in range(3)]
    one = distribution(1.0, 30.0)
    given = snapshot(
        distributions={Series(metric=names.FIRST_VISIBLE, labels=place): one for place in places},
        counters={Series(metric=names.VERDICTS, labels=(*place, "complete", "PASS", "ok")): 1.0 for place in places},
    )
    text, _ = exposition(given)
    assert text.count(f"\n{names.FIRST_VISIBLE}_bucket{{") == len(places) * 33
    assert text.count(f"\n{names.VERDICTS}{{") == len(places)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing_to_complain_about(after_a_run):
    text, _ = exposition(after_a_run)
    found = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
