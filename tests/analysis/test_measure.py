from dataclasses import fields, replace

import pytest

from canary.analysis.measure import measure
from canary.core.measurement import CountSource, Fingerprint, Measurement, TokenCount
from canary.core.observation import Completed, ConnectFailed, Disconnected, Head, Phase, Read, StampSource, Truncated
from canary.core.stream import (
    EventReceived,
    FinishReason,
    Identity,
    ReasoningDelta,
    ReasoningForm,
    ReasoningPresent,
    RefusalDelta,
    Relabelled,
    ServerError,
    ToolCallDelta,
    Usage,
    UsageReport,
    Violation,
    ViolationKind,
)
from tests.fakes.scripted_answer import answer, done, finish, half, headers, ping, role, say, think

NEAR = 1e-9


def usage(at=9.0, **counts):
    return [UsageReport(at=at, usage=Usage(**counts))]


def inline(at, text="hm"):
    return [EventReceived(at=at), ReasoningDelta(at=at, text=text, source="<think>", form=ReasoningForm.INLINE_TAGS)]


def hidden(at):
    return [ReasoningPresent(at=at, source="reasoning_details")]


def tool(at, text="add"):
    return [ToolCallDelta(at=at, text=text)]


def refusal(at, text="no"):
    return [RefusalDelta(at=at, text=text)]


WHOLE = (
    headers(0.1),
    role(0.2),
    think(1.0, "hmm"),
    think(1.5, "so"),
    say(3.0, "4"),
    say(3.5, "2"),
    finish(3.6),
    done(3.7),
)


