import pytest

from canary.analysis.measure import measure
from canary.checks.budget_arms import STATUS, Outcome
from canary.checks.evidence import Evidence
from canary.core.observation import ConnectFailed, DeadlineExceeded, Interrupted, Phase
from canary.core.spec import Expectation
from canary.core.verdict import Status
from canary.wire.budgets import BUDGETS
from tests.fakes.arms import (
    LONG,
    B,
    arm,
    error_in_stream,
    refused,
    say,
    think,
    verdict_on,
)

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN


REFUSALS = [
    pytest.param(refused(400, "no"), LONG, "rejected", id="400"),
    pytest.param(refused(422, "no"), LONG, "rejected", id="422"),
    pytest.param(refused(424, ""), LONG, "rejected", id="424"),
    pytest.param(refused(400, "no"), None, "rejected", id="400 without a control"),
    pytest.param(refused(403, "blocked"), LONG, "rejected", id="a firewall that lets the control through"),
    pytest.param(refused(403, "blocked"), None, "inconclusive", id="403 without a control"),
    pytest.param(refused(401), refused(401), "inconclusive", id="nobody gets in"),
    pytest.param(refused(400, "no"), refused(400, "no"), "inconclusive", id="refused without it too"),
    pytest.param(refused(500, "boom"), LONG, "inconclusive", id="500"),
    pytest.param(refused(503), LONG, "inconclusive", id="503"),
    pytest.param(refused(500, "unknown field thinking_budget"), LONG, "rejected", id="500 that names it"),
    pytest.param(refused(408), LONG, "inconclusive", id="408"),
    pytest.param(refused(429), LONG, "rate_limited", id="429"),
    pytest.param(error_in_stream("slow down", "429"), LONG, "rate_limited", id="429 in a 200"),
    pytest.param(error_in_stream("no", "400"), None, "rejected", id="400 in a 200"),
    pytest.param(error_in_stream("no", "424"), None, "rejected", id="424 in a 200"),
    pytest.param(error_in_stream("no", None), LONG, "rejected", id="an error without a code"),
    pytest.param(error_in_stream("no", None), None, "inconclusive", id="the same without a control"),
    pytest.param(error_in_stream("no", None, "BadRequestError"), None, "rejected", id="a kind that says it"),
    pytest.param(error_in_stream("thinking_budget: no", None), None, "rejected", id="a message that names it"),
    pytest.param(error_in_stream("gone", "504"), LONG, "inconclusive", id="504 in a 200"),
    pytest.param(refused(400, "max_tokens is too large"), LONG, "probe_misconfigured", id="the probe's own setting"),
    pytest.param(
        refused(400, "max_completion_tokens is too large"),
        LONG,
        "probe_misconfigured",
        id="under the name that a hop on the way gave it",
    ),
    pytest.param(refused(400, "max_tokens and thinking_budget"), LONG, "rejected", id="both named"),
    pytest.param(refused(400, "temperature"), LONG, "rejected", id="a setting that was not sent"),
    pytest.param(arm(end=ConnectFailed(at=0.0, phase=Phase.CONNECT)), LONG, "unreachable", id="unreachable"),
    pytest.param(arm(think(3), end=Interrupted(at=1.0)), LONG, "interrupted", id="interrupted"),
    pytest.param(arm(think(600), end=Interrupted(at=1.0)), LONG, "interrupted", id="interrupted after long reasoning"),
]


@pytest.mark.parametrize(("treatment", "control", "reason"), REFUSALS)
def test_an_error_in_place_of_the_answer(treatment, control, reason):
    verdict = verdict_on(treatment, control)
    assert (verdict.status, verdict.reason) == (FAIL if reason == "rejected" else UNKNOWN, reason), verdict.message


