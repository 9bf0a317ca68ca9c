import math

import pytest

from canary.checks.complete import check
from canary.core.observation import Completed, DeadlineExceeded, Disconnected, Phase, StoppedByUs, Truncated
from canary.core.stream import EventReceived, FinishReason, Violation, ViolationKind
from canary.core.timeout import Outcome
from tests.fakes.evidence import error, evidence, outcome, rejected, timer
from tests.fakes.scripted_answer import done, finish, headers, ping, say, think

BODY = Phase.BODY
JSON = "application/json"
FOREIGN = [EventReceived(at=1), EventReceived(at=2)]
AFTER = 1e-6


def reason(text):
    return [FinishReason(at=2.1, reason=text)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), "PASS ended", id="whole"),
        pytest.param(rejected(500), "UNKNOWN rejected", id="rejected"),
        pytest.param(evidence(headers(0), say(1), error(2)), "FAIL error_in_stream", id="error after text"),
        pytest.param(
            evidence(headers(0), say(1), error(2, code="500"), done(2)), "FAIL error_in_stream", id="and a terminator"
        ),
        pytest.param(evidence(headers(0), say(1), reason("error"), done(3)), "FAIL aborted", id="finish reason error"),
        pytest.param(evidence(headers(0), say(1), reason("abort"), done(3)), "FAIL aborted", id="abort"),
        pytest.param(
            evidence(headers(0), say(1), reason("insufficient_system_resource"), done(3)),
            "FAIL aborted",
            id="resources",
        ),
        pytest.param(evidence(headers(0), say(1), reason("length"), done(3)), "PASS ended", id="length is an end"),
        pytest.param(
            evidence(headers(0), say(1), end=StoppedByUs(at=2, reason="enough")), "UNKNOWN stopped", id="stopped"
        ),
        pytest.param(
            evidence(headers(0), say(1), end=StoppedByUs(at=2, reason="byte cap of 16777216 bytes")),
            "FAIL oversized",
            id="an answer without an end",
        ),
        pytest.param(
            evidence(headers(0), say(1), end=StoppedByUs(at=2, reason="byte cap of 1 bytes"), request={"stream": True}),
            "UNKNOWN stopped",
            id="an answer as long as nobody forbade it to be",
        ),
        pytest.param(
            evidence(
                headers(0),
                say(1),
                end=StoppedByUs(at=2, reason="byte cap of 67108864 bytes"),
                request={"stream": True, "max_tokens": 131072},
            ),
            "UNKNOWN stopped",
            id="more than we hold, and not more than was asked for",
        ),
        pytest.param(evidence(headers(0), say(1), done(3)), "WARN unterminated", id="terminator without reason"),
        pytest.param(evidence(headers(0), say(1), finish(2)), "WARN no_terminator", id="reason without terminator"),
        pytest.param(
            evidence(headers(0), say(1), finish(2), request={"stream": False}),
            "PASS ended",
            id="no stream, no terminator",
        ),
        pytest.param(evidence(headers(0), say(1), finish(2), request="?"), "PASS ended", id="an unknown request"),
        pytest.param(
            evidence(headers(0), say(1), [Violation(at=1, kind=ViolationKind.JSON_FOR_STREAM)], finish(2)),
            "PASS ended",
            id="a document for a stream has no terminator",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), done(2), end=Completed(at=4)),
            "PASS ended",
            id="held 2 s",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), done(2), end=Completed(at=4 + AFTER)),
            "WARN held_open",
            id="held more than 2 s",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), done(2), end=DeadlineExceeded(at=9, phase=BODY)),
            "WARN held_open",
            id="held until the deadline",
        ),
        pytest.param(evidence(headers(0), end=DeadlineExceeded(at=9, phase=BODY)), "FAIL hung", id="headers only"),
        pytest.param(
            evidence(headers(0), ping(5), end=DeadlineExceeded(at=9, phase=BODY)), "FAIL hung", id="and comments"
        ),
        pytest.param(
            evidence(headers(0), think(1), end=DeadlineExceeded(at=13, phase=BODY)),
            "FAIL deadline",
            id="still busy",
        ),
        pytest.param(
            evidence(headers(0), think(1), end=DeadlineExceeded(at=13 + AFTER, phase=BODY)),
            "FAIL stalled",
            id="silent for too long",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), end=DeadlineExceeded(at=60, phase=BODY)),
            "FAIL stalled",
            id="a reason, no terminator, no end",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), done(2), end=Truncated(at=3)), "WARN unclean_end", id="unclean"
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), done(2), end=Disconnected(at=3, phase=BODY)),
            "WARN unclean_end",
            id="reset after the end",
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(2), end=Truncated(at=3)), "FAIL truncated", id="no terminator"
        ),
        pytest.param(evidence(headers(0), say(1), done(2), end=Truncated(at=3)), "FAIL truncated", id="no reason"),
        pytest.param(
            evidence(headers(0), say(1), content_type=JSON), "WARN unterminated", id="a document without a reason"
        ),
        pytest.param(
            evidence(headers(0), say(1), finish(1), content_type=JSON, end=Truncated(at=2)),
            "WARN unclean_end",
            id="a whole document, then a broken connection",
        ),
        pytest.param(evidence(headers(0), content_type=JSON), "FAIL truncated", id="an empty document"),
        pytest.param(
            evidence(headers(0), say(1), content_type=JSON, body=b"data: {}\n\n"),
            "FAIL truncated",
            id="half a stream that is called a document",
        ),
        pytest.param(evidence(headers(0), say(1), end=Truncated(at=3)), "FAIL truncated", id="neither"),
        pytest.param(evidence(headers(0), say(1), end=Disconnected(at=3, phase=BODY)), "FAIL truncated", id="reset"),
        pytest.param(
            evidence(headers(0), say(1), end=Completed(at=3)), "FAIL truncated", id="a clean end of half a stream"
        ),
        pytest.param(
            evidence(headers(0), say(1), end=Truncated(at=61), timeouts=(timer(60),)),
            "FAIL cut",
            id="by a timer of the path",
        ),
        pytest.param(
            evidence(headers(0), say(1), end=Truncated(at=61), catalogue=(timer(60),)),
            "FAIL cut",
            id="by a well-known timer",
        ),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            evidence(headers(0), say(1), finish(2), end=Truncated(at=3)),
            "after finish_reason=stop and without a terminator",
            id="reason came",
        ),
        pytest.param(
            evidence(headers(0), say(1), done(2), end=Truncated(at=3)), "without a finish reason", id="no reason"
        ),
        pytest.param(
            evidence(headers(0), say(1), end=Truncated(at=3)), "neither finish reason nor terminator", id="neither"
        ),
        pytest.param(
            evidence(headers(0), end=Completed(at=3)), "after 3.00 s, without one byte of body, with", id="no body"
        ),
        pytest.param(
            evidence(headers(0), FOREIGN, end=Completed(at=3)),
            "none of its 2 events is a chat completion chunk: another protocol?",
            id="another protocol",
        ),
        pytest.param(
            evidence(
                headers(0),
                say(1, "four"),
                error(61, "late", "408"),
                timeouts=(timer(60, outcome=Outcome.ERROR_IN_STREAM),),
            ),
            "(code 408) in the stream after 4 characters: late; cut by t, byte idle limit 60.0 s",
            id="an error that a timer wrote",
        ),
        pytest.param(
            evidence(headers(0), say(1, "four"), error(61, "late"), catalogue=(timer(60),)),
            "after 4 characters: late",
            id="an error is not blamed on well-known timers",
        ),
        pytest.param(
            evidence(headers(0), think(1), end=DeadlineExceeded(at=60, phase=BODY)),
            "and was reasoning",
            id="after reasoning",
        ),
        pytest.param(
            evidence(headers(0), say(1), end=DeadlineExceeded(at=60, phase=BODY)), "and was answer", id="after text"
        ),
    ],
)
def test_messages(given, words):
    (verdict,) = check(given)
    assert words in verdict.message


def test_a_cut_names_the_timer_and_its_numbers():
    (verdict,) = check(
        evidence(headers(0), say(1), end=Truncated(at=61.1), timeouts=(timer(60, hop="edge", name="idle"),))
    )
    assert (verdict.subject, verdict.limit, verdict.unit) == ("edge/idle", 60, "s")
    assert math.isclose(verdict.observed, 60.1)


def test_a_suspect_of_the_catalogue_is_no_culprit():
    (verdict,) = check(evidence(headers(0), say(1), end=Truncated(at=61), catalogue=(timer(60, preset="nginx"),)))
    assert (verdict.subject, verdict.limit) == (None, None)
    assert verdict.message.endswith("; as would nginx t")