@pytest.mark.parametrize(
    ("name", "parts", "value"),
    [
        pytest.param("time_to_headers_s", WHOLE, 0.1, id="headers"),
        pytest.param("time_to_headers_s", [], None, id="no headers"),
        pytest.param("time_to_first_byte_s", WHOLE, 0.2, id="first byte of the body"),
        pytest.param("time_to_first_byte_s", [headers(0.1), ping(0.5), say(1)], 0.5, id="a comment is a byte"),
        pytest.param("time_to_first_byte_s", [headers(0.1)], None, id="headers are no body"),
        pytest.param("time_to_first_token_s", WHOLE, 1.0, id="reasoning is a token"),
        pytest.param("time_to_first_token_s", [headers(0), role(1), say(2, "\n")], 2, id="white space is a token"),
        pytest.param("time_to_first_token_s", [headers(0), tool(1)], 1, id="a tool call is a token"),
        pytest.param(
            "time_to_first_token_s", [headers(0), role(1), hidden(2)], None, id="hidden reasoning has no text"
        ),
        pytest.param("time_to_first_reasoning_token_s", WHOLE, 1.0, id="first reasoning"),
        pytest.param(
            "time_to_first_reasoning_token_s", [headers(0), hidden(2), think(3)], 2, id="hidden reasoning began"
        ),
        pytest.param("time_to_first_reasoning_token_s", [headers(0), say(2)], None, id="no reasoning"),
        pytest.param("time_to_first_visible_content_s", WHOLE, 3.0, id="first word"),
        pytest.param(
            "time_to_first_visible_content_s", [headers(0), say(1, " \n"), say(2)], 2, id="white space is no word"
        ),
        pytest.param(
            "time_to_first_visible_content_s", [headers(0), refusal(1), tool(2)], None, id="no answer, no word"
        ),
        pytest.param(
            "time_to_first_visible_content_s",
            [headers(0), [Relabelled(at=2, tag="</think>")], say(3)],
            3,
            id="after what was relabelled",
        ),
        pytest.param("keepalives", [headers(0), ping(1), ping(2), say(3)], 2, id="keepalives"),
        pytest.param("reasoning_chars", WHOLE, 5, id="reasoning characters"),
        pytest.param(
            "visible_chars", [headers(0), say(1, " 4\n"), say(2, "2")], 4, id="visible characters, white space too"
        ),
        pytest.param("tool_call_chars", [headers(0), tool(1), tool(2)], 6, id="tool call characters"),
        pytest.param("refusal_chars", [headers(0), refusal(1)], 2, id="refusal characters"),
        pytest.param("reasoning_forms", [headers(0), think(1), inline(2)], {"field", "inline_tags"}, id="forms"),
        pytest.param("reasoning_forms", [headers(0), say(1)], frozenset(), id="no form"),
        pytest.param("reasoning_blocks", [headers(0), say(1)], 0, id="no block"),
        pytest.param("reasoning_blocks", [headers(0), think(1), think(2), say(3)], 1, id="one block"),
        pytest.param(
            "reasoning_blocks", [headers(0), think(1), say(2, "\n"), think(3)], 1, id="white space parts nothing"
        ),
        pytest.param("reasoning_blocks", [headers(0), think(1), say(2), think(3)], 2, id="text parts blocks"),
        pytest.param("reasoning_blocks", [headers(0), think(1), tool(2), think(3)], 2, id="a tool call parts blocks"),
        pytest.param("finish_reason", WHOLE, "stop", id="finish reason"),
        pytest.param(
            "finish_reason", [headers(0), finish(1), [FinishReason(at=2, reason="length")]], "length", id="the last"
        ),
        pytest.param("finish_reason", [headers(0)], None, id="no finish reason"),
        pytest.param("terminator_seen", WHOLE, True, id="terminator"),
        pytest.param("terminator_seen", [headers(0), finish(1)], False, id="no terminator"),
        pytest.param(
            "usage",
            [headers(0), usage(1, completion_tokens=1), usage(2, completion_tokens=5)],
            Usage(completion_tokens=5),
            id="usage",
        ),
        pytest.param("usage", WHOLE, None, id="no usage"),
        pytest.param("usage_reports", [headers(0), usage(1), usage(2)], 2, id="usage reports"),
        pytest.param(
            "error",
            [headers(0), [ServerError(at=1, message="a", code="1"), ServerError(at=2, message="b")]],
            "a",
            id="the first error",
        ),
        pytest.param("error_code", [headers(0), [ServerError(at=1, message="a", code="1")]], "1", id="its code"),
        pytest.param("error", WHOLE, None, id="no error"),
        pytest.param("error_code", WHOLE, None, id="no code"),
        pytest.param("reads", [headers(0), half(1), half(2), say(3)], 3, id="reads"),
        pytest.param("events", [headers(0), half(1), ping(2), say(3), done(4)], 2, id="events"),
        pytest.param("visible_span_s", WHOLE, 0.5, id="visible span"),
        pytest.param("visible_span_s", [headers(0), say(1)], 0, id="one word spans nothing"),
        pytest.param("visible_span_s", [headers(0), think(1)], None, id="no word, no span"),
        pytest.param(
            "visible_span_s",
            [headers(0), say(1, " "), say(2), say(4), say(5, " ")],
            2,
            id="of words, not of white space",
        ),
        pytest.param("total_s", WHOLE, 3.7, id="total"),
    ],
)
def test_readings(name, parts, value):
    end = None if parts else Disconnected(at=1.0, phase=Phase.HEADERS)
    measured = getattr(measure(answer(*parts, end=end)), name)
    assert measured == (pytest.approx(value, abs=NEAR) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("parts", "ratio"),
    [
        pytest.param([think(1), usage(completion_tokens=10, reasoning_tokens=8), say(2)], 0.8, id="by tokens"),
        pytest.param([usage(completion_tokens=10, reasoning_tokens=10)], 1.0, id="hidden, nothing else"),
        pytest.param([usage(completion_tokens=0, reasoning_tokens=0)], None, id="nothing at all"),
        pytest.param([usage(completion_tokens=10, reasoning_tokens=0), say(1)], 0.0, id="a reported 0"),
        pytest.param([think(1), finish(2)], 1.0, id="nothing visible"),
        pytest.param(
            [think(1), say(2, " \n"), usage(completion_tokens=10, reasoning_tokens=8)], 1.0, id="white space only"
        ),
        pytest.param([think(1, "abc"), say(2, "d")], 0.75, id="by characters"),
        pytest.param([say(2, "d")], None, id="hidden reasoning cannot be ruled out"),
        pytest.param([usage(reasoning_tokens=8), say(1)], None, id="half a report"),
        pytest.param([], None, id="nothing known"),
    ],
)
def test_reasoning_to_output_ratio(parts, ratio):
    assert measure(answer(headers(0), *parts)).reasoning_to_output_ratio == ratio


@pytest.mark.parametrize(
    ("parts", "rate"),
    [
        pytest.param(
            [think(1), say(2), say(5), usage(completion_tokens=80, reasoning_tokens=60)],
            20.0,
            id="all tokens over all text",
        ),
        pytest.param(
            [say(2), say(4), usage(completion_tokens=80, reasoning_tokens=60)],
            10.0,
            id="hidden reasoning: the answer's own",
        ),
        pytest.param([say(2), say(4), usage(completion_tokens=80, reasoning_tokens=0)], 40.0, id="no reasoning"),
        pytest.param([think(1), think(3), usage(completion_tokens=80, reasoning_tokens=80)], 40.0, id="no answer"),
        pytest.param([say(2), say(4)], None, id="no tokens known"),
        pytest.param([say(2), usage(completion_tokens=80, reasoning_tokens=0)], None, id="one instant"),
        pytest.param([say(2), say(2), usage(completion_tokens=80, reasoning_tokens=0)], None, id="all at once"),
        pytest.param([say(2), say(4), usage(completion_tokens=60, reasoning_tokens=60)], None, id="no visible token"),
        pytest.param([think(1), say(3), usage(reasoning_tokens=60)], 30.0, id="the answer's count not known"),
    ],
)
def test_tokens_per_s(parts, rate):
    assert measure(answer(headers(0), *parts)).tokens_per_s == rate


