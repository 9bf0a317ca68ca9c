import pytest

from canary.checks.protocol import RISKS, check
from canary.core.observation import Completed, Truncated
from canary.core.stream import Violation, ViolationKind
from tests.fakes.evidence import WHOLE, evidence, outcome, rejected
from tests.fakes.scripted_answer import finish, headers, say

HALF = [Violation(at=2, kind=ViolationKind.MISSING_FINAL_BLANK_LINE)]


def flawed(*kinds, **more):
    return evidence(*WHOLE, [Violation(at=2.0, kind=kind) for kind in kinds], **more)


@pytest.mark.parametrize("kind", ViolationKind)
def test_every_violation_is_a_warning(kind):
    assert outcome(check, flawed(kind)) == f"WARN {kind.value}"


def test_no_violation_is_left_out():
    assert set(RISKS) == set(ViolationKind)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), "PASS kept", id="kept"),
        pytest.param(rejected(500), "UNKNOWN rejected", id="rejected"),
        pytest.param(evidence(headers(0), say(1), end=Truncated(at=2)), "UNKNOWN cut", id="cut before a flaw"),
        pytest.param(
            evidence(headers(0), [Violation(at=1, kind=ViolationKind.NOT_JSON)], say(1), end=Truncated(at=2)),
            "WARN not_json",
            id="cut after a flaw",
        ),
        pytest.param(
            evidence(headers(0), say(1), HALF, end=Truncated(at=2)),
            "UNKNOWN cut",
            id="half an event is no flaw of its own",
        ),
        pytest.param(evidence(headers(0), say(1), HALF, end=Completed(at=2)), "UNKNOWN cut", id="nor at a clean cut"),
        pytest.param(
            evidence(headers(0), say(1), finish(2), HALF),
            "WARN missing_final_blank_line",
            id="half an event at the end",
        ),
        pytest.param(evidence(*WHOLE, end=Truncated(at=3)), "PASS kept", id="over before the connection broke"),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"id: 1\ndata: {}\n\n: ping\n\ndata: {}\n\n", "comment_after_id", id="a comment of its own"),
        pytest.param(b"id: 1\r\ndata: {}\r\n\r\n: ping\r\n\r\n", "comment_after_id", id="CRLF"),
        pytest.param(b"data: {}\n\nid: 1\ndata: {}\n\n: a\n: b\n\n", "comment_after_id", id="two lines, later id"),
        pytest.param(b"data: {}\n\n: ping\n\nid: 1\ndata: {}\n\n", "kept", id="before any id"),
        pytest.param(b"id: 1\ndata: {}\n\n: ping\ndata: {}\n\n", "kept", id="a comment within an event"),
        pytest.param(b"id: 1\ndata: {}\n\n", "kept", id="ids and no comment"),
        pytest.param(b'data: {"text": "id: 1"}\n\n: ping\n\n', "kept", id="the letters in a text"),
    ],
)
def test_a_comment_after_an_id(body, reason):
    (verdict,) = check(evidence(body=body))
    assert verdict.reason == reason


def test_flaws_are_counted_and_the_worst_names_the_verdict():
    given = flawed(ViolationKind.EVENT_WITHOUT_DATA, ViolationKind.NOT_JSON, ViolationKind.NOT_JSON)
    (verdict,) = check(given)
    assert (verdict.reason, verdict.observed, verdict.limit, verdict.unit) == ("not_json", 3, 0, "flaws")
    assert "data that is not JSON (2 times); an event without data" in verdict.message
