import math

import pytest

from canary.checks.attribution import names, suspects
from canary.core.observation import Completed, Disconnected, Phase, StoppedByUs, Truncated
from canary.core.timeout import Clock, Outcome, StartsAt, TimerPhase
from tests.fakes.evidence import error, evidence, rejected, timer
from tests.fakes.scripted_answer import headers, ping, say, think

BODY = Phase.BODY
HEADERS, TOTAL = TimerPhase.HEADERS, TimerPhase.TOTAL


def cut(gap_s=60.0, how=Truncated, *, headers_at=0.5):
    """A stream that spoke until 1.0 and broke off `gap_s` later."""
    end = how(at=1.0 + gap_s, phase=BODY) if how is Disconnected else how(at=1.0 + gap_s)
    return (headers(headers_at), think(0.8), say(1.0)), {"end": end}


def found(timers, parts, more):
    return len(suspects(evidence(*parts, timeouts=tuple(timers), **more)))


@pytest.mark.parametrize(
    ("gap_s", "slack", "matches"),
    [
        pytest.param(60.0, {}, 1, id="at the limit"),
        pytest.param(58.81, {}, 1, id="2 % early"),
        pytest.param(58.79, {}, 0, id="more than 2 % early"),
        pytest.param(61.19, {}, 1, id="2 % late"),
        pytest.param(61.21, {}, 0, id="more than 2 % late"),
        pytest.param(58.3, {"early_slack_s": 0.5}, 1, id="early slack on top"),
        pytest.param(58.2, {"early_slack_s": 0.5}, 0, id="more than the early slack"),
        pytest.param(62.19, {"late_slack_s": 1.0}, 1, id="late slack on top"),
        pytest.param(62.21, {"late_slack_s": 1.0}, 0, id="more than the late slack"),
        pytest.param(61.19, {"late_slack_s": math.inf}, 1, id="endless slack: at its limit"),
        pytest.param(90.0, {"late_slack_s": math.inf}, 0, id="endless slack: not at any time"),
    ],
)
def test_the_gap_fits_the_limit(gap_s, slack, matches):
    assert found([timer(60, **slack)], *cut(gap_s)) == matches


@pytest.mark.parametrize(("gap_s", "matches"), [(1.76, 1), (1.74, 0), (2.24, 1), (2.26, 0)])
def test_a_short_timer_has_a_quarter_second(gap_s, matches):
    assert found([timer(2)], *cut(gap_s)) == matches


LOOKS = {
    Truncated: {Outcome.TRUNCATED, Outcome.CLIENT_ERROR},
    Disconnected: {Outcome.RESET, Outcome.TRUNCATED, Outcome.CLIENT_ERROR},
    Completed: {Outcome.CLEAN_END, Outcome.CLIENT_ERROR},
}


@pytest.mark.parametrize("how", LOOKS)
@pytest.mark.parametrize("looks", [None, *Outcome])
def test_the_end_fits_the_outcome(how, looks):
    assert found([timer(60, outcome=looks)], *cut(60.0, how)) == (looks is None or looks in LOOKS[how])


@pytest.mark.parametrize("looks", [None, *Outcome])
def test_an_error_in_the_stream_fits_timers_that_write_one(looks):
    parts = (headers(0), say(1.0), error(61.0))
    fits = looks in (None, Outcome.ERROR_IN_STREAM, Outcome.CLIENT_ERROR)
    assert found([timer(60, outcome=looks)], parts, {"end": Completed(at=61.0)}) == fits


def test_our_own_stop_looks_like_nobodys_timer():
    parts = (headers(0), say(1.0))
    assert found([timer(60, outcome=Outcome.TRUNCATED)], parts, {"end": StoppedByUs(at=61.0, reason="enough")}) == 0


@pytest.mark.parametrize(
    ("watch", "end_at", "matches"),
    [
        pytest.param(timer(60), 62.0, 1, id="byte: from the comment"),
        pytest.param(timer(60, Clock.EVENT), 61.0, 1, id="event: from the event"),
        pytest.param(timer(60, Clock.EVENT), 62.5, 0, id="event: a comment is none"),
        pytest.param(timer(60, Clock.TOKEN), 61.0, 1, id="token"),
        pytest.param(timer(60, Clock.VISIBLE), 60.5, 1, id="visible: from the answer"),
        pytest.param(timer(60, phase=TOTAL), 60.0, 1, id="total: from the request"),
        pytest.param(timer(60, phase=TOTAL), 62.0, 0, id="total: over"),
        pytest.param(timer(60, phase=TOTAL, starts=StartsAt.HEADERS), 60.2, 1, id="total from the headers"),
        pytest.param(timer(60, phase=HEADERS), 60.0, 0, id="headers had come"),
        pytest.param(timer(60, starts=StartsAt.HEADERS), 62.0, 1, id="idle from the headers"),
        pytest.param(timer(60, starts=StartsAt.FIRST_TICK), 62.0, 1, id="idle from the first byte"),
    ],
)
def test_each_timer_has_its_own_gap(watch, end_at, matches):
    parts = (headers(0.2), say(0.5), think(1.0), ping(2.0))
    assert found([watch], parts, {"end": Truncated(at=end_at)}) == matches


