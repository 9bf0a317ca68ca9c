"""One answer beside its history. The scripted answer is whole after 2.2 s; its history says what is usual."""

from dataclasses import replace

import pytest

from canary.checks.baseline import check
from canary.core.measurement import CountSource, Fingerprint, TokenCount
from canary.core.observation import ConnectFailed, Phase, StoppedByUs, Truncated
from canary.core.stream import Identity
from canary.core.verdict import Status
from tests.fakes.evidence import WHOLE, evidence, late
from tests.fakes.pasts import NEW, OLD, pasts
from tests.fakes.scripted_answer import done, finish, headers, say, think

METRICS = ("time_to_first_visible_content_s", "total_s", "reasoning_tokens", "reasoning_to_output_ratio")


def past(count=30, *recent, visible=10.0, total=20.0, tokens=900, share=0.8, **more):
    """So many usual rows, then the recent ones, each a mapping of what differs from usual."""
    usual = dict(zip(METRICS, (visible, total, tokens, share), strict=True))
    rows = pasts(*[0] * (count + 4), metric="total_s", **more)
    differing = [{}] * (count + 4 - len(recent)) + list(recent)
    return tuple(
        replace(row, values={"time_to_first_token_s": 1.0} | usual | differs)
        for row, differs in zip(rows, differing, strict=True)
    )


def answer(*, visible=10.0, total=20.0, tokens=900, share=0.8, fingerprint=OLD, history=(), **more):
    given = evidence(*WHOLE, history=history, **more)
    measurement = replace(
        given.measurement,
        time_to_first_visible_content_s=visible,
        total_s=total,
        reasoning_tokens=TokenCount(value=tokens, source=CountSource.USAGE),
        reasoning_to_output_ratio=share,
        fingerprint=fingerprint,
    )
    return replace(given, measurement=measurement)


def told(given):
    return {verdict.subject: f"{verdict.status} {verdict.reason}" for verdict in check(given)}


