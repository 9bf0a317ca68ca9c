from datetime import UTC, datetime

import pytest

from canary.core.jsonable import as_json
from canary.core.observation import ConnectFailed, HttpRejected, Phase, Read
from canary.core.stream import ReasoningForm, Usage
from canary.core.verdict import Status, Verdict


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, None, id="null"),
        pytest.param(True, True, id="bool stays bool"),
        pytest.param(0.123456789, 0.123457, id="microseconds are enough"),
        pytest.param(float("inf"), None, id="infinity has no JSON"),
        pytest.param(float("nan"), None, id="nan has no JSON"),
        pytest.param(ReasoningForm.FIELD, "field", id="enum"),
        pytest.param(frozenset({ReasoningForm.INLINE_TAGS, ReasoningForm.FIELD}), ["field", "inline_tags"], id="set"),
        pytest.param(datetime(2026, 11, 29, 1, 2, 3, tzinfo=UTC), "2026-11-29T01:02:03+00:00", id="time"),
        pytest.param(
            ConnectFailed(at=0.5, phase=Phase.TLS, detail="expired"),
            {"kind": "connect_failed", "at": 0.5, "phase": "tls", "detail": "expired"},
            id="an end has its kind",
        ),
        pytest.param(
            HttpRejected(at=1, status=400),
            {"kind": "http_rejected", "at": 1, "status": 400, "message": "", "content_type": ""},
            id="defaults are shown",
        ),
        pytest.param(
            (Usage(prompt_tokens=0, nulls=frozenset({"reasoning_tokens"})),),
            [
                {
                    "prompt_tokens": 0,
                    "completion_tokens": None,
                    "reasoning_tokens": None,
                    "text_tokens": None,
                    "nulls": ["reasoning_tokens"],
                }
            ],
            id="absent, null and 0 stay apart",
        ),
        pytest.param(
            Verdict(check="usage", status=Status.PASS, reason="plausible", message="m"),
            {
                "check": "usage",
                "status": "PASS",
                "reason": "plausible",
                "message": "m",
                "subject": None,
                "observed": None,
                "limit": None,
                "unit": None,
            },
            id="verdict",
        ),
    ],
)
def test_every_type_has_one_plain_form(value: object, expected: object):
    assert expected == as_json(value)


def test_what_has_no_json_form_says_so():
    with pytest.raises(TypeError, match="bytes has no JSON form"):
        as_json(Read(at=0.0, data=b"x"))
