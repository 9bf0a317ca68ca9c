import math
import statistics
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.analysis.measure import measure
from canary.analysis.remember import values_of
from canary.analysis.report import MOST_EXACT, Report, report
from canary.core.history import Answer, Past
from canary.core.measurement import Fingerprint
from canary.core.observation import ConnectFailed, Disconnected, Interrupted, Phase, StoppedByUs
from canary.core.verdict import Status
from tests.fakes.scripted_answer import answer, done, finish, headers, say, think

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
GOOD = {"time_to_first_token_s": 0.3, "time_to_first_visible_content_s": 2.0, "total_s": 4.0, "zero_visible": 0.0}
REFUSED = {"total_s": 0.001, "zero_visible": 1.0}
ONLY_REASONING = {"time_to_first_token_s": 0.3, "total_s": 97.0, "zero_visible": 1.0}


def one(values=GOOD, *, status=Status.PASS, **place):
    place = {"pipeline": "chat", "probe": "ask", "hop": "engine", "variant": "plain", **place}
    past = Past(run_id="r", at=NOW, values=values, fingerprint=Fingerprint(), clean=status is Status.PASS)
    return Answer(status=status, past=past, **place)


def visible_after(*seconds):
    return [one({**GOOD, "time_to_first_visible_content_s": each}) for each in seconds]


def only(answers):
    rows = report(answers)
    assert len(rows) == 1
    return rows[0]


def test_no_history_is_no_row():
    assert report([]) == ()


def test_the_table_that_one_would_make_by_hand():
    tokens = [
        {"input_tokens": 100.0, "output_tokens": 400.0, "reasoning_to_output_ratio": 0.8},
        {"input_tokens": 300.0},
    ]
    times = [(0.1, 1.0, 5.0), (0.3, 3.0, 15.0)]
    names = ("time_to_first_token_s", "time_to_first_visible_content_s", "total_s")
    row = only(
        one({**GOOD, **dict(zip(names, each, strict=True)), **more}) for each, more in zip(times, tokens, strict=True)
    )
    assert (row.requests, row.failed, row.unknown, row.zero_visible) == (2, 0, 0, 0)
    assert (row.input_tokens, row.output_tokens, row.reasoning_share) == (200.0, 400.0, 0.8)  # who tells it not is out
    assert (row.first_token.mean_s, row.first_token.p95_s) == (pytest.approx(0.2), 0.3)
    assert (row.first_visible.mean_s, row.first_visible.p95_s, row.first_visible.p99_s) == (2.0, 3.0, 3.0)
    assert (row.end_to_end.mean_s, row.end_to_end.slow_share) == (10.0, 0.5)


@pytest.mark.parametrize(
    ("came", "never", "p95", "p99"),
    [
        pytest.param(100, 0, 95.0, 99.0, id="all came"),
        pytest.param(20, 0, 19.0, 20.0, id="the nearest rank, with no rounding error"),
        pytest.param(1, 0, 1.0, 1.0, id="one answer is every percentile"),
        pytest.param(99, 1, 95.0, 99.0, id="one of 100 never came: 99 did"),
        pytest.param(98, 2, 95.0, math.inf, id="two of 100"),
        pytest.param(94, 6, math.inf, math.inf, id="six of 100"),
        pytest.param(0, 3, math.inf, math.inf, id="none came"),
    ],
)
def test_what_never_came_is_later_than_all_that_came(came, never, p95, p99):
    silent = [one(ONLY_REASONING, status=Status.FAIL)] * never
    row = only([*silent, *visible_after(*(float(each) for each in range(1, came + 1)))])
    assert (row.first_visible.p95_s, row.first_visible.p99_s) == (p95, p99)
    assert (row.first_visible.counted, row.first_visible.never, row.zero_visible) == (came + never, never, never)
    assert row.first_visible.mean_s == (pytest.approx((came + 1) / 2) if came else None)


@pytest.mark.parametrize(
    ("values", "status", "first_token", "first_visible", "end_to_end"),
    [
        pytest.param(GOOD, Status.PASS, 0.3, 2.0, 4.0, id="a good answer"),
        pytest.param(REFUSED, Status.FAIL, math.inf, math.inf, math.inf, id="a refusal is no fast answer"),
        pytest.param(ONLY_REASONING, Status.FAIL, 0.3, math.inf, 97.0, id="only reasoning: it did end"),
        pytest.param(ONLY_REASONING, Status.WARN, 0.3, math.inf, 97.0, id="only a tool call"),
        pytest.param(REFUSED, Status.UNKNOWN, None, None, None, id="a rate limit tells nothing"),
        pytest.param(ONLY_REASONING, Status.UNKNOWN, 0.3, None, 97.0, id="cut, and nobody knows why"),
        pytest.param(GOOD, Status.UNKNOWN, 0.3, 2.0, 4.0, id="one check could not tell: the times are measured"),
        pytest.param({"time_to_first_token_s": 0.3}, Status.FAIL, 0.3, None, None, id="stopped by us"),
        pytest.param({}, Status.PASS, None, None, None, id="nothing is remembered"),
    ],
)
def test_what_each_answer_counts_as(values, status, first_token, first_visible, end_to_end):
    row = only([one(values, status=status)])
    assert row.first_token.p95_s == first_token
    assert row.first_visible.p95_s == first_visible
    assert row.end_to_end.p95_s == end_to_end
    assert (row.requests, row.failed, row.unknown) == (1, status is Status.FAIL, status is Status.UNKNOWN)


