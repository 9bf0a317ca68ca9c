import pytest

from canary.checks.usage import check
from canary.core.observation import Truncated
from canary.core.stream import ToolCallDelta, Usage
from tests.fakes.evidence import evidence, outcome, rejected, reported
from tests.fakes.scripted_answer import done, finish, headers, say, think


def counting(usage, *parts, total_s=3.0, **more):
    return evidence(headers(0), *parts, finish(total_s), reported(total_s, usage), done(total_s), **more)


def tokens(completion=None, reasoning=None, **more):
    return Usage(completion_tokens=completion, reasoning_tokens=reasoning, **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(rejected(500), "UNKNOWN rejected", id="rejected"),
        pytest.param(evidence(), "WARN missing", id="asked for and missing"),
        pytest.param(evidence(request={"stream": True}), "PASS not_asked", id="not asked"),
        pytest.param(evidence(request={"stream": True, "stream_options": 1}), "PASS not_asked", id="nonsense options"),
        pytest.param(
            evidence(request={"stream": True, "stream_options": {"include_usage": 1}}), "PASS not_asked", id="not true"
        ),
        pytest.param(evidence(request={}), "WARN missing", id="a document always has usage"),
        pytest.param(evidence(request="?"), "WARN missing", id="an unknown request"),
        pytest.param(evidence(headers(0), say(1), end=Truncated(at=2)), "UNKNOWN cut", id="cut"),
        pytest.param(counting(tokens(3), say(1)), "PASS plausible", id="plausible"),
        pytest.param(counting(tokens(3, 0), think(1, "x" * 16), say(2)), "PASS plausible", id="0 beside 16 characters"),
        pytest.param(
            counting(tokens(3, 0), think(1, "x" * 17), say(2)), "WARN contradicted", id="0 beside 17 characters"
        ),
        pytest.param(
            counting(tokens(3, 0, text_tokens=3), think(1, "x" * 17), say(2)),
            "WARN contradicted",
            id="contradicted first",
        ),
        pytest.param(counting(tokens(3, 1, text_tokens=2), say(2)), "WARN made_by_gateway", id="made by a gateway"),
        pytest.param(counting(tokens(53, 0), say(1, "abc")), "PASS plausible", id="50 more than characters"),
        pytest.param(counting(tokens(54, 0), say(1, "abc")), "WARN implausible", id="51 more than characters"),
        pytest.param(counting(tokens(54), say(1, "abc")), "PASS plausible", id="hidden reasoning may explain it"),
        pytest.param(
            counting(tokens(56), think(1, "ab"), say(2, "abc")), "WARN implausible", id="shown reasoning does not"
        ),
        pytest.param(
            counting(tokens(55), think(1, "ab"), say(2, "abc")), "PASS plausible", id="shown reasoning counts"
        ),
        pytest.param(counting(tokens(900, 850), say(2, "abc")), "PASS plausible", id="hidden reasoning is reported"),
        pytest.param(
            counting(tokens(60, 0), [ToolCallDelta(at=1, text="x" * 10)]), "PASS plausible", id="tool calls are text"
        ),
        pytest.param(counting(tokens(2), say(1, "x" * 232)), "PASS plausible", id="16 characters a token and 200"),
        pytest.param(counting(tokens(2), say(1, "x" * 233)), "WARN implausible", id="one character more"),
        pytest.param(counting(tokens(None, 5), say(1, "x" * 900)), "PASS plausible", id="no total to compare"),
        pytest.param(counting(tokens(999), say(0.1), total_s=0.1), "PASS plausible", id="too few to be fast"),
        pytest.param(counting(tokens(1000), say(0.1), total_s=0.1), "WARN implausible", id="just enough to be fast"),
        pytest.param(counting(tokens(1000), say(0.1), total_s=0.25), "PASS plausible", id="4000 a second"),
        pytest.param(counting(tokens(1001), say(0.1), total_s=0.25), "WARN implausible", id="faster than any engine"),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (tokens(3, 1), "3 completion tokens, 1 of them reasoning"),
        (tokens(None, 1), "completion tokens not reported, 1 reasoning"),
        (tokens(3), "reasoning not reported"),
        (tokens(3, nulls=frozenset({"reasoning_tokens"})), "reasoning reported as null"),
    ],
)
def test_absent_null_and_zero_are_told_apart(usage, words):
    (verdict,) = check(counting(usage, say(1)))
    assert words in verdict.message
