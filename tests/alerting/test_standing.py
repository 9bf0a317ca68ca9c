"""From findings to levels, and what people say on top."""

import pytest

from canary.alerting.incidents import BLIND
from canary.alerting.standing import level_of, standing, with_words, worst_of
from canary.checks import CHECKS
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.status import Level
from tests.fakes.boards import DOWN, SLOW, UNFELT, ago, override, page_of, told_of

CHAT, EDGE, VLLM = ("chat", None), ("chat", "edge"), ("chat", "vllm")


@pytest.mark.parametrize(
    ("check", "severity", "level"),
    [
        pytest.param("reachable", Severity.CRITICAL, Level.MAJOR, id="no answer"),
        pytest.param("visible_content", Severity.CRITICAL, Level.MAJOR, id="an empty answer is none"),
        pytest.param("first_visible", Severity.CRITICAL, Level.PARTIAL, id="a late one"),
        pytest.param("answer", Severity.CRITICAL, Level.PARTIAL, id="a wrong one"),
        pytest.param("reachable", Severity.WARNING, Level.DEGRADED, id="not felt"),
        pytest.param(BLIND, Severity.CRITICAL, Level.OPERATIONAL, id="not told is no outage"),
        pytest.param(BLIND, Severity.WARNING, Level.OPERATIONAL, id="nor where it is a warning"),
    ],
)
def test_how_bad_it_is(check, severity, level):
    assert level_of(check, severity) is level


@pytest.mark.parametrize("check", CHECKS)
def test_a_failure_is_never_operational(check):
    assert {level_of(check, severity) for severity in Severity} <= {Level.DEGRADED, Level.PARTIAL, Level.MAJOR}


def test_nothing_is_operational():
    assert worst_of([]) is Level.OPERATIONAL


@pytest.mark.parametrize(
    ("pages", "incidents", "overrides", "expected"),
    [
        pytest.param([], [], [], {}, id="all well"),
        pytest.param([page_of(DOWN)], [DOWN], [], {CHAT: Level.MAJOR, EDGE: Level.MAJOR, VLLM: Level.MAJOR}, id="down"),
        pytest.param([page_of(UNFELT)], [UNFELT], [], {CHAT: Level.DEGRADED, VLLM: Level.DEGRADED}, id="not felt"),
        pytest.param([], [DOWN], [], {}, id="an incident whose page is not shown"),
        pytest.param([page_of(DOWN)], [], [], {}, id="a page whose incidents are over"),
        pytest.param([page_of(DOWN)], [told_of(state=State.PENDING)], [], {}, id="not often enough"),
        pytest.param(
            [page_of(SLOW)],
            [SLOW],
            [override(Level.DEGRADED, page_id="a1b2")],
            {CHAT: Level.DEGRADED, EDGE: Level.DEGRADED, VLLM: Level.DEGRADED},
            id="a word on its page",
        ),
        pytest.param(
            [page_of(SLOW)],
            [SLOW],
            [override(Level.DEGRADED, page_id="another")],
            {CHAT: Level.PARTIAL, EDGE: Level.PARTIAL, VLLM: Level.PARTIAL},
            id="a word on another page",
        ),
    ],
)
def test_standing(pages, incidents, overrides, expected):
    assert standing(pages, incidents, overrides) == expected


@pytest.mark.parametrize(
    ("found", "overrides", "expected"),
    [
        pytest.param({}, [override(Level.MAJOR, pipeline="chat")], {CHAT: Level.MAJOR}, id="worse: no hop is blamed"),
        pytest.param(
            {CHAT: Level.MAJOR, EDGE: Level.MAJOR, VLLM: Level.DEGRADED},
            [override(Level.PARTIAL, pipeline="chat")],
            {CHAT: Level.PARTIAL, EDGE: Level.PARTIAL, VLLM: Level.DEGRADED},
            id="better: no hop is worse than that",
        ),
        pytest.param(
            {},
            [override(Level.PARTIAL, pipeline="chat", at=ago(minutes=9)), override(Level.MAJOR, pipeline="chat")],
            {CHAT: Level.MAJOR},
            id="the newest word counts",
        ),
        pytest.param(
            {EDGE: Level.MAJOR},
            [override(Level.OPERATIONAL, pipeline="other")],
            {EDGE: Level.MAJOR, ("other", None): Level.OPERATIONAL},
            id="of another pipeline",
        ),
    ],
)
def test_words_on_pipelines(found, overrides, expected):
    assert with_words(found, overrides) == expected
