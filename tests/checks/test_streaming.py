from dataclasses import replace

import pytest

from canary.analysis.measure import measure
from canary.checks import CHECKS
from canary.checks.evidence import Evidence
from canary.checks.streaming import check
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    HttpRejected,
    Phase,
    StampSource,
    Truncated,
)
from canary.core.stream import (
    BytesReceived,
    FinishReason,
    ReasoningDelta,
    ReasoningForm,
    ReasoningPresent,
    VisibleDelta,
)
from canary.core.verdict import Status
from canary.wire.decode import decode
from tests.fakes.arms import arm, usage
from tests.fakes.exchanges import recorded

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN


def text(start, stop, *, deltas=50, chars=10):
    """Visible text, evenly from `start` to `stop`; every delta is a read of its own."""
    step = (stop - start) / (deltas - 1) if deltas > 1 else 0.0
    stamps = [start + step * n for n in range(deltas)]
    return [event for at in stamps for event in (BytesReceived(at=at, size=9), VisibleDelta(at=at, text="a" * chars))]


def thought(start, stop, *, deltas=50, chars=20, field="reasoning", form=ReasoningForm.FIELD):
    step = (stop - start) / (deltas - 1) if deltas > 1 else 0.0
    stamps = [start + step * n for n in range(deltas)]
    return [
        event
        for at in stamps
        for event in (BytesReceived(at=at, size=9), ReasoningDelta(at=at, text="a" * chars, source=field, form=form))
    ]


def numbers(*events):
    return measure(arm(*events).observation)


BELOW = numbers(*thought(0.2, 2.0), *text(2.0, 7.0))  # through after 7 s


READ = BytesReceived(at=2.0, size=900)
FEW_READS = numbers(
    *[READ] * 4, *[e for e in [*thought(0.2, 2.0), *text(2.0, 7.0)] if not isinstance(e, BytesReceived)]
)


def judged(*events, below=BELOW, end=None, **evidence):
    verdicts = check(arm(*events, end=end, below=below, **evidence))
    assert all(verdict.check == "streaming" for verdict in verdicts)
    return {verdict.subject: (verdict.status, verdict.reason) for verdict in verdicts}


VISIBLE = [
    pytest.param(text(2.5, 7.5), BELOW, (PASS, "streams"), id="as below"),
    pytest.param(text(7.5, 7.6), BELOW, (FAIL, "buffered"), id="one burst after the end"),
    pytest.param(text(8.0, 8.0), BELOW, (FAIL, "buffered"), id="all at once"),
    pytest.param(text(7.1, 8.05), BELOW, (FAIL, "buffered"), id="19 %"),
    pytest.param(text(7.1, 8.15), BELOW, (PASS, "streams"), id="21 %"),
    pytest.param(text(4.3, 4.4), BELOW, (PASS, "streams"), id="a burst, but before the hop below was half through"),
    pytest.param(text(4.6, 4.7), BELOW, (FAIL, "buffered"), id="a burst after half of it: no two answers take as long"),
    pytest.param(text(30.0, 35.0), BELOW, (PASS, "streams"), id="late, but streaming"),
    pytest.param(text(7.5, 8.0, deltas=5), BELOW, (PASS, "streams"), id="a tenth of the text in a tenth of the time"),
    pytest.param(text(7.5, 7.55, deltas=5), BELOW, (FAIL, "buffered"), id="a tenth of the text in a hundredth"),
    pytest.param(text(7.5, 7.5, deltas=1), BELOW, None, id="too little text here"),
    pytest.param(text(9.0, 9.0), numbers(*text(2.0, 2.24)), None, id="too short a span below"),
    pytest.param(text(9.0, 9.0), numbers(*text(2.0, 2.26)), (FAIL, "buffered"), id="just long enough below"),
    pytest.param(text(9.0, 9.0), numbers(*text(2.0, 7.0, deltas=4, chars=125)), None, id="four deltas below"),
    pytest.param(
        text(9.0, 9.0), numbers(*text(2.0, 7.0, deltas=5, chars=100)), (FAIL, "buffered"), id="five deltas below"
    ),
    pytest.param(text(9.0, 9.0), numbers(*text(8.0, 8.0)), None, id="below is a burst too"),
    pytest.param([], BELOW, None, id="nothing visible here"),
    pytest.param(text(9.0, 9.0), numbers(*thought(0.2, 2.0)), None, id="nothing visible below"),
    pytest.param(text(2.5, 7.5, deltas=4, chars=125), BELOW, (WARN, "coalesced"), id="four lumps for fifty"),
    pytest.param(text(2.5, 7.5, deltas=5, chars=100), BELOW, (PASS, "streams"), id="a tenth of the deltas"),
    pytest.param(text(2.5, 7.5, deltas=2, chars=250), BELOW, (WARN, "coalesced"), id="two lumps"),
    pytest.param(text(2.5, 7.5, deltas=4, chars=125), FEW_READS, (PASS, "streams"), id="below came in four reads too"),
    pytest.param(
        [VisibleDelta(at=at, text="a" * 10) for at in (2.5, 7.5) for _ in range(25)],
        BELOW,
        (WARN, "coalesced"),
        id="many deltas at two instants",
    ),
]