@pytest.mark.parametrize(
    ("observation", "never"),
    [
        pytest.param(answer(headers(0.1), think(1), finish(2), done(2)), 1, id="whole"),
        pytest.param(answer(end=ConnectFailed(at=0.1, phase=Phase.CONNECT)), 1, id="refused"),
        pytest.param(answer(headers(0.1), think(1), end=Disconnected(at=3, phase=Phase.BODY)), 1, id="cut"),
        pytest.param(
            answer(headers(0.1), think(1), end=StoppedByUs(at=3, reason="over budget")), 0, id="stopped by us"
        ),
        pytest.param(answer(headers(0.1), think(1), end=Interrupted(at=3)), 0, id="our own shutdown"),
    ],
)
def test_only_what_could_still_have_come_is_not_called_never(observation, never):
    row = only([one(values_of(measure(observation)), status=Status.FAIL)])
    assert row.zero_visible == row.first_visible.counted == never
    assert row.end_to_end.counted == never


def test_what_was_seen_before_we_stopped_is_measured():
    stopped = answer(headers(0.1), think(1), say(2), end=StoppedByUs(at=3, reason="answered"))
    row = only([one(values_of(measure(stopped)))])
    assert (row.first_visible.mean_s, row.end_to_end.counted) == (2.0, 0)
    assert row.reasoning_share is None  # of a part says nothing of the whole


def test_slow_is_over_ten_seconds_or_never():
    row = only([*visible_after(9.0, 10.0, 10.1), one(REFUSED, status=Status.FAIL)])
    assert row.first_visible.slow_share == 0.5
    assert only([one({})]).first_visible.slow_share is None


def test_places_and_variants_are_not_mixed():
    hops = ("engine", "gateway", "edge")  # as they are asked
    asked = [("chat", "tiny", variant, hop) for hop in hops for variant in ("control", "thinking_token_budget=64")]
    asked += [("chat", "ask", "plain", hop) for hop in hops] + [("a", "ask", "plain", "only")]
    answers = [one(pipeline=p, probe=q, variant=v, hop=h) for p, q, v, h in asked * 2]
    rows = report(answers)
    assert [(row.pipeline, row.probe, row.variant, row.hop) for row in rows] == [
        ("a", "ask", "plain", "only"),
        *(("chat", "ask", "plain", hop) for hop in hops[::-1]),
        *(("chat", "tiny", "control", hop) for hop in hops[::-1]),
        *(("chat", "tiny", "thinking_token_budget=64", hop) for hop in hops[::-1]),
    ]
    assert {row.requests for row in rows} == {2}


def test_taken_one_at_a_time_or_all_at_once():
    answers = visible_after(3.0, 1.0, 2.0)
    made = Report()
    for each in answers:
        made.take(each)
        made.rows()  # looking changes nothing
    assert made.rows() == report(answers)


@given(st.lists(st.floats(0.0, 600.0), min_size=1, max_size=60), st.integers(0, 20))
def test_a_percentile_is_a_time_that_this_share_kept_to(seconds, never):
    row = only([*visible_after(*seconds), *[one(REFUSED, status=Status.FAIL)] * never])
    everything = sorted([*seconds, *[math.inf] * never])
    for share, found in ((0.95, row.first_visible.p95_s), (0.99, row.first_visible.p99_s)):
        assert sum(each <= found for each in everything) >= share * len(everything) - 1e-6
        assert sum(each < found for each in everything) < share * len(everything)


def test_so_many_that_they_are_counted_and_not_kept():
    count = MOST_EXACT + 5_000
    seconds = [0.05 * 1.0005 ** (index * 7919 % count) for index in range(count)]  # 0.05 s to 13,000 s, in no order
    made = Report()
    for each in visible_after(*seconds[:MOST_EXACT]):
        made.take(each)
    assert made.rows()[0].first_visible.exact
    for each in [*visible_after(*seconds[MOST_EXACT:]), *visible_after(0.0)]:
        made.take(each)
    found, seconds = made.rows()[0].first_visible, sorted([*seconds, 0.0])
    assert not found.exact
    assert found.p95_s == pytest.approx(seconds[math.ceil(0.95 * len(seconds)) - 1], rel=0.006)
    assert found.p99_s == pytest.approx(seconds[math.ceil(0.99 * len(seconds)) - 1], rel=0.006)
    assert found.mean_s == pytest.approx(statistics.fmean(seconds))
    assert found.slow_share == pytest.approx(sum(each > 10.0 for each in seconds) / len(seconds))
