"""Evidence written as a script, for the tables of the checks."""

from dataclasses import replace

from canary.analysis.measure import measure
from canary.checks.evidence import Evidence
from canary.core.observation import HttpRejected, Read, StampSource
from canary.core.stream import ServerError, UsageReport
from canary.core.timeout import Clock, StartsAt, Timeout, TimerPhase
from tests.fakes.scripted_answer import answer, done, finish, headers, say, think

ASKED = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 100}
WHOLE = (headers(0.1), think(1.0), say(2.0), finish(2.1), done(2.2))


def evidence(*parts, end=None, request=None, content_type="text/event-stream", **more):
    """`more`: fields of the exchange (`loop_lag_s`, `stamps`, …), `body` bytes, and fields of Evidence."""
    of_exchange = {name: more.pop(name) for name in ("stamps", "loop_lag_s", "connect_s") if name in more}
    if "body" in more:
        of_exchange["reads"] = (Read(at=2.0, data=more.pop("body")),)
    if not parts and end is None:
        parts = WHOLE
    observation = answer(*parts, end=end, content_type=content_type)
    exchange = replace(observation.exchange, request=ASKED if request is None else request, **of_exchange)
    observation = replace(observation, exchange=exchange)
    return Evidence(observation=observation, measurement=measure(observation), **more)


def rejected(status, message="", *, at=0.2, content_type="application/json", **more):
    end = HttpRejected(at=at, status=status, message=message, content_type=content_type)
    return evidence(headers(at, status), end=end, **more)


def error(at, message="boom", code=None):
    return [ServerError(at=at, message=message, code=code)]


def reported(at, usage):
    return [UsageReport(at=at, usage=usage)]


def timer(limit_s, clock=Clock.BYTE, phase=TimerPhase.IDLE, starts=StartsAt.REQUEST_SENT, **more):
    fields = {"name": "t", "early_slack_s": 0.0, **more}
    return Timeout(phase=phase, clock=clock, limit_s=limit_s, starts=starts, **fields)


def late(seconds):
    """Our own event loop was this late, and stamped the reads itself."""
    return {"stamps": StampSource.LOOP, "loop_lag_s": seconds}


def outcome(check, given):
    """`STATUS reason` of the only verdict, or None where there is none."""
    verdicts = check(given)
    assert len(verdicts) <= 1
    return f"{verdicts[0].status} {verdicts[0].reason}" if verdicts else None