@pytest.mark.parametrize(("events", "below", "expected"), VISIBLE)
def test_visible_text(events, below, expected):
    assert judged(*events, below=below).get("visible") == expected


REASONING = [
    pytest.param(thought(0.3, 2.0), {}, (PASS, "forwarded"), id="forwarded"),
    pytest.param([], {}, (WARN, "reasoning_stripped"), id="stripped, and nobody said what it should be"),
    pytest.param([], {"forwards_reasoning": True}, (FAIL, "reasoning_stripped"), id="stripped, against its word"),
    pytest.param([], {"forwards_reasoning": False}, (PASS, "reasoning_stripped"), id="stripped on purpose"),
    pytest.param(
        [ReasoningPresent(at=1.0, source="redacted")],
        {"forwards_reasoning": True},
        (FAIL, "reasoning_stripped"),
        id="redacted is not shown",
    ),
    pytest.param(thought(0.3, 2.0, field="reasoning_content"), {}, (PASS, "field_renamed"), id="a well-known name"),
    pytest.param(thought(0.3, 2.0, field="cot"), {}, (WARN, "field_renamed"), id="a name that nobody reads"),
    pytest.param(
        thought(0.3, 2.0, field="<think>", form=ReasoningForm.INLINE_TAGS),
        {},
        (PASS, "forwarded"),
        id="in tags: the leak check's business",
    ),
    pytest.param(thought(2.0, 2.0, deltas=1, chars=1000), {}, (WARN, "coalesced"), id="one lump for fifty"),
    pytest.param(thought(1.0, 2.0, deltas=2, chars=500), {}, (WARN, "coalesced"), id="two lumps"),
    pytest.param(thought(1.0, 2.0, deltas=3, chars=400), {}, (PASS, "forwarded"), id="three lumps stream"),
    pytest.param(thought(1.0, 1.0, deltas=1, chars=20), {}, (PASS, "forwarded"), id="short reasoning takes one"),
]


@pytest.mark.parametrize(("events", "evidence", "expected"), REASONING)
def test_reasoning(events, evidence, expected):
    assert judged(*events, *text(2.0, 7.0), **evidence)["reasoning"] == expected


@pytest.mark.parametrize(
    ("below", "events", "expected"),
    [
        pytest.param(numbers(*thought(0.2, 2.0, chars=3), *text(2.0, 7.0)), [], None, id="150 characters below"),
        pytest.param(
            numbers(*thought(0.2, 2.0, chars=4), *text(2.0, 7.0)), [], (WARN, "reasoning_stripped"), id="200 below"
        ),
        pytest.param(numbers(*text(2.0, 7.0)), thought(0.2, 2.0), None, id="none below"),
        pytest.param(
            numbers(*thought(0.2, 2.0), *text(2.0, 7.0), usage(250, 375)),
            [usage(0, 125)],
            (UNKNOWN, "no_reasoning"),
            id="reported to hold none this time",
        ),
        pytest.param(BELOW, [usage(0, 125)], (WARN, "reasoning_stripped"), id="a 0 by a chain that reports nothing"),
        pytest.param(
            numbers(*thought(0.2, 2.0, deltas=5, chars=100), *text(2.0, 7.0)),
            thought(1.0, 1.0, deltas=1, chars=500),
            (PASS, "forwarded"),
            id="below came in few pieces too",
        ),
        pytest.param(
            FEW_READS, thought(1.0, 1.0, deltas=1, chars=1000), (PASS, "forwarded"), id="below came in few reads"
        ),
    ],
)
def test_reasoning_against_what_is_below(below, events, expected):
    assert judged(*events, *text(2.0, 7.0), below=below).get("reasoning") == expected