SLOW = {"time_to_first_visible_content_s": 30.0, "total_s": 40.0}
MORE, LESS = {"reasoning_tokens": 3000}, {"reasoning_tokens": 100}


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param((), {}, id="no history"),
        pytest.param(past(19), {}, id="too little of it"),
        pytest.param(past(20), {"speed": "PASS usual", "reasoning": "PASS usual"}, id="enough"),
        pytest.param(past(30, clean=False), {}, id="none of it clean"),
        pytest.param(past(30, SLOW), {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="once before"),
        pytest.param(past(30, SLOW, SLOW), {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="twice before"),
        pytest.param(
            past(30, SLOW, SLOW, SLOW), {"speed": "FAIL slower", "reasoning": "PASS usual"}, id="not over yet"
        ),
        pytest.param(
            past(30, *[{"total_s": 25.5}] * 4), {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="halfway"
        ),
    ],
)
def test_a_usual_answer(history, expected):
    assert told(answer(history=history)) == expected


@pytest.mark.parametrize(
    ("recent", "now", "expected"),
    [
        pytest.param((), SLOW, {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="once"),
        pytest.param((SLOW,), SLOW, {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="twice"),
        pytest.param((SLOW, SLOW), SLOW, {"speed": "FAIL slower", "reasoning": "PASS usual"}, id="three in a row"),
        pytest.param(
            (SLOW, {}, {}, SLOW), SLOW, {"speed": "FAIL slower", "reasoning": "PASS usual"}, id="three of five"
        ),
        pytest.param(
            (SLOW, SLOW, {}, {}, {}), SLOW, {"speed": "PASS unsettled", "reasoning": "PASS usual"}, id="of six"
        ),
        pytest.param((MORE, MORE), MORE, {"speed": "PASS usual", "reasoning": "FAIL more_reasoning"}, id="more"),
        pytest.param((LESS, LESS), LESS, {"speed": "PASS usual", "reasoning": "FAIL less_reasoning"}, id="less"),
        pytest.param((MORE, LESS), MORE, {"speed": "PASS usual", "reasoning": "PASS unsettled"}, id="now so, now so"),
        pytest.param(
            (SLOW | MORE,) * 2, SLOW | MORE, {"speed": "FAIL slower", "reasoning": "FAIL more_reasoning"}, id="both"
        ),
    ],
)
def test_three_of_five(recent, now, expected):
    names = dict(zip(METRICS, ("visible", "total", "tokens", "share"), strict=True))
    given = answer(history=past(30, *recent), **{names[name]: value for name, value in now.items()})
    assert told(given) == expected


def test_what_it_says():
    speed, reasoning = check(answer(history=past(30, SLOW, SLOW), visible=31.0, total=42.0))
    assert speed.message == (
        "first visible text after 30.0 s in the last 5 runs, usually 10.0 s;"
        " whole answer after 40.0 s in the last 5 runs, usually 20.0 s"
    )
    assert (speed.observed, speed.unit) == (30.0, "s")
    assert speed.limit == pytest.approx(15)
    assert reasoning.message == "reasoning of 900 tokens, usually 900 tokens"
    (_, reasoning) = check(answer(history=past(30, LESS, LESS), tokens=120, share=0.3))
    assert reasoning.message == "reasoning of 120 tokens in the last 5 runs, usually 900 tokens"
    (_, reasoning) = check(answer(history=past(30, *[{"reasoning_to_output_ratio": 0.3}] * 2), share=0.2))
    assert reasoning.message == "share of reasoning 30% in the last 5 runs, usually 80%"


def test_a_new_version_is_named():
    speed, _ = check(answer(history=past(30, SLOW, SLOW), fingerprint=NEW, visible=31.0))
    assert (speed.status, speed.message.rpartition(", ")[2]) == (Status.FAIL, "since vLLM 0.22.1 -> 0.23.0")


def test_a_fingerprint_may_be_hostile():
    hostile = Fingerprint(model="\x1b[2J" + "x" * 5000, system_fingerprint="\n\u202e")
    given = answer(history=past(30, SLOW, SLOW, fingerprint=OLD), fingerprint=hostile, visible=31.0)
    for verdict in check(given):
        assert verdict.message.isprintable()
        assert len(verdict.message) < 1000


@pytest.mark.parametrize(
    ("parts", "end", "subjects"),
    [
        pytest.param((headers(0), think(1)), Truncated(at=60), {"speed"}, id="cut before any text"),
        pytest.param((headers(0), think(1), say(2)), Truncated(at=60), {"speed"}, id="cut: only when it began"),
        pytest.param((headers(0), think(1), say(2)), StoppedByUs(at=60, reason="enough"), {"speed"}, id="we stopped"),
        pytest.param((headers(0), say(2), finish(3), done(3)), Truncated(at=60), {"speed"}, id="cut after the end"),
    ],
)
def test_only_a_whole_answer_has_the_numbers_of_one(parts, end, subjects):
    slow = {"total_s": 60.0}
    verdicts = check(evidence(*parts, end=end, history=past(30, slow, slow, slow, slow, visible=2.0)))
    assert {verdict.subject for verdict in verdicts} == set(subjects)
    whole = parts[-1] == done(3)
    assert {str(verdict.status) for verdict in verdicts} <= ({"FAIL"} if whole else {"PASS"})


def test_no_answer_is_not_judged():
    verdicts = check(evidence(end=ConnectFailed(at=0.1, phase=Phase.CONNECT), history=past()))
    assert [(each.subject, each.status, each.reason) for each in verdicts] == [
        ("speed", Status.UNKNOWN, "unreachable"),
        ("reasoning", Status.UNKNOWN, "unreachable"),
    ]
    assert check(evidence(end=ConnectFailed(at=0.1, phase=Phase.CONNECT), history=past(10))) == []


@pytest.mark.parametrize(
    ("lag_s", "expected"),
    [(0.0, "FAIL slower"), (0.9, "FAIL slower"), (1.1, "UNKNOWN prober_fault")],
)
def test_our_own_lag_makes_nothing_slow(lag_s, expected):
    given = answer(history=past(30, {"total_s": 31.0}, {"total_s": 31.0}), total=31.0, **late(lag_s))
    assert told(given)["speed"] == expected


def test_an_answer_that_names_its_software_later_is_measured_with_it():
    identity = [Identity(at=1.0, model="m", system_fingerprint="vllm-0.23.0-bbbb")]
    given = evidence(headers(0), identity, say(30), finish(31), done(31), history=past(30, SLOW, SLOW))
    speed = check(given)[0]
    assert "since vLLM 0.22.1 -> 0.23.0" in speed.message