@pytest.mark.parametrize(
    ("watch", "end_at", "matches"),
    [
        pytest.param(timer(60), 70.0, 1, id="from the headers' bytes"),
        pytest.param(timer(60, Clock.TOKEN), 60.0, 1, id="from the request"),
        pytest.param(timer(60, Clock.TOKEN, starts=StartsAt.HEADERS), 70.0, 1, id="armed by the headers"),
        pytest.param(timer(60, Clock.TOKEN, starts=StartsAt.HEADERS), 60.0, 0, id="armed later than the request"),
        pytest.param(timer(60, Clock.TOKEN, starts=StartsAt.FIRST_TICK), 70.0, 0, id="never armed"),
        pytest.param(timer(60, starts=StartsAt.FIRST_TICK), 70.0, 0, id="headers are no body"),
    ],
)
def test_late_headers_and_then_nothing(watch, end_at, matches):
    assert found([watch], (headers(10.0),), {"end": Truncated(at=end_at)}) == matches


@pytest.mark.parametrize(
    ("watch", "matches"),
    [
        pytest.param(timer(60), 1, id="idle from the request"),
        pytest.param(timer(60, phase=HEADERS), 1, id="header timer"),
        pytest.param(timer(60, phase=TOTAL), 1, id="total"),
        pytest.param(timer(60, starts=StartsAt.HEADERS), 0, id="waits for headers"),
        pytest.param(timer(60, phase=TOTAL, starts=StartsAt.HEADERS), 0, id="total waits for headers"),
        pytest.param(timer(60, starts=StartsAt.FIRST_TICK), 0, id="waits for a tick"),
    ],
)
def test_before_the_headers(watch, matches):
    assert len(suspects(rejected(504, at=60.0, timeouts=(watch,)))) == matches
    assert found([watch], (), {"end": Disconnected(at=60.0, phase=Phase.HEADERS)}) == matches


@pytest.mark.parametrize(
    ("status", "own_status", "matches"),
    [(504, 504, 1), (502, 504, 0), (504, None, 1), (408, None, 1), (500, None, 0), (401, None, 0), (500, 500, 1)],
)
def test_the_status_fits_the_timer(status, own_status, matches):
    assert len(suspects(rejected(status, at=60.0, timeouts=(timer(60, header_status=own_status),)))) == matches


def test_timers_of_the_path_come_first_and_the_nearest_of_them():
    parts, more = cut(60.0)
    given = evidence(
        *parts,
        timeouts=(timer(60.9, name="far"), timer(60.1, name="near")),
        catalogue=(timer(60, name="known"),),
        **more,
    )
    assert [(suspect.timer.name, suspect.configured) for suspect in suspects(given)] == [("near", True), ("far", True)]


@pytest.mark.parametrize(
    ("timers", "said"),
    [
        pytest.param([timer(60, phase=HEADERS, hop="edge")], "cut by edge/t, headers limit 60.0 s", id="by its phase"),
        pytest.param([timer(60, Clock.EVENT)], "cut by t, event idle limit 60.0 s", id="by its clock"),
    ],
)
def test_a_culprit_is_named(timers, said):
    first = suspects(rejected(504, at=60.0, timeouts=tuple(timers)))
    assert names(first) == said


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param(["a"], "as would a t", id="one"),
        pytest.param(["a", "b", "c"], "as would a t, b t, c t", id="three"),
        pytest.param(["a", "b", "c", "d"], "as would a t, b t, c t and 1 other", id="four"),
        pytest.param(["a", "a", "b", "c", "d", "e"], "as would a t, b t, c t and 2 others", id="the same one twice"),
    ],
)
def test_suspects_are_listed(known, said):
    parts, more = cut(60.0)
    given = evidence(*parts, catalogue=tuple(timer(60, preset=name) for name in known), **more)
    assert names(suspects(given)) == said


def test_a_suspect_goes_by_its_own_setting():
    parts, more = cut(60.0)
    given = evidence(*parts, catalogue=(timer(60, preset="nginx", setting="proxy_read_timeout"),), **more)
    assert names(suspects(given)) == "as would nginx proxy_read_timeout"


@pytest.mark.parametrize(
    ("burst_at", "gap_s", "matches"),
    [
        pytest.param(60.0, 0.004, 1, id="all that was held comes with the cut"),
        pytest.param(60.0, 0.3, 0, id="the stream went on after the gap"),
        pytest.param(40.0, 0.004, 0, id="another gap than the timer's"),
    ],
)
def test_a_buffering_proxy_hands_over_what_it_held_together_with_the_cut(burst_at, gap_s, matches):
    parts = (headers(burst_at), think(burst_at), say(burst_at))
    assert found([timer(60)], parts, {"end": Truncated(at=burst_at + gap_s)}) == matches