ALONE = [
    pytest.param(
        [*thought(0.2, 2.0), *text(2.0, 7.0)], {}, {"visible": "streams", "reasoning": "forwarded"}, id="both"
    ),
    pytest.param(text(2.0, 2.2), {}, {}, id="too short to tell"),
    pytest.param(text(2.0, 7.0, deltas=4), {}, {}, id="too few deltas to tell"),
    pytest.param(thought(0.2, 2.0, chars=3), {}, {}, id="little reasoning"),
    pytest.param([*text(2.0, 7.0), usage(50, 175)], {}, {"visible": "streams"}, id="hidden, and nobody said it should"),
    pytest.param(
        [*text(2.0, 7.0), usage(50, 175)], {"forwards_reasoning": False}, {"visible": "streams"}, id="hidden on purpose"
    ),
    pytest.param(
        [*text(2.0, 7.0), usage(50, 175)],
        {"forwards_reasoning": True},
        {"visible": "streams", "reasoning": "reasoning_stripped"},
        id="hidden against its word",
    ),
    pytest.param(
        [*text(2.0, 7.0), usage(0, 175)], {"forwards_reasoning": True}, {"visible": "streams"}, id="none was reported"
    ),
    pytest.param(text(2.0, 7.0), {"forwards_reasoning": True}, {"visible": "streams"}, id="nothing was reported"),
]


@pytest.mark.parametrize(("events", "evidence", "reasons"), ALONE)
def test_the_lowest_hop_has_nothing_below(events, evidence, reasons):
    found = judged(*events, below=None, **evidence)
    assert {subject: reason for subject, (_, reason) in found.items()} == reasons
    fails = {subject for subject, (status, _) in found.items() if status is FAIL}
    assert fails == {subject for subject, reason in reasons.items() if reason == "reasoning_stripped"}


@pytest.mark.parametrize("below", [None, BELOW], ids=["alone", "above another"])
@pytest.mark.parametrize(
    ("events", "buffered"),
    [
        pytest.param([*thought(7.0, 7.0), *text(7.0, 7.0)], True, id="reasoning and answer at once"),
        pytest.param([*thought(7.0, 7.02), *text(7.02, 7.05)], True, id="30,000 characters a second"),
        pytest.param([*thought(7.0, 7.03), *text(7.03, 7.07)], False, id="20,000 characters a second"),
        pytest.param([*thought(0.2, 0.2), *text(0.2, 0.2)], False, id="at once, and no wait: a cache"),
        pytest.param([*thought(0.3, 0.3, deltas=500), *text(0.3, 0.3)], False, id="the wait is what writing takes"),
        pytest.param([*thought(7.0, 7.0, deltas=9), *text(7.0, 7.0)], False, id="hardly any reasoning"),
        pytest.param(thought(7.0, 7.0), False, id="reasoning alone"),
    ],
)
def test_everything_in_one_burst_was_held_back(events, buffered, below):
    verdicts = check(arm(*events, below=below))
    assert any("no engine writes that fast" in verdict.message for verdict in verdicts) is buffered


def test_one_json_document_is_not_buffered():
    events = [*thought(7.5, 7.5, deltas=1, chars=1000), *text(7.5, 7.5, deltas=1, chars=500)]
    assert judged(*events, request={"stream": False}) == {"reasoning": (PASS, "forwarded")}
    assert judged(*events) == {"visible": (FAIL, "buffered"), "reasoning": (WARN, "coalesced")}