@pytest.mark.parametrize(
    ("parts", "end_at", "held_s"),
    [
        pytest.param([say(1), finish(2), done(3)], 3, 0, id="closed at once"),
        pytest.param([say(1), finish(2), done(3)], 9, 6, id="after the terminator"),
        pytest.param([say(1), finish(2)], 9, 7, id="after the finish reason"),
        pytest.param([say(1)], 9, None, id="no last word"),
    ],
)
def test_held_open(parts, end_at, held_s):
    assert measure(answer(headers(0), *parts, end=Completed(at=end_at))).held_open_s == held_s


def test_one_silence_a_clock():
    silence = measure(answer(headers(1), ping(3), role(6), think(10), say(15), end=Truncated(at=22))).silence
    assert [
        (each.longest_s, each.began_at, each.censored, each.ticks)
        for each in (silence.byte, silence.event, silence.token, silence.visible)
    ] == [
        (7, 15, True, 5),
        (7, 15, True, 3),
        (10, 0, False, 2),
        (15, 0, False, 1),
    ]


def test_tokens_come_with_their_source():
    measured = measure(answer(headers(0), think(1, "a" * 40), say(2, "a" * 8)), chars_per_token=4.0)
    assert measured.reasoning_tokens == TokenCount(value=10, source=CountSource.ESTIMATED)
    assert measured.visible_tokens == TokenCount(value=2, source=CountSource.ESTIMATED)


def test_violations_are_kept_in_order():
    flaws = [
        Violation(at=at, kind=kind) for at, kind in enumerate((ViolationKind.NOT_JSON, ViolationKind.INVALID_UTF8))
    ]
    assert measure(answer(headers(0), flaws)).violations == tuple(flaws)


@pytest.mark.parametrize(
    ("parts", "of_headers", "expected"),
    [
        pytest.param([], {}, Fingerprint(), id="nobody"),
        pytest.param(
            [
                [
                    Identity(at=1, model="a", system_fingerprint="f1"),
                    Identity(at=2, model="b"),
                    Identity(at=3, system_fingerprint="f2"),
                ]
            ],
            {},
            Fingerprint(model="b", system_fingerprint="f2"),
            id="what was said last",
        ),
        pytest.param(
            [],
            {"server": "uvicorn", "x-litellm-version": "1.2"},
            Fingerprint(server="uvicorn", litellm_version="1.2"),
            id="headers",
        ),
        pytest.param([think(1), inline(2)], {}, Fingerprint(reasoning_field="reasoning"), id="the first field"),
        pytest.param(
            [hidden(1)], {}, Fingerprint(reasoning_field="reasoning_details"), id="hidden reasoning has a field"
        ),
    ],
)
def test_fingerprint(parts, of_headers, expected):
    observation = answer(headers(0), *parts)
    head = Head(at=0, status=200, headers=of_headers)
    observation = replace(observation, exchange=replace(observation.exchange, head=head))
    assert measure(observation).fingerprint == expected


def test_without_headers_nobody_is_known():
    assert measure(answer(end=ConnectFailed(at=0, phase=Phase.DNS))).fingerprint == Fingerprint()


@pytest.mark.parametrize(
    ("reads", "uncertainty_s"),
    [
        pytest.param((), 0.0, id="no reads"),
        pytest.param((Read(at=1.0, data=b"x"),), 0.0, id="exact"),
        pytest.param((Read(at=1.0, data=b"x", after=0.75), Read(at=2.0, data=b"x", after=1.5)), 0.5, id="the widest"),
        pytest.param(
            (Read(at=1.0, data=b"x", after=1.0), Read(at=2.0, data=b"x")), 0.0, id="a read that saw the socket empty"
        ),
    ],
)
def test_stamp_uncertainty(reads, uncertainty_s):
    observation = answer(*WHOLE)
    observation = replace(observation, exchange=replace(observation.exchange, reads=reads))
    assert measure(observation).stamp_uncertainty_s == uncertainty_s


def test_what_the_exchange_knows_is_passed_on():
    observation = answer(*WHOLE)
    known = {"dns_s": 0.1, "connect_s": 0.2, "tls_s": 0.3, "loop_lag_s": 0.4, "stamps": StampSource.KERNEL}
    measured = measure(replace(observation, exchange=replace(observation.exchange, **known)))
    assert {name: getattr(measured, name) for name in known} == known
    assert measured.end == observation.end


def test_what_could_not_be_measured_is_none():
    measured = measure(answer(end=ConnectFailed(at=0.5, phase=Phase.CONNECT)))
    known = {"total_s", "silence", "end", "stamps", "fingerprint", "stamp_uncertainty_s", "terminator_seen"}
    empty = {"keepalives", "reasoning_chars", "visible_chars", "reasoning_blocks", "usage_reports", "tool_call_chars"}
    empty |= {"refusal_chars", "reads", "events", "violations", "reasoning_forms"}
    names = {field.name for field in fields(Measurement)}
    assert all(not getattr(measured, name) for name in empty)
    assert {name for name in names if getattr(measured, name) is not None} == known | empty
