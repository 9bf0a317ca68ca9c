"""Who must stop when tokens run short."""

from datetime import UTC, datetime

import pytest

from canary.engine.governor import Allowance, Cost, objection

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
# cheap takes 100 tokens and runs 288 times a day (28 800), deep takes 20 000 and runs 48 times
COSTS = {
    "cheap": Cost(tokens_per_run=100, runs_per_day=288),
    "deep": Cost(tokens_per_run=20_000, runs_per_day=48),
    "on-demand": Cost(tokens_per_run=50_000, runs_per_day=0),
}


def allowance(*, per_run=None, per_day=None):
    return Allowance(tokens_per_run=per_run, tokens_per_day=per_day, costs=COSTS)


@pytest.mark.parametrize(
    ("limits", "probe", "spent", "now", "because"),
    [
        pytest.param({}, "deep", 10**9, NOON, None, id="no limit"),
        pytest.param({"per_run": 20_000}, "deep", 0, NOON, None, id="a run at its limit"),
        pytest.param({"per_run": 19_999}, "deep", 0, NOON, "tokens_per_run is 19,999", id="a run over its limit"),
        pytest.param({"per_run": 19_999}, "cheap", 0, NOON, None, id="another probe may"),
        pytest.param({"per_day": 100_000}, "deep", 0, NOON, None, id="the day begins"),
        pytest.param({"per_day": 100_000}, "deep", 65_600, NOON, None, id="just enough for it and the cheap ones"),
        pytest.param({"per_day": 100_000}, "deep", 65_601, NOON, "14,400 are kept for cheaper", id="deep stops first"),
        pytest.param({"per_day": 100_000}, "cheap", 65_601, NOON, None, id="cheap goes on"),
        pytest.param({"per_day": 100_000}, "cheap", 99_900, NOON, None, id="to the last token"),
        pytest.param({"per_day": 100_000}, "cheap", 99_901, NOON, "99,901 of 100,000", id="and then stops too"),
        pytest.param(
            {"per_day": 100_000},
            "deep",
            79_900,
            NOON.replace(hour=23, minute=55),
            None,
            id="late in the day nothing needs to be kept",
        ),
        pytest.param({"per_day": 1}, "unknown", 0, NOON, None, id="no estimate"),
    ],
)
def test_who_may_run(limits, probe, spent, now, because):
    why = objection(allowance(**limits), probe, spent=spent, now=now)
    assert why is None if because is None else because in (why or "")


def test_it_says_when_the_day_ends():
    why = objection(allowance(per_day=1000), "deep", spent=1000, now=NOON)
    assert why == (
        "1,000 of 1,000 tokens a day are used, 14,400 are kept for cheaper probes and a run usually takes 20,000; "
        "the day ends in 12 h"
    )


@pytest.mark.parametrize("per_day", [50_000, 100_000, 400_000, 2_000_000])
def test_over_a_whole_day_the_limit_holds_and_the_cheap_probe_never_stops(per_day):
    """Every five minutes cheap, every thirty deep, each at its estimate."""
    limits, spent, ran = allowance(per_day=per_day), 0, {"cheap": 0, "deep": 0}
    for minute in range(0, 1440, 5):
        now = datetime(2026, 3, 2, minute // 60, minute % 60, tzinfo=UTC)
        for probe in ["deep", "cheap"] if minute % 30 == 0 else ["cheap"]:
            if objection(limits, probe, spent=spent, now=now) is None:
                spent += COSTS[probe].tokens_per_run
                ran[probe] += 1
    assert spent <= per_day
    assert ran["cheap"] == 288
    assert ran["deep"] == min(48, (per_day - 28_800) // 20_000)
