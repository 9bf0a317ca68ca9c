"""What holds for every row of CHECKS, so that a new check is held to it the moment it is added."""

import math

import pytest

from canary.checks import CHECKS, judge
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Interrupted,
    Phase,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import (
    FinishReason,
    ReasoningDelta,
    RefusalDelta,
    TagSeen,
    Terminator,
    ToolCallDelta,
    Usage,
    Violation,
    ViolationKind,
)
from canary.core.verdict import Status
from tests.fakes.evidence import WHOLE, error, evidence, late, rejected, reported, timer
from tests.fakes.scripted_answer import done, finish, headers, say, think

EXPECTING = {
    "timeouts": (timer(2, name="short"), timer(60, name="long")),
    "catalogue": (timer(60, preset="known"),),
    "below": evidence().measurement,
    "first_visible_limit_s": 1.5,
    "expected_answer": "42",
}

UNUSABLE = {
    "refused": evidence(end=ConnectFailed(at=0.1, phase=Phase.CONNECT), **EXPECTING),
    "interrupted": evidence(end=Interrupted(at=0.1), **EXPECTING),
    "interrupted later": evidence(headers(0), think(1), say(2), end=Interrupted(at=3), **EXPECTING),
    "rate limited": rejected(429, "later", **EXPECTING),
    "rejected": rejected(400, "no", **EXPECTING),
    "server error": rejected(503, "no", **EXPECTING),
    "no headers": evidence(end=Disconnected(at=60, phase=Phase.HEADERS), **EXPECTING),
    "no headers in time": evidence(end=DeadlineExceeded(at=60, phase=Phase.HEADERS), **EXPECTING),
    "an error instead of an answer": evidence(headers(0), error(1), done(1), **EXPECTING),
}

USABLE = {
    "whole": evidence(**EXPECTING),
    "reasoning only": evidence(headers(0), think(1), finish(2), done(2), **EXPECTING),
    "empty": evidence(headers(0), done(2), **EXPECTING),
    "headers only": evidence(headers(0), end=DeadlineExceeded(at=60, phase=Phase.BODY), **EXPECTING),
    "cut": evidence(headers(0), think(1), say(2), end=Truncated(at=62), **EXPECTING),
    "cut cleanly": evidence(headers(0), say(2), end=Completed(at=9), **EXPECTING),
    "error later": evidence(headers(0), say(2), error(3), **EXPECTING),
    "our own lag": evidence(*WHOLE, **EXPECTING, **late(1.0)),
}

HOSTILE_TEXTS = {
    "escape codes": "\x1b[2J\x1b]0;owned\x07\x1b[31m",
    "a megabyte": "a" * 2**20,
    "NUL": "\0before\0after\0",
    "right to left": "\u202eevil\u2066 \u05d0\u05d1",
    "lines": "one\ntwo\r\nthree\u2028four\x85five",
    "format": "{0} {x.__class__} %s %(x)s ${HOME}",
    "markup": "<script>alert(1)</script> & <@U123> *bold*",
    "backticks": "`" * 5000,
    "openers": "<|" * 5000,
    "half a surrogate pair": "\ud800",
}


def hostile(text):
    """The same text in every place that a target fills."""
    return [
        rejected(500, text, content_type=text, **EXPECTING),
        rejected(400, f"max_tokens {text}", **EXPECTING),
        evidence(end=ConnectFailed(at=0, phase=Phase.DNS, detail=text), **EXPECTING),
        evidence(headers(0), error(1, text, code=text), **EXPECTING),
        evidence(headers(0), say(1, text), error(2, text, code=text), **EXPECTING),
        evidence(
            headers(0),
            [ReasoningDelta(at=1, text=text, source=text)],
            say(1, text),
            [ToolCallDelta(at=1, text=text), RefusalDelta(at=1, text=text), TagSeen(at=1, tag=text, stray=True)],
            [Violation(at=1, kind=ViolationKind.NOT_JSON, detail=text)],
            reported(1, Usage(completion_tokens=10**18, reasoning_tokens=10**18)),
            [FinishReason(at=2, reason=text), Terminator(at=2)],
            **EXPECTING,
        ),
        evidence(headers(0), say(1), [FinishReason(at=2, reason=text)], end=Truncated(at=3), **EXPECTING),
        evidence(headers(0), think(1), [FinishReason(at=2, reason=text), Terminator(at=2)]),
        evidence(headers(0), say(1), end=StoppedByUs(at=2, reason=text)),
    ]


def every(given_by_name):
    return [pytest.param(name, given, id=f"{name}: {what}") for name in CHECKS for what, given in given_by_name.items()]


@pytest.mark.parametrize(("name", "given"), every(UNUSABLE))
def test_only_reachable_judges_what_is_no_answer(name, given):
    statuses = {verdict.status for verdict in CHECKS[name](given)}
    if name == "reachable":
        assert statuses <= {Status.FAIL, Status.UNKNOWN}
        assert statuses
    else:
        assert statuses <= {Status.UNKNOWN}


@pytest.mark.parametrize(("name", "given"), every({**UNUSABLE, **USABLE}))
def test_every_verdict_is_well_formed(name, given):
    for verdict in CHECKS[name](given):
        assert verdict.check == name
        assert verdict.reason.replace("_", "").isalnum()
        assert verdict.message.strip() == verdict.message != ""
        assert verdict.message.isprintable()
        numbers = [number for number in (verdict.observed, verdict.limit) if number is not None]
        assert all(math.isfinite(number) for number in numbers)
        assert (verdict.unit is not None) == bool(numbers)


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
@pytest.mark.parametrize("name", CHECKS)
def test_hostile_text_does_no_harm(name, text):
    for given in hostile(text):
        for verdict in CHECKS[name](given):
            assert verdict.message.isprintable()
            assert len(verdict.message) < 2000


def test_judge_asks_every_check_in_the_order_of_the_table():
    asked = [verdict.check for verdict in judge(USABLE["whole"])]
    assert list(dict.fromkeys(asked)) == [name for name in CHECKS if name in asked]
    assert set(asked) >= {"reachable", "complete", "protocol", "visible_content", "idle_timeout", "usage"}


def test_judge_can_be_told_which():
    assert {verdict.check for verdict in judge(USABLE["whole"], only=("usage", "complete"))} == {"usage", "complete"}
