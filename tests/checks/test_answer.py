from datetime import UTC, datetime

import pytest

from canary.analysis.measure import measure
from canary.checks import CHECKS
from canary.checks.answer import check
from canary.checks.evidence import Evidence
from canary.core.observation import (
    Completed,
    ConnectFailed,
    Disconnected,
    Exchange,
    Head,
    HttpRejected,
    Observation,
    Phase,
)
from canary.core.stream import FinishReason, ReasoningDelta, Relabelled, Terminator, VisibleDelta
from canary.core.verdict import Status

PASS, FAIL, UNKNOWN = Status.PASS, Status.FAIL, Status.UNKNOWN


def evidence(*events, expected="12", end=None, finish="stop", head=True):
    """A stream of `events` that ends as it should, unless told otherwise."""
    end = end or Completed(at=9.0)
    last = (FinishReason(at=8.0, reason=finish), Terminator(at=8.0)) if isinstance(end, Completed) else ()
    exchange = Exchange(
        protocol="openai-chat",
        url="http://127.0.0.1/v1/chat/completions",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        request={"stream": True},
        end=end,
        head=Head(at=0.1, status=200, headers={"content-type": "text/event-stream"}) if head else None,
    )
    observation = Observation(exchange=exchange, events=(*events, *last), end=end)
    return Evidence(observation=observation, measurement=measure(observation), expected_answer=expected)


def judged(text, expected="12", **settings):
    (verdict,) = check(evidence(VisibleDelta(at=1.0, text=text), expected=expected, **settings))
    assert verdict.check == "answer"
    return verdict.status, verdict.reason


