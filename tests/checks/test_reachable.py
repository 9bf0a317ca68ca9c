import pytest

from canary.checks.reachable import check
from canary.core.observation import (
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Interrupted,
    Phase,
    Truncated,
)
from canary.core.timeout import TimerPhase
from tests.fakes.evidence import ASKED, error, evidence, outcome, rejected, timer
from tests.fakes.scripted_answer import done, headers, think


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), "PASS answered", id="a whole answer"),
        pytest.param(evidence(headers(0.1)), "PASS answered", id="headers alone are an answer; complete says the rest"),
        pytest.param(evidence(headers(0.1, 301)), "FAIL redirected", id="301"),
        pytest.param(evidence(headers(0.1, 399)), "FAIL redirected", id="399"),
        pytest.param(evidence(headers(0.1, 299)), "PASS answered", id="299"),
        pytest.param(evidence(end=Interrupted(at=1.0)), "UNKNOWN interrupted", id="interrupted"),
        pytest.param(evidence(headers(0.1), end=Interrupted(at=1.0, detail="bye")), "UNKNOWN interrupted", id="later"),
        pytest.param(evidence(end=ConnectFailed(at=0, phase=Phase.DNS)), "FAIL dns", id="dns"),
        pytest.param(evidence(end=ConnectFailed(at=0, phase=Phase.CONNECT)), "FAIL connect", id="connect"),
        pytest.param(evidence(end=ConnectFailed(at=0, phase=Phase.TLS)), "FAIL tls", id="tls"),
        pytest.param(evidence(end=ConnectFailed(at=0, phase=Phase.SEND)), "FAIL send", id="send"),
        pytest.param(
            evidence(end=DeadlineExceeded(at=9, phase=Phase.HEADERS)), "FAIL deadline", id="no headers in time"
        ),
        pytest.param(
            evidence(end=Disconnected(at=9, phase=Phase.HEADERS)), "FAIL no_response", id="reset before headers"
        ),
        pytest.param(evidence(end=Truncated(at=9)), "FAIL no_response", id="closed before headers"),
        pytest.param(evidence(headers(0), error(0.1)), "FAIL error_in_stream", id="only an error"),
        pytest.param(
            evidence(headers(0), error(0.1, code="504"), done(1)), "FAIL error_in_stream", id="code 504 in a 200"
        ),
        pytest.param(evidence(headers(0), error(0.1, code="429")), "UNKNOWN rate_limited", id="429 in a 200"),
        pytest.param(evidence(headers(0), think(1), error(2)), "PASS answered", id="an error after a token"),
        pytest.param(
            evidence(headers(0), error(0.1, "max_tokens too small", "400")), "UNKNOWN probe_misconfigured", id="own cap"
        ),
        pytest.param(
            evidence(headers(0), error(0.1, "max_tokens too small", "500")),
            "FAIL error_in_stream",
            id="own cap, but a 500",
        ),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "FAIL rejected"),
        (401, "FAIL auth"),
        (403, "FAIL auth"),
        (404, "FAIL not_found"),
        (405, "FAIL not_found"),
        (408, "FAIL gateway_timeout"),
        (422, "FAIL rejected"),
        (424, "FAIL rejected"),
        (428, "FAIL rejected"),
        (429, "UNKNOWN rate_limited"),
        (430, "FAIL rejected"),
        (499, "FAIL rejected"),
        (500, "FAIL server_error"),
        (502, "FAIL server_error"),
        (503, "FAIL server_error"),
        (504, "FAIL gateway_timeout"),
        (524, "FAIL gateway_timeout"),
        (599, "FAIL server_error"),
    ],
)
def test_statuses(status, expected):
    assert outcome(check, rejected(status)) == expected