def test_what_comes_too_soon_was_not_stripped():
    assert judged(*text(0.5, 5.5), forwards_reasoning=True)["reasoning"] == (UNKNOWN, "no_reasoning")
    assert judged(*text(0.7, 5.7), forwards_reasoning=True)["reasoning"] == (FAIL, "reasoning_stripped")
    copied = numbers(*thought(0.05, 2.0), *text(0.05, 7.0))
    cached = [*text(0.01, 0.02), FinishReason(at=0.02, reason="stop")]
    assert judged(*cached, below=copied, end=Completed(at=0.02))["reasoning"] == (UNKNOWN, "no_reasoning")
    quick = numbers(*thought(0.01, 0.03), *text(0.055, 5.0))
    assert judged(*text(0.01, 5.0), below=quick, forwards_reasoning=True)["reasoning"] == (FAIL, "reasoning_stripped")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        pytest.param(ConnectFailed(at=0.0, phase=Phase.DNS), "unreachable", id="unreachable"),
        pytest.param(HttpRejected(at=0.1, status=500), "rejected", id="500"),
        pytest.param(HttpRejected(at=0.1, status=429), "rate_limited", id="429"),
    ],
)
def test_no_answer_is_unknown(end, reason):
    assert judged(end=end) == {"visible": (UNKNOWN, reason), "reasoning": (UNKNOWN, reason)}


@pytest.mark.parametrize(
    "end", [Truncated(at=8.0), DeadlineExceeded(at=8.0, phase=Phase.BODY)], ids=["cut", "deadline"]
)
def test_a_stream_that_broke_off_is_unknown(end):
    assert judged(*text(7.5, 7.5), end=end)["visible"] == (UNKNOWN, "cut")
    assert judged(end=end) == {"reasoning": (UNKNOWN, "cut")}


def test_a_stream_that_broke_off_after_its_first_words_was_stripped_all_the_same():
    assert judged(*text(7.5, 7.5), end=Truncated(at=8.0))["reasoning"] == (WARN, "reasoning_stripped")


@pytest.mark.parametrize(
    "events", [text(4.6, 4.6), [*thought(7.0, 7.0), *text(7.0, 7.0)]], ids=["answer", "reasoning and answer"]
)
def test_our_own_lag_is_not_a_burst(events):
    late = arm(*events, below=BELOW)
    exchange = replace(late.observation.exchange, stamps=StampSource.LOOP, loop_lag_s=0.5)
    observation = replace(late.observation, exchange=exchange)
    found = check(replace(late, observation=observation, measurement=measure(observation)))
    assert {verdict.subject: verdict.reason for verdict in found}["visible"] == "prober_fault"


def test_a_burst_is_told_with_its_numbers():
    verdict = next(v for v in check(arm(*text(7.5, 7.6), below=BELOW)) if v.subject == "visible")
    assert verdict.message == (
        "500 visible characters came within 0.10 s, the first after 7.50 s;"
        " the hop below streams as much over 5.00 s and is through after 7.00 s"
    )
    assert (verdict.observed, verdict.unit) == (pytest.approx(0.1), "s")
    assert verdict.limit == pytest.approx(1.0)


def test_it_is_in_the_table():
    assert CHECKS["streaming"] is check


def of_file(name, below=None):
    exchange = recorded(name)
    observation = decode(exchange)
    return Evidence(observation=observation, measurement=measure(observation), below=below)


def test_recorded_an_agent_that_strips_reasoning():
    """Its time is compressed: the record of the hop below is a made-up one that shows reasoning."""
    found = {v.subject: v.reason for v in check(of_file("edge-agent-strips-reasoning", below=BELOW))}
    assert found["reasoning"] == "reasoning_stripped"


def test_recorded_the_gateway_renames_the_field():
    below = of_file("vllm-chat-budget16").measurement
    below = type(below)(
        **{n: getattr(below, n) for n in below.__slots__ if n != "reasoning_chars"}, reasoning_chars=200
    )
    found = {v.subject: (v.status, v.reason) for v in check(of_file("litellm-chat-budget16", below=below))}
    assert found["reasoning"] == (PASS, "field_renamed")