def test_no_response_at_all():
    nothing = arm(end=DeadlineExceeded(at=9.0, phase=Phase.HEADERS))
    headless = measure(nothing.observation)
    gone = Evidence(
        observation=nothing.observation,
        measurement=type(headless)(
            **{name: getattr(headless, name) for name in headless.__slots__ if name != "time_to_headers_s"},
            time_to_headers_s=None,
        ),
    )
    assert verdict_on(gone).reason == "no_response"


@pytest.mark.parametrize(
    ("nonsense", "said"),
    [
        pytest.param(refused(400, "extra_forbidden"), "does not know the parameter", id="refused as well"),
        pytest.param(arm(think(9), say()), "knows the parameter and refuses it", id="taken"),
        pytest.param(refused(429), "refused as well", id="any error"),
    ],
)
def test_the_misspelt_arm_explains_a_refusal(nonsense, said):
    assert said in verdict_on(refused(400, "no"), nonsense=nonsense).message


@pytest.mark.parametrize(
    ("budget", "message", "reason"),
    [
        pytest.param("think", "we think not", "inconclusive", id="an everyday word is no name"),
        pytest.param("thinking.type", "type error", "inconclusive", id="nor is a leaf"),
        pytest.param("thinking.type", "thinking.type: no", "rejected", id="the whole name is"),
        pytest.param("nvext.max_thinking_tokens", "max_thinking_tokens: no", "rejected", id="and a telling leaf"),
        pytest.param(
            "reasoning.max_tokens", "max_tokens: no", "probe_misconfigured", id="but not one that the probe sends"
        ),
    ],
)
def test_what_names_a_parameter(budget, message, reason):
    status = 400 if reason == "probe_misconfigured" else 500
    assert verdict_on(refused(status, message), budget=BUDGETS[budget]).reason == reason


EXPECTED = [
    ("honoured", "honoured", PASS),
    ("honoured", "ignored", FAIL),
    ("honoured", "rejected", FAIL),
    ("overshoot", "honoured", WARN),
    ("overshoot", "ignored", WARN),
    ("overshoot", "rejected", FAIL),
    ("ignored", "honoured", FAIL),
    ("ignored", "ignored", PASS),
    ("ignored", "rejected", FAIL),
    ("rejected", "honoured", FAIL),
    ("rejected", "ignored", FAIL),
    ("rejected", "rejected", PASS),
    ("clamped", "honoured", FAIL),
    ("clamped", "ignored", WARN),
    ("clamped", "rejected", FAIL),
    ("inconclusive", "honoured", UNKNOWN),
    ("inconclusive", "ignored", UNKNOWN),
    ("inconclusive", "rejected", UNKNOWN),
]


SEEN = {
    "honoured": (arm(think(B), say()), LONG),
    "overshoot": (arm(think(100), say()), LONG),
    "ignored": (arm(think(600), say()), LONG),
    "rejected": (refused(400, "no"), LONG),
    "clamped": (arm(think(1030), say()), arm(think(3000), say())),
    "inconclusive": (arm(think(B), say()), None),
}


@pytest.mark.parametrize("overridden", [False, True], ids=["everywhere", "at this hop"])
@pytest.mark.parametrize(("seen", "expect", "status"), EXPECTED)
def test_what_is_seen_against_what_is_expected(seen, expect, status, overridden):
    treatment, control = SEEN[seen]
    how = {"expect": "honoured", "at": {"vllm": Expectation(expect)}} if overridden else {"expect": expect}
    verdict = verdict_on(treatment, control, **how)
    assert (verdict.status, verdict.reason) == (status, seen)
    assert (f"expected {expect}" in verdict.message) is (status is FAIL)


def test_an_override_for_another_hop_does_not_count():
    assert verdict_on(arm(think(600), say()), at={"litellm": Expectation.IGNORED}).status is FAIL


def test_every_outcome_has_a_status_for_each_expectation_or_is_unknown():
    assert all(set(row) == set(Expectation) for row in STATUS.values())
    assert {o for o in Outcome if o not in STATUS} >= {Outcome.INCONCLUSIVE, Outcome.NO_REASONING, Outcome.RATE_LIMITED}
