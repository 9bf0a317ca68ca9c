import math
from dataclasses import replace

import pytest

from canary.checks.idle_timeout import check, label, remedy
from canary.core.observation import Completed, StampSource, Truncated
from canary.core.timeout import Clock, StartsAt, TimerPhase
from canary.core.verdict import Status
from tests.fakes.evidence import evidence, late, outcome, rejected, timer
from tests.fakes.scripted_answer import done, finish, headers, say

HEADERS, TOTAL = TimerPhase.HEADERS, TimerPhase.TOTAL
NOW = StartsAt.REQUEST_SENT


def silent_for(gap_s, watch, **more):
    return evidence(headers(0), say(gap_s), finish(gap_s), done(gap_s), timeouts=(watch,), **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), None, id="no timer, no verdict"),
        pytest.param(rejected(500, timeouts=(timer(60),)), "UNKNOWN rejected", id="rejected"),
        pytest.param(silent_for(48.0, timer(60)), "PASS survives", id="80 %"),
        pytest.param(silent_for(48.01, timer(60)), "WARN close", id="above 80 %"),
        pytest.param(silent_for(60.0, timer(60)), "WARN close", id="exactly the limit lives"),
        pytest.param(silent_for(60.01, timer(60)), "FAIL would_fire", id="above the limit"),
        pytest.param(silent_for(60.5, timer(60, late_slack_s=1.0)), "WARN close", id="inside the late slack"),
        pytest.param(silent_for(61.0, timer(60, late_slack_s=1.0)), "FAIL would_fire", id="past the late slack"),
        pytest.param(silent_for(70.0, timer(60, late_slack_s=math.inf)), "FAIL would_fire", id="nobody looks before"),
        pytest.param(silent_for(1.41, timer(2, early_slack_s=0.6)), "WARN close", id="inside the early slack"),
        pytest.param(silent_for(1.4, timer(2, early_slack_s=0.6)), "PASS survives", id="outside the early slack"),
        pytest.param(
            evidence(headers(0), say(1), end=Truncated(at=30), timeouts=(timer(60),)),
            "UNKNOWN still_open",
            id="broke off",
        ),
        pytest.param(
            evidence(headers(0), say(1), end=Truncated(at=62), timeouts=(timer(60),)),
            "FAIL would_fire",
            id="broke off too late",
        ),
        pytest.param(
            evidence(headers(0), say(1), end=Completed(at=30), timeouts=(timer(60),)),
            "UNKNOWN still_open",
            id="a clean cut",
        ),
        pytest.param(silent_for(60.4, timer(60), **late(0.5)), "UNKNOWN prober_fault", id="our lateness explains it"),
        pytest.param(
            silent_for(60.6, timer(60), **late(0.5)), "FAIL would_fire", id="our lateness does not explain it"
        ),
        pytest.param(
            silent_for(60.4, timer(60), stamps=StampSource.KERNEL, loop_lag_s=0.5),
            "FAIL would_fire",
            id="the kernel's stamps",
        ),
        pytest.param(silent_for(59.0, timer(60, phase=HEADERS)), "PASS survives", id="headers in time"),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("watch", "help_"),
    [
        pytest.param(timer(60, Clock.BYTE), "keepalive comments from the hop below would help", id="byte"),
        pytest.param(timer(60, Clock.EVENT), "only real events do", id="event"),
        pytest.param(timer(60, Clock.TOKEN), "only text does", id="token"),
        pytest.param(timer(60, Clock.VISIBLE), "only visible text helps", id="visible"),
        pytest.param(timer(60, phase=TOTAL), "only a higher limit or a shorter answer", id="total"),
        pytest.param(timer(60, phase=HEADERS), "only earlier response headers help", id="headers"),
    ],
)
def test_each_timer_has_its_remedy(watch, help_):
    assert help_ in remedy(watch)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            silent_for(70.0, timer(60)), "t (byte idle limit 60.0 s) would have cut the stream at 60.0 s", id="fires"
        ),
        pytest.param(silent_for(70.0, timer(60)), "longest byte silence 70.0 s from 0 ms", id="where it was"),
        pytest.param(silent_for(70.0, timer(60, phase=TOTAL)), "total 70.0 s", id="total"),
        pytest.param(silent_for(55.0, timer(60)), "was 5.00 s from cutting", id="headroom"),
        pytest.param(silent_for(60.5, timer(60, late_slack_s=1)), "it fires up to 1.00 s late", id="late"),
        pytest.param(evidence(headers(0), end=Truncated(at=30), timeouts=(timer(60),)), "not before 60.0 s", id="open"),
        pytest.param(
            evidence(headers(30), end=Completed(at=30), timeouts=(timer(60, phase=HEADERS),)),
            "headers after 30.0 s",
            id="headers",
        ),
    ],
)
def test_messages(given, words):
    (verdict,) = check(given)
    assert words in verdict.message


def test_a_pass_needs_no_remedy():
    (verdict,) = check(silent_for(10.0, timer(60)))
    assert "help" not in verdict.message
    assert (verdict.subject, verdict.observed, verdict.limit, verdict.unit) == ("t", 10.0, 60, "s")


def test_one_verdict_a_timer_in_the_order_of_the_path():
    watches = tuple(timer(limit, name=name, hop="edge") for name, limit in (("a", 5), ("b", 60)))
    verdicts = check(evidence(headers(0), say(10.0), finish(10), done(10), timeouts=watches))
    assert [(verdict.subject, verdict.reason) for verdict in verdicts] == [
        ("edge/a", "would_fire"),
        ("edge/b", "survives"),
    ]


@pytest.mark.parametrize(
    ("silences", "watches", "first", "at"),
    [
        pytest.param((70,), {"a": timer(60), "b": timer(30)}, "b", "30.0 s", id="the shorter of one silence"),
        pytest.param(
            (40, 70), {"a": timer(25, phase=HEADERS, starts=NOW), "b": timer(35)}, "b", "35.0 s", id="headers came"
        ),
        pytest.param(
            (40, 70), {"byte": timer(35), "all": timer(60, phase=TOTAL)}, "byte", "35.0 s", id="the longer one later"
        ),
        pytest.param(
            (10, 70), {"byte": timer(55), "all": timer(60, phase=TOTAL)}, "all", "60.0 s", id="the shorter one later"
        ),
        pytest.param((70,), {"sure": timer(60), "b": timer(69.5, late_slack_s=1)}, None, None, id="the other may"),
    ],
)
def test_of_several_the_first_to_cut_is_named(silences, watches, first, at):
    timers = tuple(replace(watch, name=name) for name, watch in watches.items())
    words = [say(float(at)) for at in silences]
    end = silences[-1]
    verdicts = check(evidence(headers(0), *words, finish(end), done(end), timeouts=timers))
    fired = {verdict.subject: verdict for verdict in verdicts if verdict.status is Status.FAIL}
    assert {name for name, verdict in fired.items() if verdict.reason == "would_fire"} == {first or "sure"}
    for name, verdict in fired.items():
        assert (f"; {first} would have cut it first, at {at}" in verdict.message) == (name != (first or "sure"))


@pytest.mark.parametrize(("hop", "name"), [("edge", "edge/t"), (None, "t")])
def test_labels(hop, name):
    assert label(timer(60, hop=hop)) == name
