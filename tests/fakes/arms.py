"""Answers of one arm of a budget test, written as what came in order."""

from datetime import UTC, datetime
from types import MappingProxyType

from canary.analysis.measure import measure
from canary.checks.budget import judge_budget
from canary.checks.budget_arms import Arms
from canary.checks.evidence import Evidence
from canary.core.observation import Completed, Exchange, Head, HttpRejected, Observation
from canary.core.spec import BudgetTest, Expectation
from canary.core.stream import (
    FinishReason,
    HeadersReceived,
    Identity,
    ReasoningDelta,
    ServerError,
    Terminator,
    Usage,
    UsageReport,
    VisibleDelta,
)
from canary.wire.budgets import BUDGETS

CHARS = 4  # of each token in these answers


def think(tokens, *, counted=True, at=1.0):
    """Reasoning of so many tokens, in one delta; `counted`: the wire tells how many."""
    return ReasoningDelta(at=at, text="abc " * tokens, source="reasoning", tokens=tokens if counted else None)


def say(tokens=5, *, counted=True, at=2.0):
    return VisibleDelta(at=at, text="xyz " * tokens, tokens=tokens if counted else None)


def usage(reasoning=None, completion=None, **more):
    return UsageReport(at=3.0, usage=Usage(reasoning_tokens=reasoning, completion_tokens=completion, **more))


def arm(*events, finish="stop", end=None, model=None, head=None, request=None, **evidence):
    """An answer that ended as its protocol ends, unless `end` or `finish` says otherwise."""
    end = end or Completed(at=9.0)
    last = [FinishReason(at=3.0, reason=finish), Terminator(at=3.0)] if finish and isinstance(end, Completed) else []
    who = [Identity(at=0.5, model=model)] if model else []
    exchange = Exchange(
        protocol="openai-chat",
        url="http://127.0.0.1/v1/chat/completions",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        request=request or {"stream": True, "max_tokens": 500},
        end=end,
        head=Head(at=0.1, status=200, headers=head or {}),
    )
    every = (HeadersReceived(at=0.1, status=200), *who, *events, *last)
    observation = Observation(exchange=exchange, events=every, end=end)
    return Evidence(observation=observation, measurement=measure(observation), **evidence)


def refused(status=400, message="", **more):
    return arm(end=HttpRejected(at=0.2, status=status, message=message), **more)


def error_in_stream(message="bad", code=None, kind=None, after=(), **more):
    return arm(*after, ServerError(at=0.3, message=message, code=code, kind=kind), finish=None, **more)


B, E = 64, 16  # the budget of most tests, and what may come on top of it
LONG = arm(think(600), say())
WHOLE = BUDGETS["thinking_budget"]  # a hard cap on the sum of all blocks
PER_BLOCK = BUDGETS["thinking_token_budget"]
BELOW = measure(arm(think(600), say()).observation)


def verdict_on(treatment, control=LONG, *, budget=WHOLE, tokens=B, value=None, expect="honoured", at=None, **arms):
    test = BudgetTest(
        parameter=budget.name,
        tokens=tokens if value is None else None,
        value=value,
        expect=Expectation(expect),
        expect_at=MappingProxyType(at or {}),
    )
    return judge_budget(test, budget, Arms(treatment=treatment, control=control, **arms), hop="vllm")


def estimated(tokens, *, finish="stop", said=5):
    """Nothing but characters tells how much it was."""
    return arm(think(tokens, counted=False), say(said, counted=False), finish=finish)


def shown_at(at, *events, **evidence):
    return arm(*events, say(at=at), **evidence)
