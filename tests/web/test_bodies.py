import json

import pytest

from canary.core.finding import Severity
from canary.core.route import Match
from canary.web.bodies import AckBody, BodyError, DeployBody, NoteBody, OverrideBody, SilenceBody, match_of, read


def problems(model, raw):
    with pytest.raises(BodyError) as found:
        read(model, raw if isinstance(raw, bytes) else json.dumps(raw).encode())
    return found.value.problems


def test_bodies_that_are_right():
    assert read(AckBody, b"").by is None
    assert read(AckBody, b'{"by": " anna "}').by == "anna"
    assert read(DeployBody, '{"text": "vLLM 0.23 배포", "pipeline": "chat"}'.encode()).text == "vLLM 0.23 배포"
    silence = read(SilenceBody, b'{"match": {"hop": "vllm", "env": "prod"}, "for": "1h30m", "comment": "upgrade"}')
    assert (silence.duration_s, silence.comment) == (5400.0, "upgrade")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        pytest.param({}, Match(), id="everything"),
        pytest.param({"pipeline": "chat", "check": "budget"}, Match(pipeline="chat", check="budget"), id="fields"),
        pytest.param({"severity": "critical"}, Match(severity=Severity.CRITICAL), id="severity"),
        pytest.param({"env": "prod", "hop": "vllm"}, Match(labels={"env": "prod"}, hop="vllm"), id="a label"),
    ],
)
def test_what_a_silence_fits(given, match):
    assert match_of(given) == match


@pytest.mark.parametrize(
    ("model", "raw", "says"),
    [
        pytest.param(DeployBody, b"", "text: is required", id="nothing"),
        pytest.param(NoteBody, {"text": "a\nb"}, "text: Value error, must be one line of printable text", id="lines"),
        pytest.param(NoteBody, {"text": "x" * 1001}, "text: String should have at most 1000 characters", id="long"),
        pytest.param(
            OverrideBody,
            {"page": "p", "pipeline": "c", "status": "operational", "for": "1h"},
            "body: Value error, name a page or a pipeline, one of both",
            id="both",
        ),
        pytest.param(
            OverrideBody,
            {"status": "operational", "for": "1h"},
            "body: Value error, name a page or a pipeline, one of both",
            id="neither",
        ),
        pytest.param(
            OverrideBody,
            {"page": "p", "status": "fine", "for": "1h"},
            "status: Value error, must be one of operational, under_maintenance, degraded_performance, partial_outage, "
            "major_outage, not 'fine'",
            id="no level",
        ),
        pytest.param(DeployBody, b"{", "body: Invalid JSON", id="no JSON"),
        pytest.param(DeployBody, b"[" * 100_000, "body: Invalid JSON", id="deep"),
        pytest.param(DeployBody, b"\xff", "body: Invalid JSON", id="no UTF-8"),
        pytest.param(DeployBody, [], "body: Input should be an object", id="no object"),
        pytest.param(DeployBody, {"text": 1}, "text: Input should be a valid string", id="a number"),
        pytest.param(DeployBody, {"text": " "}, "text: Value error, must be one line", id="blank"),
        pytest.param(DeployBody, {"text": "a\nb"}, "text: Value error, must be one line", id="two lines"),
        pytest.param(DeployBody, {"text": "a\x00b"}, "text: Value error, must be one line", id="NUL"),
        pytest.param(DeployBody, {"text": "a\x1b[2Jb"}, "text: Value error, must be one line", id="an escape sequence"),
        pytest.param(DeployBody, {"text": "a\u202eb"}, "text: Value error, must be one line", id="turned round"),
        pytest.param(DeployBody, {"text": "x" * 1001}, "text: String should have at most 1000", id="long"),
        pytest.param(DeployBody, {"text": "a", "hop": "b"}, "hop: is no key here", id="misspelt"),
        pytest.param(SilenceBody, {"for": "1h"}, "match: is required", id="silence of everything by mistake"),
        pytest.param(SilenceBody, {"match": {}}, "for: is required", id="for ever"),
        pytest.param(SilenceBody, {"match": {}, "for": "soon"}, "for: Value error, 'soon' is not a duration", id="no"),
        pytest.param(SilenceBody, {"match": {}, "for": "0s"}, "for: Value error, must be more", id="for no time"),
        pytest.param(SilenceBody, {"match": {}, "for": "400d"}, "for: Value error, must be more", id="for years"),
        pytest.param(SilenceBody, {"match": {}, "for": None}, "for: Value error, 'None' is not a duration", id="null"),
        pytest.param(
            SilenceBody,
            {"match": {"severity": "bad"}, "for": "1h"},
            "match: Value error, severity must be critical or warning, not 'bad'",
            id="severity",
        ),
        pytest.param(
            SilenceBody,
            {"match": {"env": ["a"]}, "for": "1h"},
            "match.env: Input should be a valid string",
            id="list",
        ),
    ],
)
def test_bodies_that_are_wrong(model, raw, says):
    problem, *keys = problems(model, raw)
    assert problem.startswith(says)
    assert bool(keys) is problem.endswith(("is required", "is no key here"))


@pytest.mark.parametrize(
    ("model", "raw", "says"),
    [
        pytest.param(AckBody, {"who": "a"}, ("who: is no key here", "body: the keys are by"), id="ack"),
        pytest.param(
            DeployBody,
            {"txt": "a"},
            ("text: is required", "txt: is no key here", "body: the keys are text (required), pipeline"),
            id="deploy",
        ),
        pytest.param(
            SilenceBody,
            {"match": {}, "duration_s": "1h"},
            (
                "for: is required",
                "duration_s: is no key here",
                "body: the keys are match (required), for (required), by, comment",
            ),
            id="silence, by the name that only we use",
        ),
        pytest.param(
            NoteBody,
            {"text": "a", "author": "b"},
            ("author: is no key here", "body: the keys are text (required), by"),
            id="note",
        ),
        pytest.param(
            OverrideBody,
            {"page": "p", "for": "1h"},
            ("status: is required", "body: the keys are page, pipeline, status (required), for (required), by"),
            id="override",
        ),
    ],
)
def test_a_wrong_key_is_answered_with_the_right_ones(model, raw, says):
    assert problems(model, raw) == says


def test_a_lone_surrogate_is_refused():
    assert problems(DeployBody, b'{"text": "a\\ud800"}')