@pytest.mark.parametrize(
    ("message", "request_body", "status", "expected"),
    [
        pytest.param("max_tokens is too large", ASKED, 400, "UNKNOWN probe_misconfigured", id="a setting we sent"),
        pytest.param("max_output_tokens below 16", ASKED, 400, "UNKNOWN probe_misconfigured", id="renamed on the way"),
        pytest.param("max_tokens is too large", {"model": "m"}, 400, "FAIL rejected", id="a setting we did not send"),
        pytest.param("temperature must be 1", {"temperature": 0}, 422, "UNKNOWN probe_misconfigured", id="temperature"),
        pytest.param("temperature must be 1", ASKED, 422, "FAIL rejected", id="temperature not sent"),
        pytest.param(
            "thinking_budget", {"thinking_budget": 9}, 400, "FAIL rejected", id="what is under test is no setting"
        ),
        pytest.param("max_tokens", ASKED, 500, "FAIL server_error", id="a server that breaks on it is at fault"),
        pytest.param("max_tokens", "no object", 400, "FAIL rejected", id="a request that is no object"),
    ],
)
def test_a_probe_that_is_wrong_is_no_outage(message, request_body, status, expected):
    assert outcome(check, rejected(status, message, request=request_body)) == expected


IDLE = timer(60, name="idle")
HEADS = timer(60, phase=TimerPhase.HEADERS, name="heads", header_status=504)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            rejected(504, at=60.0, timeouts=(HEADS,)), "; cut by heads, headers limit 60.0 s after 60.0 s", id="504"
        ),
        pytest.param(
            rejected(502, at=60.0, timeouts=(IDLE,)), "; cut by idle, byte idle limit 60.0 s after 60.0 s", id="502"
        ),
        pytest.param(rejected(502, at=60.0, timeouts=(HEADS,)), "HTTP 502", id="502 is not the 504 of this timer"),
        pytest.param(rejected(500, at=60.0, timeouts=(IDLE,)), "HTTP 500", id="500 is no timer's"),
        pytest.param(rejected(400, at=60.0, timeouts=(IDLE,)), "HTTP 400", id="400 is no timer's"),
        pytest.param(rejected(504, at=30.0, timeouts=(HEADS,)), "HTTP 504", id="too early"),
        pytest.param(rejected(504, at=60.0, catalogue=(HEADS,)), "; as would heads after 60.0 s", id="well known"),
        pytest.param(rejected(502, at=60.0, catalogue=(IDLE,)), "HTTP 502", id="well known, but a 502 has many causes"),
        pytest.param(
            evidence(end=Disconnected(at=60.0, phase=Phase.HEADERS), timeouts=(IDLE,)),
            "; cut by idle, byte idle limit 60.0 s after 60.0 s",
            id="reset before headers",
        ),
        pytest.param(
            evidence(end=Disconnected(at=60.0, phase=Phase.HEADERS, detail="reset"), catalogue=(IDLE,)),
            ": reset",
            id="reset before headers, well known only",
        ),
        pytest.param(evidence(headers(0, 202), error(1)), "HTTP 202, then only an error object: boom", id="object"),
        pytest.param(
            evidence(headers(0), error(1, "Sign in"), content_type="text/html; charset=utf-8"),
            "HTTP 200, then a web page instead of an answer: Sign in",
            id="a page under 200",
        ),
        pytest.param(
            rejected(504, "gone", content_type="text/html"),
            "HTTP 504 (a web page: a proxy's answer, not the engine's): gone",
            id="html",
        ),
    ],
)
def test_the_timer_behind_an_answer_without_an_answer(given, words):
    (verdict,) = check(given)
    assert verdict.message.endswith(words)


def test_the_detail_of_a_failure_is_told():
    (verdict,) = check(evidence(end=ConnectFailed(at=0, phase=Phase.DNS, detail="no such host")))
    assert verdict.message == "name resolution failed: no such host"


@pytest.mark.parametrize(
    ("code", "observed"),
    [("504", 504), ("400", 400), (None, None), ("overloaded", None), ("9" * 400, None), ("٥٠٤", None), ("0", None)],
)
def test_only_a_status_is_taken_for_one(code, observed):
    (verdict,) = check(evidence(headers(0), error(1, code=code)))
    assert (verdict.observed, verdict.unit) == (observed, None if observed is None else "status")
