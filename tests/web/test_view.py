from dataclasses import replace

import pytest

from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.observation import ConnectFailed, Phase, StoppedByUs
from canary.core.verdict import Status
from canary.web.view import NEVER_S, view_of
from canary.web.words import Words
from tests.fakes.evidence import evidence, headers, timer
from tests.fakes.scripted_answer import done, finish, say, think
from tests.fakes.snapshots import finding, incident, page, pipeline, result, run, snapshot

FAST = evidence(
    request={"stream": True}, first_visible_limit_s=20.0, timeouts=(timer(60.0, name="idle", hop="browser"),)
)
SLOW = evidence(
    headers(0.1), say(50.0), finish(50.1), done(50.2), first_visible_limit_s=20.0, timeouts=(timer(30.0, hop="edge"),)
)
SILENT = evidence(headers(0.1), think(1.0), finish(2.0), done(2.1), first_visible_limit_s=20.0)
STOPPED = evidence(headers(0.1), think(1.0), end=StoppedByUs(at=1.1, reason="enough"))


def seen(given):
    return view_of(given, Words(language="en"))


def card(*evidences, hop="vllm", variant="plain"):
    runs = [run(result(each, hop=hop, variant=variant), probe="heavy") for each in evidences]
    (row,) = seen(snapshot(pipeline(), runs=runs)).rows
    return next(each for each in row.cards if each.name == hop)


def test_hops_stand_in_the_order_of_the_path():
    (row,) = seen(snapshot(pipeline(hops=("edge", "agent", "vllm")), runs=[run(result(FAST))])).rows
    assert [(each.name, each.probed, each.status) for each in row.cards] == [
        ("browser", False, None),
        ("edge", True, None),
        ("agent", True, None),
        ("vllm", True, Status.PASS),
    ]


@pytest.mark.parametrize(
    ("evidences", "first_visible_s", "status"),
    [
        pytest.param([FAST], 2.0, Status.PASS, id="well"),
        pytest.param([FAST, SLOW], 50.0, Status.FAIL, id="the slowest"),
        pytest.param([SLOW, SILENT], NEVER_S, Status.FAIL, id="never is slower than any"),
        pytest.param([FAST, STOPPED], 2.0, Status.UNKNOWN, id="what we stopped tells nothing"),
        pytest.param([STOPPED], None, Status.UNKNOWN, id="nothing told"),
        pytest.param([evidence(end=ConnectFailed(at=0.1, phase=Phase.DNS))], NEVER_S, Status.FAIL, id="unreachable"),
    ],
)
def test_what_a_card_says(evidences, first_visible_s, status):
    found = card(*evidences)
    assert (found.first_visible_s, found.status) == (first_visible_s, status)
    assert (found.said is None) is (status is Status.PASS)


def test_a_stopped_answer_has_no_share_of_reasoning():
    assert card(STOPPED).reasoning_share is None
    assert card(FAST).reasoning_share is not None


def test_a_budget_treatment_gives_no_time():
    assert card(SLOW, variant="thinking_budget=64").first_visible_s is None


def test_a_limit_that_was_missed_comes_before_a_slower_answer_without_one():
    slower = replace(SLOW, first_visible_limit_s=None)
    late = evidence(headers(0.1), say(25.0), finish(25.1), done(25.2), first_visible_limit_s=20.0)
    runs = [run(result(slower), probe="deep"), run(result(late), probe="heavy")]
    (row,) = seen(snapshot(pipeline(), runs=runs)).rows
    assert (row.cards[-1].first_visible_s, row.cards[-1].limit_s) == (25.0, 20.0)


def test_the_timeout_that_came_nearest():
    nearest = card(FAST, SLOW).nearest
    assert (nearest.timeout, nearest.left) == ("edge/t", pytest.approx(1 - 49.9 / 30))


def test_a_pending_incident_is_no_open_one():
    pending = incident("chat", state=State.PENDING)
    (row,) = seen(snapshot(pipeline(), incidents=(pending,))).rows
    assert row.severity is None


def test_a_row_shows_its_worst_incident():
    mild = incident("chat", incident_id="1", found=finding(severity=Severity.WARNING))
    (row,) = seen(snapshot(pipeline(), incidents=(mild, incident("chat", incident_id="2")))).rows
    assert row.severity is Severity.CRITICAL


FAILED = run(result(SLOW))
WELL = run(result(FAST))


@pytest.mark.parametrize(
    ("runs", "open_page", "summary"),
    [
        pytest.param([WELL], False, "waiting", id="a hop has not answered"),
        pytest.param([replace(WELL, results=(result(FAST), result(FAST, hop="edge")))], False, "all", id="all pass"),
        pytest.param([FAILED], False, "troubled", id="a failure that nobody was told of"),
        pytest.param([run(result(STOPPED))], False, "unknown", id="what cannot be told is not well"),
        pytest.param([WELL], True, "incidents", id="an open incident comes first"),
        pytest.param([], False, "waiting", id="nothing yet"),
    ],
)
def test_the_summary_says_the_worst(runs, open_page, summary):
    fires = incident("chat")
    more = {"incidents": (fires,), "pages": (page(fires),)} if open_page else {}
    assert seen(snapshot(pipeline(), runs=runs, **more)).summary == summary


def test_no_pipeline_is_not_called_well():
    assert seen(snapshot()).summary == "waiting"


def test_two_probes_that_see_the_same_say_it_once():
    one = incident("chat", incident_id="1", found=finding("held back 1799 characters"))
    other = incident("chat", incident_id="2", probe="tiny", found=finding("held back 4077 characters"))
    (shown,) = seen(snapshot(pipeline(), incidents=(one, other), pages=(page(one, other),))).opens
    assert shown.messages == ("held back 1799 characters",)
    assert shown.seen_by == ("chat / reasoning-heavy", "chat / tiny")


def test_a_card_leads_to_the_run_that_it_speaks_of():
    runs = [run(result(FAST), run_id="well"), run(result(SLOW), run_id="slow", probe="other")]
    for given, run_id in ((runs, "slow"), (runs[:1], "well")):
        (row,) = seen(snapshot(pipeline(), runs=given)).rows
        assert next(each for each in row.cards if each.name == "vllm").run_id == run_id


def test_of_timeouts_that_would_fire_the_first_to_cut_is_shown():
    """Not the one that is over by most."""
    timers = (timer(30.0, name="slow", hop="edge"), timer(3.0, name="quick", hop="ui"))
    given = evidence(headers(0.1), think(4.1), say(200.0), finish(200.1), done(200.2), timeouts=timers)
    found = card(given).nearest
    assert (found.timeout, found.limit_s) == ("ui/quick", 3.0)
    lefts = {
        each.subject: 1 - each.observed / each.limit for each in result(given).verdicts if each.limit and each.subject
    }
    assert lefts["edge/slow"] < lefts["ui/quick"] < 0