RIGHT = [
    ("ANSWER: 12", "12"),
    ("answer: 12", "12"),
    ("Answer : 12", "12"),
    ("ANSWER:12", "12"),
    ("**ANSWER: 12**", "12"),
    ("**ANSWER:** 12", "12"),
    ("**ANSWER**: 12", "12"),
    ("### Final Answer: `12`", "12"),
    ("> ANSWER: 12\n", "12"),
    ("ANSWER: 12.", "12"),
    ("ANSWER: +12", "12"),
    ("ANSWER: 012", "12"),
    ("ANSWER: 12.0", "12"),
    ("ANSWER: 12 (mod 13)", "12"),
    ("ANSWER: 12 paths", "12"),
    ("ANSWER is: 12", "12"),
    ("The answer is **12**.", "12"),
    ("ANSWER: $12$", "12"),
    ("ANSWER: $\\boxed{12}$", "12"),
    ("Hence \\boxed{12}, in 3 steps.", "12"),
    ("ANSWER: \\boxed{\\text{12}}", "12"),
    ("$$\\boxed{1{,}234}$$", "1234"),
    ("ANSWER:\n12", "12"),
    ("**ANSWER:**\n\n$$\n\\boxed{12}\n$$\n", "12"),
    ("ANSWER:\n```\n12\n```", "12"),
    ("```\nANSWER: 12\n```", "12"),
    ("```python\nprint(pow(2, 5, 20))\n```\nANSWER: 12", "12"),
    ('{"steps": 3, "answer": 12}', "12"),
    ("answer: 1,234.", "1234"),
    ("ANSWER: 1,234,567", "1234567"),
    ("ANSWER: 1 234 567", "1234567"),
    ("ANSWER: 1\u202f234", "1234"),
    ("ANSWER: 1'234", "1234"),
    ("ANSWER: 1.234.567", "1234567"),
    ("ANSWER: 1\\,234", "1234"),
    ("ANSWER: -5", "-5"),
    ("ANSWER: −5", "-5"),  # noqa: RUF001
    ("ANSWER: 3.5", "3.5"),
    ("ANSWER: 7^5 mod 13 = 11", "11"),
    ("ANSWER: x = 12", "12"),
    ("ANSWER: 13\nNo, wait.\nANSWER: 12", "12"),
    ("ANSWER: 12\nI kept to the form ANSWER: <number>.", "12"),
    ("ANSWER：12", "12"),  # noqa: RUF001
    ("ＡＮＳＷＥＲ：１２", "12"),  # noqa: RUF001
    ("ANSWER: １，２３４", "1234"),  # noqa: RUF001
    ("ANSWER: ١٢", "12"),
    ("정답: 12", "12"),
    ("최종 답: **12**", "12"),
    ("정답은 12입니다.", "12"),
    ("따라서 답은 12명입니다.", "12"),
    ("ANSWER: 12입니다", "12"),
    ("答案：12。", "12"),  # noqa: RUF001
    ("**最终答案**：12", "12"),  # noqa: RUF001
    ("所以答案是12。", "12"),
    ("答：共有12种走法。", "12"),  # noqa: RUF001
    ("答えは12です。", "12"),
    ("It is 12", "12"),
    ("3 and 4 make 7, with 5 more 12.", "12"),
    ("是的。12", "12"),
    ("ANSWER: " + "9" * 400, "9" * 400),
    ("ANSWER: -" + "9" * 40, "-" + "9" * 40),
]
WRONG = [
    ("ANSWER: 13", "12"),
    ("ANSWER: -12", "12"),
    ("ANSWER: 5", "-5"),
    ("ANSWER: 112", "12"),
    ("ANSWER: 121", "12"),
    ("ANSWER: 1.2", "12"),
    ("ANSWER: 12.5", "12"),
    ("12 it was, but no.\nANSWER: 13", "12"),
    ("ANSWER: 12\nNo, wait.\nANSWER: 13", "12"),
    ("ANSWER: 13 or 14", "12"),
    ("**정답: 13**", "12"),
    ("答案：13", "12"),  # noqa: RUF001
    ("Thus \\boxed{13}.", "12"),
    ("It must be 13.", "12"),
    ("x12 and v1.2.3, and 4", "12"),
    ("ANSWER: 1234567", "123"),
    ("ANSWER: -" + "9" * 39 + "8", "-" + "9" * 40),
]
UNCLEAR = [
    ("ANSWER: 12 or 13", "12"),
    ("ANSWER: 1.234", "1234"),
    ("ANSWER: 1만 2345", "12345"),
    ("ANSWER: 12만", "12"),
    ("ANSWER: 1.2亿", "120000000"),
    ("ANSWER: 12 million", "12"),
    ("ANSWER: 2^10", "1024"),
    ("ANSWER: 12³", "12"),
    ("It is 12, found in 3 steps.", "12"),
    ("The rooms 11, 345", "11"),
]
NO_NUMBER = ["1,234.5.6", "I cannot say.", "ANSWER: <number>", "ANSWER: twelve", "정답: 없음", "v1.2.3", "<b></b>"]


@pytest.mark.parametrize(("text", "expected"), RIGHT)
def test_right(text, expected):
    assert judged(text, expected) == (PASS, "right")


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_wrong(text, expected):
    assert judged(text, expected) == (FAIL, "wrong_answer")


@pytest.mark.parametrize(("text", "expected"), UNCLEAR)
def test_what_can_be_read_in_two_ways_fails_nobody(text, expected):
    assert judged(text, expected) == (UNKNOWN, "unclear")


@pytest.mark.parametrize("text", NO_NUMBER)
def test_no_number(text):
    assert judged(text) == (FAIL, "no_answer")


