from dataclasses import replace

import pytest

from canary.analysis.measure import measure
from canary.checks.evidence import cannot_judge, prober_fault, quoted, ruler_error_s, said_anything, unusable
from canary.core.observation import ConnectFailed, Disconnected, Interrupted, Phase, Read, StampSource, Truncated
from canary.core.verdict import Status
from tests.fakes.evidence import error, evidence, rejected
from tests.fakes.scripted_answer import headers, say, think


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(evidence(), None, id="whole"),
        pytest.param(evidence(headers(0), end=Truncated(at=1)), None, id="a part is to be judged"),
        pytest.param(evidence(headers(0), say(1), end=Interrupted(at=2)), "interrupted", id="interrupted"),
        pytest.param(evidence(end=ConnectFailed(at=0, phase=Phase.TLS)), "unreachable", id="unreachable"),
        pytest.param(rejected(429), "rate_limited", id="429"),
        pytest.param(rejected(428), "rejected", id="428"),
        pytest.param(rejected(500), "rejected", id="500"),
        pytest.param(evidence(end=Disconnected(at=1, phase=Phase.HEADERS)), "no_response", id="no headers"),
        pytest.param(evidence(headers(0, 302)), "redirected", id="302"),
        pytest.param(evidence(headers(0, 299)), None, id="299"),
        pytest.param(evidence(headers(0), error(1)), "error_in_stream", id="only an error"),
        pytest.param(evidence(headers(0), think(1), error(2)), None, id="an error after a token"),
    ],
)
def test_what_cannot_be_judged(given, reason):
    assert unusable(given) == reason


@pytest.mark.parametrize(("parts", "said"), [((headers(0),), False), ((headers(0), think(1)), True)])
def test_said_anything(parts, said):
    assert said_anything(evidence(*parts).measurement) is said


@pytest.mark.parametrize(
    ("stamps", "lag_s", "after", "error_s"),
    [
        pytest.param(StampSource.LOOP, 0.2, None, 0.2, id="our loop stamped"),
        pytest.param(StampSource.LOOP, None, None, 0.0, id="our loop, lag not known"),
        pytest.param(StampSource.LOOP, 0.2, 1.5, 0.2, id="our loop: the lag says it"),
        pytest.param(StampSource.KERNEL, 0.2, None, 0.0, id="the kernel stamped"),
        pytest.param(StampSource.KERNEL, 0.2, 1.5, 0.5, id="the kernel, a wide read"),
        pytest.param(StampSource.RECORDED, 0.2, None, 0.0, id="a recording is taken at its word"),
    ],
)
def test_the_ruler(stamps, lag_s, after, error_s):
    measurement = measured(stamps=stamps, loop_lag_s=lag_s, reads=(Read(at=2.0, data=b"x", after=after),))
    assert ruler_error_s(measurement) == error_s


def measured(**exchange):
    observation = evidence().observation
    return measure(replace(observation, exchange=replace(observation.exchange, **exchange)))


def test_the_verdicts_that_say_nothing():
    verdict = cannot_judge("usage", "no_response", subject="s")
    assert (verdict.status, verdict.message, verdict.subject) == (Status.UNKNOWN, "not judged: no response", "s")
    fault = prober_fault("usage", 0.5)
    assert (fault.status, fault.reason, fault.subject) == (Status.UNKNOWN, "prober_fault", None)
    assert "0.50 s late" in fault.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param(" two\r\n lines\u2028three ", "two lines three", id="one line"),
        pytest.param("\x1b[31mred\0", "[31mred", id="controls"),
        pytest.param("\u202eright \u05d0", "right \u05d0", id="letters stay, directions go"),
        pytest.param("a" * 300, "a" * 300, id="300"),
        pytest.param("a" * 301, "a" * 299 + "…", id="301"),
        pytest.param(" " * 1200 + "late", "", id="it is not read to its end"),
    ],
)
def test_somebody_elses_text(text, line):
    assert quoted(text) == line
