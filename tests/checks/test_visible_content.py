import pytest

from canary.checks.visible_content import LEAST_MAX_TOKENS, check, max_tokens
from canary.core.observation import Truncated
from canary.core.stream import FinishReason, ReasoningPresent, RefusalDelta, ToolCallDelta, Usage
from tests.fakes.evidence import evidence, outcome, rejected, reported
from tests.fakes.scripted_answer import done, headers, say, think

BELOW = evidence().measurement
SILENT_BELOW = evidence(headers(0), think(1), done(2)).measurement


def over(reason="stop", completion=None, reasoning=None):
    usage = [] if completion is None else reported(3, Usage(completion_tokens=completion, reasoning_tokens=reasoning))
    return [FinishReason(at=3, reason=reason), *usage, *done(3)]


def capped(tokens):
    return {"stream": True, "max_tokens": tokens}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), "PASS visible", id="visible"),
        pytest.param(rejected(500), "UNKNOWN rejected", id="rejected"),
        pytest.param(evidence(headers(0), say(1), end=Truncated(at=2)), "PASS visible", id="cut after a word"),
        pytest.param(evidence(headers(0), think(1), end=Truncated(at=2)), "UNKNOWN cut", id="cut before a word"),
        pytest.param(evidence(headers(0), say(1, " \n"), over()), "FAIL empty_stop", id="white space is nothing"),
        pytest.param(evidence(headers(0), think(1), over("length")), "FAIL budget_exhausted", id="length"),
        pytest.param(evidence(headers(0), think(1), over("max_tokens")), "FAIL budget_exhausted", id="max_tokens"),
        pytest.param(
            evidence(headers(0), think(1), over("stop", 99)), "FAIL all_in_reasoning", id="one token to spare"
        ),
        pytest.param(evidence(headers(0), think(1), over("stop", 100)), "FAIL budget_exhausted", id="all spent, stop"),
        pytest.param(evidence(headers(0), think(1), over("stop", 101)), "FAIL budget_exhausted", id="more than all"),
        pytest.param(
            evidence(headers(0), over("length", 64, 64)), "FAIL budget_exhausted", id="hidden reasoning, length"
        ),
        pytest.param(evidence(headers(0), over("stop", 64, 64)), "FAIL all_in_reasoning", id="hidden reasoning, stop"),
        pytest.param(evidence(headers(0), over("stop", 64, 0)), "FAIL parser_loss", id="no reasoning, no text, tokens"),
        pytest.param(evidence(headers(0), over("stop", 64)), "FAIL parser_loss", id="tokens and no text"),
        pytest.param(evidence(headers(0), over("stop", 100)), "FAIL budget_exhausted", id="all spent on nothing"),
        pytest.param(
            evidence(headers(0), over("stop", 100), request={"stream": True}), "FAIL parser_loss", id="no cap"
        ),
        pytest.param(evidence(headers(0), over("stop", 0)), "FAIL empty_stop", id="no tokens"),
        pytest.param(evidence(headers(0), over()), "FAIL empty_stop", id="nothing known"),
        pytest.param(evidence(headers(0), over("length")), "FAIL budget_exhausted", id="length and nothing else known"),
        pytest.param(evidence(headers(0), over("length", 64)), "FAIL budget_exhausted", id="length, below the cap"),
        pytest.param(evidence(headers(0), over("length"), below=BELOW), "FAIL stripped", id="length, stripped"),
        pytest.param(evidence(headers(0), say(1, "\u200b\ufeff \u2060"), over()), "FAIL empty_stop", id="no shape"),
        pytest.param(
            evidence(headers(0), think(1), over("length"), end=Truncated(at=4)),
            "FAIL budget_exhausted",
            id="over before the connection broke",
        ),
        pytest.param(
            evidence(headers(0), [ReasoningPresent(at=1, source="redacted")], over()),
            "FAIL all_in_reasoning",
            id="redacted",
        ),
        pytest.param(
            evidence(headers(0), [ReasoningPresent(at=1, source="redacted")], over("length")),
            "FAIL budget_exhausted",
            id="redacted, length",
        ),
        pytest.param(evidence(headers(0), think(1), over(), below=BELOW), "FAIL stripped", id="the hop below had it"),
        pytest.param(evidence(headers(0), over(), below=BELOW), "FAIL stripped", id="stripped to nothing"),
        pytest.param(
            evidence(headers(0), think(1), over("length"), below=BELOW),
            "FAIL budget_exhausted",
            id="exhausted before stripped",
        ),
        pytest.param(
            evidence(headers(0), think(1), over(), below=SILENT_BELOW),
            "FAIL all_in_reasoning",
            id="the hop below had none",
        ),
        pytest.param(evidence(headers(0), [RefusalDelta(at=1, text="no")], over()), "WARN refusal", id="refusal"),
        pytest.param(
            evidence(headers(0), [ToolCallDelta(at=1, text="add")], over()), "WARN tool_call_only", id="tool call"
        ),
        pytest.param(
            evidence(headers(0), [ToolCallDelta(at=1, text="add")], say(2), over()),
            "PASS visible",
            id="tool call and text",
        ),
        pytest.param(
            evidence(headers(0), think(1), over("length"), request=capped(LEAST_MAX_TOKENS - 1)),
            "UNKNOWN probe_misconfigured",
            id="a cap of 15",
        ),
        pytest.param(
            evidence(headers(0), think(1), over("length"), request=capped(LEAST_MAX_TOKENS)),
            "FAIL budget_exhausted",
            id="a cap of 16",
        ),
        pytest.param(
            evidence(headers(0), say(1), over(), request=capped(1)), "PASS visible", id="a cap of 1 that was enough"
        ),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("request_body", "cap"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 6}, 6),
        ({"max_output_tokens": 7}, 7),
        ({"max_completion_tokens": 6, "max_tokens": 5}, 6),
        ({"max_completion_tokens": None, "max_tokens": 5}, 5),
        ({"max_tokens": True}, None),
        ({"max_tokens": "5"}, None),
        ({}, None),
    ],
)
def test_the_cap_of_a_request(request_body, cap):
    assert max_tokens(request_body) == cap


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            evidence(headers(0), think(1, "hm"), over("length")),
            "reasoning (2 characters) used up all of max_tokens=100",
            id="chars",
        ),
        pytest.param(
            evidence(headers(0), think(1), over("length", 9, 9), request={}),
            "reasoning (9 tokens) used up all, finish",
            id="no cap",
        ),
        pytest.param(
            evidence(headers(0), think(1), over("length", 89)),
            "reasoning (89 tokens) ran into a limit far below max_tokens=100",
            id="somebody else's cap",
        ),
        pytest.param(
            evidence(headers(0), think(1), over("length", 90)), "used up all of max_tokens=100", id="near enough"
        ),
        pytest.param(evidence(headers(0), done(1)), "no finish reason, and no text at all", id="no reason"),
        pytest.param(evidence(headers(0), over("stop", 64)), "64 tokens generated, and neither", id="lost"),
        pytest.param(
            evidence(headers(0), think(1), over(), below=BELOW), "the hop below had 2 visible characters", id="below"
        ),
    ],
)
def test_messages(given, words):
    (verdict,) = check(given)
    assert words in verdict.message