@pytest.mark.parametrize(
    ("text", "finish", "status", "reason"),
    [
        pytest.param("First, 12 is even.", "length", UNKNOWN, "out_of_tokens", id="no answer line yet"),
        pytest.param("ANSWER: 1", "length", UNKNOWN, "out_of_tokens", id="the number may go on"),
        pytest.param("ANSWER: 1,", "max_tokens", UNKNOWN, "out_of_tokens", id="its next group may follow"),
        pytest.param("ANSWER: 12\nThat", "length", PASS, "right", id="a whole answer line"),
        pytest.param("ANSWER: 13\nThat", "length", FAIL, "wrong_answer", id="a whole wrong answer line"),
        pytest.param("Nothing", "length", UNKNOWN, "out_of_tokens", id="no number at all"),
    ],
)
def test_out_of_tokens(text, finish, status, reason):
    assert (status, reason) == judged(text, finish=finish)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(evidence(), "nothing_visible", id="nothing at all"),
        pytest.param(evidence(VisibleDelta(at=1.0, text=" \n")), "nothing_visible", id="white space"),
        pytest.param(
            evidence(ReasoningDelta(at=1.0, text="ANSWER: 12", source="r")), "nothing_visible", id="reasoning"
        ),
        pytest.param(
            evidence(VisibleDelta(at=1.0, text="ANSWER: 12"), Relabelled(at=2.0, tag="</think>")),
            "nothing_visible",
            id="visible text that was reasoning",
        ),
        pytest.param(
            evidence(VisibleDelta(at=1.0, text="ANSWER: 12"), end=Disconnected(at=2.0, phase=Phase.BODY)),
            "cut",
            id="cut",
        ),
        pytest.param(evidence(end=HttpRejected(at=1.0, status=500)), "rejected", id="rejected"),
        pytest.param(evidence(end=HttpRejected(at=1.0, status=429)), "rate_limited", id="rate limit"),
        pytest.param(evidence(end=ConnectFailed(at=1.0, phase=Phase.DNS), head=False), "unreachable", id="unreachable"),
    ],
)
def test_what_cannot_be_judged_is_unknown(given, reason):
    assert [(UNKNOWN, reason)] == [(verdict.status, verdict.reason) for verdict in check(given)]


def test_a_right_answer_in_the_reasoning_is_not_right():
    reasoning = ReasoningDelta(at=1.0, text="so ANSWER: 12", source="reasoning")
    (verdict,) = check(evidence(reasoning, VisibleDelta(at=2.0, text="ANSWER: 13")))
    assert (verdict.status, verdict.reason) == (FAIL, "wrong_answer")


def test_an_answer_in_many_pieces():
    pieces = [VisibleDelta(at=1.0, text=character) for character in "x = 3\nANSWER: 12"]
    assert [verdict.status for verdict in check(evidence(*pieces))] == [PASS]


def test_text_after_a_relabelled_part_is_the_answer():
    events = [VisibleDelta(at=1.0, text="13?"), Relabelled(at=2.0, tag="</think>"), VisibleDelta(at=3.0, text="12")]
    assert [verdict.status for verdict in check(evidence(*events))] == [PASS]


def test_without_a_known_answer_there_is_no_verdict():
    assert check(evidence(VisibleDelta(at=1.0, text="12"), expected=None)) == []


def test_only_the_end_of_a_long_text_is_read():
    assert judged("ANSWER: 12\n" + "x" * 70_000 + "\nanswered 13") == (FAIL, "wrong_answer")


def test_the_message_has_both_numbers_and_not_the_whole_text():
    (verdict,) = check(evidence(VisibleDelta(at=1.0, text="ANSWER: " + "9" * 5000)))
    assert "expected 12" in verdict.message
    assert len(verdict.message) < 120


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("answer: " * 20_000, id="markers"),
        pytest.param("answer" + " " * 100_000 + ":", id="blanks"),
        pytest.param("1" * 100_000, id="digits"),
        pytest.param("1," * 50_000, id="commas"),
        pytest.param("111," * 25_000 + "1", id="groups"),
        pytest.param("1." * 50_000, id="dots"),
        pytest.param("answer:" + "\n" * 60_000, id="newlines"),
        pytest.param("\\boxed{" * 20_000, id="boxes"),
        pytest.param("answer: 1e999999999", id="exponent"),
        pytest.param("=" * 100_000, id="equals"),
        pytest.param("\ud800 \x00 \u202e 12 \U0001d7d9", id="surrogate and controls"),
        pytest.param("e\u0301" * 50_000, id="combining marks"),
        pytest.param("답은 " * 30_000, id="Korean markers"),
        pytest.param("12 " * 30_000, id="numbers"),
    ],
)
def test_hostile_text_gets_a_verdict(text):
    status, reason = judged(text)
    assert reason in {"right", "wrong_answer", "no_answer", "unclear"}, status


def test_it_is_a_row_of_the_table():
    assert CHECKS["answer"] is check
