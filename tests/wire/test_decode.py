from dataclasses import replace

import pytest

from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Exchange,
    HttpRejected,
    Interrupted,
    Phase,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import ReasoningDelta, ReasoningForm, Relabelled, Violation, ViolationKind, VisibleDelta
from canary.wire.decode import UnknownProtocolError, decode, settle
from tests.fakes.exchanges import STARTED_AT, delta, exchange_of, sse

REJECTED = HttpRejected(at=9.0, status=400, message="m", content_type="application/json")


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(Completed(at=9.0), REJECTED, id="complete"),
        pytest.param(Truncated(at=9.0, detail="x"), REJECTED, id="truncated"),
        pytest.param(StoppedByUs(at=9.0, reason="x"), REJECTED, id="stopped"),
        pytest.param(DeadlineExceeded(at=9.0, phase=Phase.BODY), REJECTED, id="a body that never ended"),
        pytest.param(Disconnected(at=9.0, phase=Phase.BODY), REJECTED, id="a body that broke off"),
        pytest.param(Interrupted(at=9.0), None, id="interrupted"),
    ],
)
def test_end_of_an_error_status(end, expected):
    exchange = exchange_of(b'{"error": {"message": "m"}}', content_type="application/json", status=400, end=end)
    assert (expected or end) == decode(exchange).end


def test_end_of_an_error_without_body():
    assert HttpRejected(at=1.0, status=500) == decode(exchange_of(b"", content_type="", status=500)).end


def test_end_of_an_error_whose_body_never_came():
    end = DeadlineExceeded(at=300.0, phase=Phase.BODY)
    assert HttpRejected(at=300.0, status=503) == decode(exchange_of(b"", content_type="", status=503, end=end)).end


def test_end_of_a_good_status_is_the_exchange_s():
    assert Completed(at=2.0) == decode(exchange_of(sse("[DONE]"))).end


def test_no_connection():
    end = ConnectFailed(at=0.1, phase=Phase.DNS)
    exchange = Exchange(protocol="openai-chat", url="/", started_at=STARTED_AT, request=None, end=end)
    observation = decode(exchange)
    assert ((), end) == (observation.events, observation.end)


def test_an_unknown_protocol_is_named():
    with pytest.raises(UnknownProtocolError, match="unknown protocol 'smoke'; known are openai-chat"):
        decode(replace(exchange_of(b""), protocol="smoke"))


def test_a_closer_without_opener_relabels_what_stood_before():
    exchange = exchange_of(sse(delta(content="why"), delta(content="</think>"), delta(content="b")))
    texts = [e for e in decode(exchange).events if isinstance(e, ReasoningDelta | VisibleDelta | Relabelled)]
    assert [
        ReasoningDelta(at=1.0, text="why", source="</think>", form=ReasoningForm.UNOPENED_TAG),
        Relabelled(at=1.0, tag="</think>"),
        VisibleDelta(at=1.0, text="b"),
    ] == texts


def test_relabelling_keeps_tokens():
    events = [VisibleDelta(at=1.0, text="a", tokens=3), Relabelled(at=2.0, tag="x")]
    assert settle(exchange_of(b""), events).events[0].tokens == 3


@pytest.mark.parametrize(
    ("how", "flagged"),
    [
        pytest.param({"content_type": "application/json", "request": {"stream": True}}, True, id="asked"),
        pytest.param({"content_type": "text/event-stream", "request": {"stream": True}}, True, id="promised"),
        pytest.param({"content_type": "application/json", "request": {"stream": False}}, False, id="not asked"),
        pytest.param({"content_type": "application/json", "request": None}, False, id="request unknown"),
        pytest.param(
            {"content_type": "application/json", "request": {"stream": True}, "status": 400}, False, id="error"
        ),
    ],
)
def test_a_document_for_a_stream_is_flagged_once(how, flagged):
    body = b'\n{"choices": [{"message": {"content": "a"}}]}'
    kinds = [event.kind for event in decode(exchange_of(body, **how)).events if isinstance(event, Violation)]
    assert [ViolationKind.JSON_FOR_STREAM] * flagged == kinds


def test_a_stream_under_a_wrong_type_is_no_document():
    events = decode(exchange_of(sse("[DONE]"), content_type="application/json", request={"stream": True})).events
    assert not [event for event in events if isinstance(event, Violation)]
