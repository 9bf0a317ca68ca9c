"""A run with something of everything to draw: reasoning, keepalives, silence, a cut, a budget, an odd name."""

from datetime import UTC, datetime

from canary.analysis.measure import measure
from canary.core.run import HopResult, Run
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, Verdict
from tests.fakes.scripted_answer import answer, done, every, finish, headers, ping, say, think

UI = Timeout(name="ui-idle", phase=TimerPhase.IDLE, clock=Clock.VISIBLE, limit_s=30.0, hop="browser")
NGINX = Timeout(name="nginx", phase=TimerPhase.IDLE, clock=Clock.BYTE, limit_s=60.0, hop="edge")
SPARED = Timeout(name="alb", phase=TimerPhase.IDLE, clock=Clock.BYTE, limit_s=300.0, hop="edge")
ANSWER = (every(0.25, 71, 83, say), finish(84), done(84))
PASS = Verdict(check="complete", status=Status.PASS, reason="ok", message="whole")


def hop(name, *parts, variant="plain", verdicts=(PASS,), timeouts=()):
    observation = answer(headers(0.1), *parts)
    return HopResult(
        hop=name,
        variant=variant,
        observation=observation,
        measurement=measure(observation),
        verdicts=tuple(verdicts),
        timeouts=timeouts,
    )


def cut_by(timer):
    return Verdict(check="idle_timeout", status=Status.FAIL, reason="fires", message="cut", subject=timer.label)


def drawn_run(*more):
    results = (
        hop("vllm", every(0.3, 0.5, 70, think), *ANSWER),
        hop(
            "vllm", every(0.3, 0.5, 6, think), every(0.25, 6.2, 18, say), done(18.4), variant="thinking_token_budget=64"
        ),
        hop("<b>agent</b> & 한국어\x00", *ANSWER, verdicts=(cut_by(UI), cut_by(NGINX)), timeouts=(UI, NGINX, SPARED)),
        hop("edge", every(15, 15, 70, ping), *ANSWER, verdicts=(cut_by(UI),), timeouts=(UI,)),
        *more,
    )
    return Run(
        id="3f9a2b7c11de",
        pipeline="chat-prod",
        probe="reasoning-heavy",
        started_at=datetime(2026, 11, 29, 14, 2, tzinfo=UTC),
        results=results,
    )
