from types import MappingProxyType

import pytest

from canary.analysis.measure import measure
from canary.checks.budget import (
    ControlLength,
    ControlRule,
    TreatmentRule,
    control_length,
    control_tokens_needed,
    judge_budget,
    treatment_max_tokens,
)
from canary.checks.budget_arms import STATUS, Arms, Outcome
from canary.checks.budget_order import Level, judge_order
from canary.checks.evidence import Evidence
from canary.checks.reasoning_count import ReasoningMeter
from canary.core.observation import ConnectFailed, DeadlineExceeded, Interrupted, Phase, StoppedByUs, Truncated
from canary.core.spec import BudgetTest, Expectation
from canary.core.stream import (
    ReasoningDelta,
    ReasoningForm,
    ReasoningPresent,
    RefusalDelta,
    Relabelled,
    ToolCallDelta,
    Usage,
    UsageReport,
    VisibleDelta,
)
from canary.core.verdict import Status
from canary.wire.budgets import BUDGETS
from canary.wire.decode import decode
from tests.fakes.arms import CHARS, arm, error_in_stream, refused, say, think, usage
from tests.fakes.exchanges import recorded

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN
B, E = 64, 16
LONG = arm(think(600), say())
WHOLE = BUDGETS["thinking_budget"]  # a hard cap on the sum of all blocks
PER_BLOCK = BUDGETS["thinking_token_budget"]


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


CAPS = [
    # exact counts, by the border
    pytest.param(arm(think(B), say()), LONG, PASS, "honoured", id="exactly the budget"),
    pytest.param(arm(think(1), say()), LONG, PASS, "honoured", id="hardly any"),
    pytest.param(arm(say()), LONG, PASS, "honoured", id="none where the control shows some"),
    pytest.param(arm(think(B + E), say()), LONG, PASS, "honoured", id="B+E"),
    pytest.param(arm(think(B + E + 1), say()), LONG, WARN, "overshoot", id="B+E+1"),
    pytest.param(arm(think(2 * B + E), say()), LONG, WARN, "overshoot", id="2B+E"),
    pytest.param(arm(think(2 * B + E + 1), say()), LONG, FAIL, "ignored", id="2B+E+1"),
    pytest.param(arm(think(600), say()), LONG, FAIL, "ignored", id="as long as the control"),
    pytest.param(arm(think(600), say()), None, FAIL, "ignored", id="ignored needs no control"),
    pytest.param(arm(think(100), say()), None, WARN, "overshoot", id="overshoot needs no control"),
    pytest.param(arm(think(B), say()), None, UNKNOWN, "inconclusive", id="a candidate does"),
    pytest.param(arm(think(B), say()), arm(think(264), say()), PASS, "honoured", id="control just long enough"),
    pytest.param(arm(think(B), say()), arm(think(263), say()), UNKNOWN, "inconclusive", id="control one too short"),
    pytest.param(arm(think(B), say()), arm(think(70), say()), UNKNOWN, "inconclusive", id="short by nature"),
    pytest.param(arm(say()), arm(say()), UNKNOWN, "no_reasoning", id="none in either"),
    pytest.param(arm(usage(0), say()), arm(usage(0), say()), UNKNOWN, "no_reasoning", id="none reported in either"),
    pytest.param(arm(think(B), say()), arm(say()), UNKNOWN, "inconclusive", id="only with it"),
    # how it ended
    pytest.param(arm(think(B), finish="length"), LONG, UNKNOWN, "inconclusive", id="cut by length in reasoning"),
    pytest.param(arm(think(B), say(), finish="length"), LONG, PASS, "honoured", id="cut by length in the answer"),
    pytest.param(arm(think(B), say(), think(5), finish="length"), LONG, UNKNOWN, "inconclusive", id="reopened and cut"),
    pytest.param(arm(think(B), VisibleDelta(at=2.0, text="\n"), finish="length"), LONG, UNKNOWN, "inconclusive", id="white space closes nothing"),
    pytest.param(arm(think(B)), LONG, PASS, "honoured", id="stop with nothing visible"),
    pytest.param(arm(think(B), ToolCallDelta(at=2.0, text="f"), finish="tool_calls"), LONG, PASS, "honoured", id="then a tool call"),
    pytest.param(arm(think(B), RefusalDelta(at=2.0, text="no"), finish="length"), LONG, PASS, "honoured", id="then a refusal"),
    pytest.param(arm(think(200), finish="length"), LONG, FAIL, "ignored", id="cut by length past 2B+E"),
    pytest.param(arm(think(B), end=Truncated(at=5.0)), LONG, UNKNOWN, "inconclusive", id="broke off"),
    pytest.param(arm(think(B), end=DeadlineExceeded(at=5.0, phase=Phase.BODY)), LONG, UNKNOWN, "inconclusive", id="deadline"),
    pytest.param(arm(think(B), finish="error"), LONG, UNKNOWN, "inconclusive", id="aborted"),
    pytest.param(error_in_stream("died", "500", after=(think(30),)), LONG, UNKNOWN, "inconclusive", id="error in the middle"),
    pytest.param(
        arm(think(150), end=StoppedByUs(at=5.0, reason="over budget: at least 145 reasoning tokens")),
        LONG, FAIL, "ignored", id="stopped by the rule",
    ),
    pytest.param(
        arm(think(1, counted=False), end=StoppedByUs(at=5.0, reason="over budget: at least 145 reasoning tokens")),
        None, FAIL, "ignored", id="the rule knew more than the record",
    ),
    pytest.param(arm(think(B), end=StoppedByUs(at=5.0, reason="byte limit")), LONG, UNKNOWN, "inconclusive", id="stopped for another reason"),
    # the control
    pytest.param(arm(think(B), say()), arm(think(300), finish="length"), PASS, "honoured", id="control cut, but long"),
    pytest.param(arm(think(B), say()), arm(think(100), finish="length"), UNKNOWN, "inconclusive", id="control cut too early"),
    pytest.param(
        arm(think(B), say()), arm(think(264), end=StoppedByUs(at=5.0, reason="long enough: 264")),
        PASS, "honoured", id="control stopped by its rule",
    ),
    pytest.param(arm(think(B), say()), refused(500), UNKNOWN, "inconclusive", id="control failed"),
    pytest.param(arm(think(B), say()), arm(end=Interrupted(at=1.0)), UNKNOWN, "inconclusive", id="control interrupted"),
    # other counts
    pytest.param(arm(think(60, counted=False), say(), usage(60)), LONG, PASS, "honoured", id="reported"),
    pytest.param(arm(think(300, counted=False), say(), usage(300)), LONG, FAIL, "ignored", id="reported too many"),
    pytest.param(arm(think(300, counted=False), say(), usage(0)), LONG, FAIL, "ignored", id="a reported 0 beside text"),
    pytest.param(arm(think(900, counted=False), say(), usage(50)), LONG, FAIL, "ignored", id="a report that text refutes"),
    pytest.param(arm(think(300, counted=False), say(), usage(10, 40, text_tokens=30)), LONG, FAIL, "ignored", id="gateway-made"),
    pytest.param(arm(think(32, counted=False), finish="length"), LONG, UNKNOWN, "inconclusive", id="estimate cut by length"),
    pytest.param(arm(think(200, counted=False), usage(None, 200), finish="length"), None, FAIL, "ignored", id="the total is all reasoning"),
    # weak counts: the control teaches four characters a token
    pytest.param(estimated(60), LONG, PASS, "honoured", id="about 60, the ratio learned from the control"),
    pytest.param(estimated(80), LONG, PASS, "honoured", id="about B+E"),
    pytest.param(estimated(90), LONG, WARN, "overshoot", id="about 90"),
    pytest.param(estimated(115), LONG, WARN, "overshoot", id="at most 2B+E"),
    pytest.param(estimated(120), LONG, UNKNOWN, "inconclusive", id="perhaps past 2B+E"),
    pytest.param(estimated(190), LONG, UNKNOWN, "inconclusive", id="likely past 2B+E"),
    pytest.param(estimated(195), LONG, FAIL, "ignored", id="certainly past 2B+E"),
    # nothing but characters in both arms
    pytest.param(estimated(60), estimated(600), UNKNOWN, "inconclusive", id="only characters"),
    pytest.param(estimated(10), estimated(700), PASS, "honoured", id="few characters are few tokens"),
    pytest.param(estimated(15), estimated(700), UNKNOWN, "inconclusive", id="within 2B+E, and perhaps within B+E"),
    pytest.param(estimated(10), estimated(600), UNKNOWN, "inconclusive", id="a control that may be too short"),
    pytest.param(estimated(10), estimated(20), UNKNOWN, "inconclusive", id="a control that is too short"),
    pytest.param(estimated(400), None, FAIL, "ignored", id="1600 characters are more than 144 tokens"),
    pytest.param(estimated(300), None, UNKNOWN, "inconclusive", id="1200 characters need not be"),
    # who answered
    pytest.param(arm(think(B), say(), model="a"), arm(think(600), say(), model="b"), UNKNOWN, "inconclusive", id="another model"),
    pytest.param(arm(think(600), say(), model="a"), arm(think(600), say(), model="b"), UNKNOWN, "inconclusive", id="another model that thinks"),
    pytest.param(arm(think(B), say(), model="a"), arm(think(600), say(), model="a"), PASS, "honoured", id="the same model"),
    pytest.param(
        arm(think(600), say(), head={"x-litellm-attempted-fallbacks": "1"}), LONG, UNKNOWN, "inconclusive", id="a fallback",
    ),
    pytest.param(
        arm(think(B), say(), head={"x-litellm-attempted-fallbacks": "0"}), LONG, PASS, "honoured", id="no fallback",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("treatment", "control", "status", "reason"), CAPS)
def test_a_hard_cap(treatment, control, status, reason):
    verdict = verdict_on(treatment, control)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message
    assert verdict.subject == "thinking_budget"
    assert verdict.message.startswith("`thinking_budget`=64 ")


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
        measurement=type(headless)(**{name: getattr(headless, name) for name in headless.__slots__ if name != "time_to_headers_s"}, time_to_headers_s=None),
    )  # fmt: skip
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
    ("nonsense", "status"),
    [
        pytest.param(arm(think(B), say()), UNKNOWN, id="as short with a misspelt key: it is not the parameter"),
        pytest.param(arm(think(144), say()), UNKNOWN, id="hardly longer"),
        pytest.param(arm(think(145), say()), PASS, id="longer"),
        pytest.param(arm(think(B), finish="length"), PASS, id="cut: says nothing"),
        pytest.param(refused(400), PASS, id="refused: says nothing"),
        pytest.param(None, PASS, id="none"),
    ],
)
def test_the_misspelt_arm_doubts_obedience(nonsense, status):
    assert verdict_on(arm(think(B), say()), nonsense=nonsense).status is status


EXPECTED = [
    ("honoured", "honoured", PASS), ("honoured", "ignored", FAIL), ("honoured", "rejected", FAIL),
    ("overshoot", "honoured", WARN), ("overshoot", "ignored", WARN), ("overshoot", "rejected", FAIL),
    ("ignored", "honoured", FAIL), ("ignored", "ignored", PASS), ("ignored", "rejected", FAIL),
    ("rejected", "honoured", FAIL), ("rejected", "ignored", FAIL), ("rejected", "rejected", PASS),
    ("clamped", "honoured", FAIL), ("clamped", "ignored", WARN), ("clamped", "rejected", FAIL),
    ("inconclusive", "honoured", UNKNOWN), ("inconclusive", "ignored", UNKNOWN), ("inconclusive", "rejected", UNKNOWN),
]  # fmt: skip
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


@pytest.mark.parametrize(
    ("treatment", "control", "reason"),
    [
        pytest.param(1024, 3000, "clamped", id="1024"),
        pytest.param(1140, 3000, "clamped", id="a tenth and E above it"),
        pytest.param(1160, 3000, "ignored", id="too far above"),
        pytest.param(925, 3000, "clamped", id="a tenth below"),
        pytest.param(915, 3000, "ignored", id="too far below"),
        pytest.param(1024, 1300, "ignored", id="the control is hardly longer"),
        pytest.param(1024, 1463, "clamped", id="the control is clearly longer"),
        pytest.param(2048, 9000, "clamped", id="2048"),
        pytest.param(150, 9000, "ignored", id="not well above the cap"),
        pytest.param(700, 9000, "ignored", id="no known value"),
    ],
)
def test_a_value_that_was_raised(treatment, control, reason):
    verdict = verdict_on(arm(think(treatment), say()), arm(think(control), say()))
    assert (verdict.status, verdict.reason) == (FAIL, reason)


def test_a_raised_value_needs_an_end():
    assert verdict_on(arm(think(1024), finish="length"), arm(think(3000), say())).reason == "ignored"


BLOCKS = [
    pytest.param([40, 40, 40], PER_BLOCK, "honoured", id="a cap per block"),
    pytest.param([40, 40, 40], WHOLE, "overshoot", id="a cap on all"),
    pytest.param([40, 200], PER_BLOCK, "ignored", id="the second block has no cap"),
    pytest.param([200, 40], PER_BLOCK, "ignored", id="the first block has no cap"),
    pytest.param([64, 90], PER_BLOCK, "overshoot", id="the second block overshoots"),
    pytest.param([60] * 5, WHOLE, "ignored", id="five blocks against a cap on all"),
    pytest.param([60] * 5, PER_BLOCK, "honoured", id="five blocks, each within"),
]


@pytest.mark.parametrize(("blocks", "budget", "reason"), BLOCKS)
def test_several_blocks(blocks, budget, reason):
    events = [event for tokens in blocks for event in (think(tokens), say())]
    assert verdict_on(arm(*events), budget=budget).reason == reason


def test_a_control_of_many_short_blocks_proves_no_cap_per_block():
    events = [event for _ in range(10) for event in (think(60), say())]
    assert verdict_on(arm(think(60), say()), arm(*events), budget=PER_BLOCK).reason == "inconclusive"


def test_the_longest_of_several_blocks_is_named():
    verdict = verdict_on(arm(think(40), say(), think(60), say()), budget=PER_BLOCK)
    assert "60 reasoning tokens in the longest of 2 blocks, limit 80" in verdict.message


def test_blocks_without_counts_are_shared_out_with_a_margin():
    meter = ReasoningMeter(4.0)
    for event in (think(100, counted=False), say(), think(300, counted=False), say()):
        meter.feed(event)
    assert (meter.total().best, meter.longest_block().best) == (400, 300)
    assert meter.longest_block().low < meter.total().low * 0.75
    assert meter.longest_block().high <= meter.total().high


# reasoning that this hop does not show


def shown_at(at, *events, **evidence):
    return arm(*events, say(at=at), **evidence)


BELOW = measure(arm(think(600), say()).observation)
HIDDEN = [
    pytest.param(shown_at(2.0, usage(60)), shown_at(9.0, usage(600)), {}, PASS, "honoured", id="reported"),
    pytest.param(shown_at(2.0, usage(600)), shown_at(9.0, usage(600)), {}, FAIL, "ignored", id="reported too many"),
    pytest.param(shown_at(2.0), shown_at(7.0), {}, UNKNOWN, "no_reasoning", id="nothing says that any is hidden"),
    pytest.param(shown_at(2.0), shown_at(7.0), {"forwards_reasoning": False}, PASS, "honoured", id="over three times as fast"),
    pytest.param(shown_at(2.0), shown_at(7.0), {"below": BELOW}, PASS, "honoured", id="the hop below shows it"),
    pytest.param(shown_at(2.0), shown_at(6.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="three times is not over"),
    pytest.param(shown_at(0.1), shown_at(0.9), {"below": BELOW}, UNKNOWN, "inconclusive", id="nine times of nothing"),
    pytest.param(shown_at(7.0), shown_at(2.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="slower"),
    pytest.param(arm(), shown_at(7.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="nothing visible"),
    pytest.param(shown_at(2.0), None, {"below": BELOW}, UNKNOWN, "inconclusive", id="no control"),
    pytest.param(
        shown_at(2.0, usage(60, text_tokens=5)), shown_at(7.0, usage(600, text_tokens=5)), {"below": BELOW},
        PASS, "honoured", id="gateway-made counts are no report, time is left",
    ),
    pytest.param(
        shown_at(6.5, usage(60, text_tokens=5)), shown_at(7.0, usage(600, text_tokens=5)), {"below": BELOW},
        UNKNOWN, "inconclusive", id="gateway-made counts prove nothing",
    ),
    pytest.param(
        shown_at(2.0, ReasoningPresent(at=1.0, source="redacted")), shown_at(7.0), {}, PASS, "honoured", id="redacted",
    ),
    pytest.param(
        shown_at(2.0, ReasoningPresent(at=1.0, source="redacted")), LONG, {}, UNKNOWN, "inconclusive",
        id="redacted here, shown there",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("treatment", "control", "evidence", "status", "reason"), HIDDEN)
def test_hidden_reasoning(treatment, control, evidence, status, reason):
    def known(found):
        return found and Evidence(observation=found.observation, measurement=found.measurement, **evidence)

    verdict = verdict_on(known(treatment), known(control))
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


# reasoning whose opening mark stood in the prompt


def unopened(tokens, *, closed=True, finish="stop"):
    """As a decoder settles it: text before the closing mark is reasoning, without that mark it stays visible."""
    if not closed:
        return arm(VisibleDelta(at=1.0, text="abc " * tokens, tokens=tokens), finish=finish)
    delta = ReasoningDelta(
        at=1.0, text="abc " * tokens, source="</think>", form=ReasoningForm.UNOPENED_TAG, tokens=tokens
    )
    return arm(delta, Relabelled(at=1.5, tag="</think>"), say(), finish=finish)


@pytest.mark.parametrize(
    ("treatment", "reason"),
    [
        pytest.param(unopened(60), "honoured", id="closed in time"),
        pytest.param(unopened(300), "ignored", id="closed late"),
        pytest.param(unopened(60, finish="length"), "honoured", id="the mark is an end"),
        pytest.param(
            unopened(400, closed=False, finish="length"), "inconclusive", id="never closed: all looks visible"
        ),
        pytest.param(unopened(40, closed=False), "honoured", id="a finished answer without a mark had none"),
    ],
)
def test_reasoning_without_an_opening_mark(treatment, reason):
    assert verdict_on(treatment, unopened(600)).reason == reason


def test_relabelled_text_is_counted_live():
    meter = ReasoningMeter()
    meter.feed(VisibleDelta(at=1.0, text="abc " * 300, tokens=300))
    assert meter.total() is None
    meter.feed(Relabelled(at=2.0, tag="</think>"))
    assert meter.total().low == 300
    assert meter.closed


# when to stop


@pytest.mark.parametrize(("tokens", "needed"), [(0, 200), (64, 264), (66, 266), (67, 268), (100, 400), (1024, 4096)])
def test_control_tokens_needed(tokens, needed):
    assert control_tokens_needed(tokens) == needed


@pytest.mark.parametrize(("tokens", "most"), [(0, 216), (64, 280), (150, 366), (151, 368), (1024, 2114)])
def test_treatment_max_tokens_leaves_room_for_both_outcomes(tokens, most):
    assert treatment_max_tokens(tokens, E) == most
    assert most >= tokens + E + 200
    assert most > 2 * tokens + E


def stops_after(rule, events):
    """After how many events the rule stops, and why."""
    for number, event in enumerate(events, start=1):
        if reason := rule(event):
            return number, reason
    return None


ONE_BY_ONE = [think(1) for _ in range(400)]
UNCOUNTED = [think(1, counted=False) for _ in range(1000)]
RUNNING = [event for n in range(1, 401) for event in (think(1, counted=False), UsageReport(at=1.0, usage=Usage(reasoning_tokens=n)))]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "ratio", "after"),
    [
        pytest.param(ONE_BY_ONE, None, 2 * B + E + 1, id="tokens told with each delta"),
        pytest.param(RUNNING, None, 2 * (2 * B + E) + 1, id="running usage and the text after it"),
        pytest.param(UNCOUNTED, 4.0, 193, id="a ratio, with its margin"),
        pytest.param(UNCOUNTED, None, 361, id="characters alone, with the least that they can be"),
        pytest.param([think(144), say()], None, None, id="at the limit"),
        pytest.param([VisibleDelta(at=1.0, text="a" * 9000, tokens=2000)], None, None, id="an answer is no reasoning"),
        pytest.param([VisibleDelta(at=1.0, text="a" * 9000, tokens=2000), Relabelled(at=2.0, tag="</think>")], None, 2, id="relabelled"),
        pytest.param([usage(100, text_tokens=5), usage(900, text_tokens=5)], None, None, id="gateway-made counts"),
        pytest.param([usage(145)], None, 1, id="hidden reasoning, reported"),
        pytest.param([think(100), say(), think(100)], None, 3, id="the sum of blocks"),
    ],
)  # fmt: skip
def test_the_treatment_is_stopped_once_it_is_certainly_past_twice_the_budget(events, ratio, after):
    stopped = stops_after(TreatmentRule(WHOLE, B, chars_per_token=ratio), events)
    assert (stopped and stopped[0]) == after
    assert stopped is None or stopped[1].startswith("over budget: at least ")


def test_a_cap_per_block_is_passed_by_one_block():
    assert stops_after(TreatmentRule(PER_BLOCK, B), [think(100), say(), think(100), say()]) is None
    assert stops_after(TreatmentRule(PER_BLOCK, B), [think(100), say(), think(145)]) is not None


@pytest.mark.parametrize(
    ("events", "ratio", "after"),
    [
        pytest.param(ONE_BY_ONE, None, 264, id="tokens told with each delta"),
        pytest.param(RUNNING, None, 2 * 264, id="running usage"),
        pytest.param(UNCOUNTED, 4.0, 352, id="a ratio, with its margin"),
        pytest.param(UNCOUNTED, None, 660, id="characters alone"),
        pytest.param([think(263), say()], None, None, id="one too few"),
    ],
)
def test_the_control_is_stopped_once_it_has_certainly_reasoned_enough(events, ratio, after):
    stopped = stops_after(ControlRule(WHOLE, B, chars_per_token=ratio), events)
    assert (stopped and stopped[0]) == after


def test_what_stops_a_stream_is_enough_for_its_verdict():
    """The rule and the verdict count alike, so no stop is wasted."""
    number, reason = stops_after(TreatmentRule(WHOLE, B), UNCOUNTED)
    treatment = arm(*UNCOUNTED[:number], end=StoppedByUs(at=5.0, reason=reason))
    number, reason = stops_after(ControlRule(WHOLE, B), UNCOUNTED)
    control = arm(*UNCOUNTED[:number], end=StoppedByUs(at=5.0, reason=reason))
    assert verdict_on(treatment, control).reason == "ignored"
    assert verdict_on(arm(think(5), say()), control).reason == "honoured"


@pytest.mark.parametrize(
    ("control", "ratio", "length"),
    [
        pytest.param(arm(think(264), say()), None, ControlLength.ENOUGH, id="enough"),
        pytest.param(arm(think(263), say()), None, ControlLength.TOO_SHORT, id="too short"),
        pytest.param(arm(say()), None, ControlLength.TOO_SHORT, id="no reasoning"),
        pytest.param(arm(think(100), finish="length"), None, ControlLength.CUT, id="cut"),
        pytest.param(estimated(300), 4.0, ControlLength.WEAK, id="weak"),
        pytest.param(estimated(352), 4.0, ControlLength.ENOUGH, id="enough with its margin"),
        pytest.param(refused(500), None, ControlLength.UNUSABLE, id="failed"),
        pytest.param(None, None, ControlLength.UNUSABLE, id="none"),
    ],
)
def test_control_length(control, ratio, length):
    assert control_length(WHOLE, B, control, chars_per_token=ratio) is length


# switches and what is not absolute

ENABLE = BUDGETS["chat_template_kwargs.enable_thinking"]
EFFORT = BUDGETS["reasoning_effort"]
SWITCHES = [
    pytest.param(arm(say()), LONG, False, PASS, "honoured", id="off"),
    pytest.param(arm(think(8), say()), LONG, False, PASS, "honoured", id="an empty block"),
    pytest.param(arm(think(9), say()), LONG, False, FAIL, "ignored", id="more than an empty block"),
    pytest.param(arm(think(600), say()), LONG, False, FAIL, "ignored", id="off is ignored"),
    pytest.param(arm(think(600), say()), None, False, FAIL, "ignored", id="without a control"),
    pytest.param(arm(think(600), say()), arm(say()), False, FAIL, "inverted", id="off switches it on"),
    pytest.param(arm(say()), arm(say()), False, UNKNOWN, "no_reasoning", id="none in either"),
    pytest.param(arm(usage(0), say()), arm(usage(0), say()), False, UNKNOWN, "no_reasoning", id="none reported in either"),
    pytest.param(arm(say()), arm(think(49), say()), False, UNKNOWN, "inconclusive", id="hardly any without it"),
    pytest.param(arm(say()), arm(think(50), say()), False, PASS, "honoured", id="some without it"),
    pytest.param(arm(say()), None, False, UNKNOWN, "inconclusive", id="nothing to compare with"),
    pytest.param(arm(usage(0), say()), None, False, UNKNOWN, "inconclusive", id="a reported 0 alone"),
    pytest.param(arm(think(5), finish="length"), LONG, False, UNKNOWN, "inconclusive", id="cut at once"),
    pytest.param(arm(think(3, counted=False), say(counted=False)), estimated(600), False, UNKNOWN, "inconclusive", id="too rough"),
    pytest.param(arm(think(600), say()), arm(say()), True, PASS, "honoured", id="on"),
    pytest.param(arm(think(600), say()), LONG, True, UNKNOWN, "inconclusive", id="on anyway"),
    pytest.param(arm(say()), arm(say()), True, UNKNOWN, "no_reasoning", id="on, and none"),
    pytest.param(shown_at(1.0, below=BELOW), shown_at(7.0, below=BELOW), False, PASS, "honoured", id="hidden, by time"),
    pytest.param(refused(400), LONG, False, FAIL, "rejected", id="rejected"),
]  # fmt: skip


@pytest.mark.parametrize(("treatment", "control", "value", "status", "reason"), SWITCHES)
def test_a_switch(treatment, control, value, status, reason):
    verdict = verdict_on(treatment, control, budget=ENABLE, value=value)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


@pytest.mark.parametrize(
    ("budget", "tokens", "value", "treatment", "reason"),
    [
        pytest.param(EFFORT, None, "none", arm(say()), "honoured", id="effort none is off"),
        pytest.param(EFFORT, None, "none", arm(think(300), say()), "ignored", id="effort none is ignored"),
        pytest.param(EFFORT, None, "low", arm(think(300), say()), "inconclusive", id="a level says nothing by itself"),
        pytest.param(BUDGETS["thinking.budget_tokens"], 1024, None, arm(think(900), say()), "inconclusive", id="nor does a soft cap"),
        pytest.param(BUDGETS["thinking.budget_tokens"], 64, None, refused(400), "rejected", id="but it can be refused"),
        pytest.param(BUDGETS["thinkingConfig.thinkingBudget"], 0, None, arm(think(1515), say()), "ignored", id="0 is off"),
    ],
)  # fmt: skip
def test_soft_parameters_by_one_pair(budget, tokens, value, treatment, reason):
    assert verdict_on(treatment, budget=budget, tokens=tokens, value=value).reason == reason


def ordered(spec, *, budget=EFFORT, **how):
    """`none 0 0 0 | low 100 110 120`: tokens of each repeat, least first; `-` is a refusal."""
    levels = []
    for part in spec.split("|"):
        value, *each = part.split()
        repeats = [
            refused(400, "not supported") if n == "-" else arm(*([think(int(n))] if int(n) else []), say(), **how)
            for n in each
        ]
        levels.append(Level(value=value, repeats=tuple(repeats)))
    return judge_order(BudgetTest(parameter=budget.name, value="low"), budget, levels, hop="vllm")


@pytest.mark.parametrize(
    ("spec", "status", "reason"),
    [
        ("none 0 0 0 | low 100 110 120 | high 900 950 1000", PASS, "honoured"),
        ("low 100 200 150 | high 900 950 1000", PASS, "honoured"),
        ("low 100 110 120 | medium 100 110 120 | high 400 500 600", PASS, "honoured"),
        ("none 800 820 900 | low 100 120 90", FAIL, "inverted"),
        ("none 0 0 0 | low 900 950 1000 | high 300 310 320", FAIL, "inverted"),
        ("low 900 950 1000 | medium 940 930 990 | high 960 940 1000", FAIL, "ignored"),
        ("low 100 110 120 | high 110 120 130", FAIL, "ignored"),
        ("low 100 110 900 | high 500 600 700", UNKNOWN, "inconclusive"),
        ("low 100 110 | high 900 950 1000", UNKNOWN, "inconclusive"),
        ("low 100 110 120", UNKNOWN, "inconclusive"),
        ("none 0 0 0 | low 0 0 0", UNKNOWN, "no_reasoning"),
        ("none 0 0 0 | medium 100 - 100 | high 300 300 300", FAIL, "rejected"),
        ("low 2 3 4 | high 10 12 15", FAIL, "ignored"),
    ],
)  # fmt: skip
def test_order(spec, status, reason):
    verdict = ordered(spec)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


def test_a_refused_level_is_named():
    assert ": medium: HTTP 400: not supported" in ordered("none 0 0 0 | medium - - -").message


def levels(*rows):
    return [Level(value=value, repeats=tuple(repeats)) for value, repeats in rows]


ORDERS = [
    pytest.param(
        levels(("low", [estimated(50)] * 3), ("high", [estimated(500)] * 3)), "honoured", "characters", id="by characters",
    ),
    pytest.param(
        levels(("low", [arm(usage(50), say())] * 3), ("high", [arm(usage(500), say())] * 3)), "honoured", "tokens",
        id="hidden and reported",
    ),
    pytest.param(levels(("low", [arm(say(), below=BELOW)] * 3), ("high", [arm(say())] * 3)), "inconclusive", "hidden", id="hidden"),
    pytest.param(
        levels(("low", [arm(think(100), finish="length")] * 3), ("high", [arm(think(500), say())] * 3)),
        "inconclusive", "cut", id="the lower one was cut",
    ),
    pytest.param(
        levels(("low", [arm(think(100), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "honoured", "tokens", id="the upper one was cut",
    ),
    pytest.param(
        levels(("low", [arm(think(500), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "inconclusive", "vary", id="flat up to a cut",
    ),
    pytest.param(
        levels(("low", [arm(think(900), say())] * 3), ("high", [arm(think(500), finish="length")] * 3)),
        "inconclusive", "vary", id="a cut inverts nothing",
    ),
    pytest.param(
        levels(("low", [arm(think(100), say()), refused(500), refused(429)]), ("high", [LONG] * 3)),
        "inconclusive", "too few for low", id="failed repeats do not count",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "reason", "said"), ORDERS)
def test_order_of_what_is_not_plain(rows, reason, said):
    verdict = judge_order(BudgetTest(parameter="reasoning_effort", value="low"), EFFORT, rows, hop="vllm")
    assert verdict.reason == reason
    assert said in verdict.message


# field cases, by their public threads: what was sent, what came, what it must be called

CASES = [
    pytest.param(arm(think(512), finish="length"), LONG, {}, "ignored", id="speculation bypasses the cap (vllm 39573)"),
    pytest.param(arm(think(50), say()), arm(think(50), say()), {}, "inconclusive", id="ends by itself below the cap (vllm 39573)"),
    pytest.param(arm(think(32), usage(32, 32), finish="length"), None, {"tokens": 1}, "ignored", id="a budget of 1 (vllm 54906)"),
    pytest.param(
        arm(think(2000), say()), arm(think(2000), say()),
        {"budget": BUDGETS["chat_template_kwargs.thinking_token_budget"], "tokens": 100}, "ignored", id="nested (vllm 50166)",
    ),
    pytest.param(arm(think(50), say()), arm(think(55), say()), {}, "inconclusive", id="a trivial question (vllm 0.18 forum)"),
    pytest.param(
        arm(think(1400), finish="length"), None, {"budget": BUDGETS["custom_params.thinking_budget"], "tokens": 200},
        "ignored", id="strict thinking not enforced (sglang 25536)",
    ),
    pytest.param(arm(think(900), say()), LONG, {"tokens": 256}, "ignored", id="server ignores what the CLI enforces (mlx-vlm 1224)"),
    pytest.param(arm(think(200), finish="length"), None, {"tokens": 100}, "inconclusive", id="max_tokens too small to tell (omlx 2455)"),
    pytest.param(
        arm(think(8192), finish="length"), None, {"budget": BUDGETS["think"], "value": False}, "ignored", id="think false (trudi 18)",
    ),
    pytest.param(
        arm(say()), arm(think(8192), say()), {"budget": BUDGETS["reasoning.effort"], "value": "none"},
        "honoured", id="effort none works where think does not (trudi 18)",
    ),
    pytest.param(
        arm(think(50), finish="length"), None, {"budget": BUDGETS["think"], "value": False}, "ignored", id="answer in reasoning (ollama 15288)",
    ),
    pytest.param(
        arm(think(600), say()), LONG, {"budget": BUDGETS["extra_body.thinking_token_budget"]}, "ignored", id="literal extra_body at the engine",
    ),
    pytest.param(
        arm(think(60), say()), LONG, {"budget": BUDGETS["extra_body.thinking_token_budget"]}, "honoured", id="literal extra_body at the gateway",
    ),
    pytest.param(
        arm(think(600), say()), LONG, {"budget": BUDGETS["thinking.type"], "value": "disabled"}, "ignored", id="disabled is swallowed (litellm)",
    ),
    pytest.param(
        arm(think(600), say()), arm(say()), {"budget": EFFORT, "value": "none"}, "inverted", id="none switches it on (litellm mistral)",
    ),
    pytest.param(arm(think(1024), say()), arm(think(4000), say()), {}, "clamped", id="64 raised to 1024 (litellm bedrock)"),
    pytest.param(
        arm(usage(19999), finish="length"), None, {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 12000},
        "inconclusive", id="a soft cap is no limit (python-genai 782)",
    ),
    pytest.param(
        arm(usage(1515), say()), None, {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 0},
        "ignored", id="0 and a long prompt (cookbook 722)",
    ),
    pytest.param(arm(think(600), say()), LONG, {"budget": ENABLE, "value": False}, "ignored", id="false is dropped (LocalAI 11674)"),
    pytest.param(
        arm(think(7242), say()), None, {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 3000}, "ignored", id="one in twenty (llama.cpp 25961)",
    ),
    pytest.param(
        arm(think(300), say(), model="local"), arm(think(300), say(), model="asked"), {"budget": EFFORT, "value": "none"},
        "inconclusive", id="a fallback answers (home-ops 3391)",
    ),
    pytest.param(arm(think(60), say(), think(500), say()), LONG, {"budget": PER_BLOCK}, "ignored", id="second block unbounded (vllm 45984)"),
    pytest.param(
        error_in_stream("thinking_token_budget is not yet supported by the V2 model runner", "400", "BadRequestError"), LONG,
        {"budget": PER_BLOCK}, "rejected", id="V2 runner (vllm 50473)",
    ),
    pytest.param(refused(424, "Received client error (400)"), LONG, {}, "rejected", id="424 hides the cause (litellm 17147)"),
    pytest.param(error_in_stream("gone", "504"), LONG, {}, "inconclusive", id="only an error object (guidellm 743)"),
    pytest.param(error_in_stream("bad", None), LONG, {}, "rejected", id="an error envelope in a 200 (rocketmq 2178)"),
    pytest.param(error_in_stream("Error processing stream start", "400"), LONG, {}, "rejected", id="after keepalives (litellm)"),
    pytest.param(
        refused(400, "Thinking budget is not supported for this model"), LONG,
        {"budget": BUDGETS["thinkingConfig.thinkingBudget"], "tokens": 0}, "rejected", id="a model that does not think (subwave 1044)",
    ),
    pytest.param(
        refused(400, "Unsupported parameter: 'max_tokens'"), None, {"budget": EFFORT, "value": "none"},
        "probe_misconfigured", id="the probe's own max_tokens (litellm 13432)",
    ),
    pytest.param(
        error_in_stream('think value "medium" is not supported for this model', None, "api_error"), LONG,
        {"budget": EFFORT, "value": "medium"}, "rejected", id="a level on a boolean model (ollama 12561)",
    ),
    pytest.param(
        refused(400, "extra_forbidden: body, max_completion_tokens", request={"max_completion_tokens": 9}), refused(400, "extra_forbidden"),
        {}, "inconclusive", id="refused with and without it (MaxKB 2912)",
    ),
    pytest.param(arm(think(180), say(40)), LONG, {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 200}, "inconclusive", id="the control is too short for 200 (llama.cpp 28182)"),
    pytest.param(arm(say()), LONG, {"budget": BUDGETS["thinking_budget_tokens"], "tokens": 0}, "honoured", id="0 and a stray mark (ferrox 205)"),
]  # fmt: skip


@pytest.mark.parametrize(("treatment", "control", "how", "reason"), CASES)
def test_field_cases(treatment, control, how, reason):
    verdict = verdict_on(treatment, control, **how)
    assert verdict.reason == reason, verdict.message


def of_file(name):
    observation = decode(recorded(name))
    return Evidence(observation=observation, measurement=measure(observation))


@pytest.mark.parametrize(
    ("treatment", "control", "tokens", "reason"),
    [
        pytest.param("vllm-0.22.1-chat-budget0", "vllm-0.22.1-chat-unbudgeted", 0, "honoured", id="0"),
        pytest.param("vllm-0.22.1-chat-budget64", "vllm-0.22.1-chat-unbudgeted", 64, "honoured", id="no reasoning tokens reported"),
        pytest.param("vllm-0.22.1-chat-budget64", None, 64, "inconclusive", id="and nothing to learn a ratio from"),
        pytest.param("vllm-0.22.1-chat-ignored", "vllm-0.22.1-chat-unbudgeted", 64, "ignored", id="an unknown name"),
        pytest.param("vllm-0.19.1-chat-rejected", "vllm-0.19.1-chat-unbudgeted", 64, "rejected", id="an error in a 200"),
        pytest.param("litellm-noparser-rejected", "litellm-chat-unbudgeted", 16, "rejected", id="a 400 by the gateway"),
        pytest.param("vllm-chat-budget16", "vllm-chat-unbudgeted", 16, "inconclusive", id="a control of 64 tokens"),
        pytest.param("litellm-chat-ignored", "litellm-chat-unbudgeted", 16, "ignored", id="at the gateway"),
        pytest.param("litellm-dropped-chat-budget16", "litellm-chat-unbudgeted", 16, "inconclusive", id="another model name"),
        pytest.param("litellm-dropped-chat-budget16", None, 16, "ignored", id="dropped by the gateway"),
    ],
)  # fmt: skip
def test_recorded_streams(treatment, control, tokens, reason):
    verdict = verdict_on(of_file(treatment), control and of_file(control), budget=PER_BLOCK, tokens=tokens)
    assert verdict.reason == reason, verdict.message


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        pytest.param(
            verdict_on(arm(think(61), say())),
            "`thinking_budget`=64 is honoured: 61 reasoning tokens, limit 80; without it 600 reasoning tokens",
            id="honoured",
        ),
        pytest.param(
            verdict_on(arm(think(145), end=StoppedByUs(at=1.0, reason="over budget: at least 145 reasoning tokens"))),
            "`thinking_budget`=64 is ignored, expected honoured: 145 reasoning tokens, limit 80; stopped there",
            id="ignored",
        ),
        pytest.param(
            verdict_on(arm(think(61), say()), arm(think(100), say())),
            "`thinking_budget`=64 could not be judged: 61 reasoning tokens, but without it only 100 reasoning tokens"
            " where 264 prove something; a harder prompt is needed",
            id="a harder prompt",
        ),
        pytest.param(
            verdict_on(refused(400, "Extra inputs are not permitted")),
            "`thinking_budget`=64 is rejected, expected honoured: HTTP 400: Extra inputs are not permitted",
            id="rejected",
        ),
    ],
)
def test_messages_are_sentences_with_their_numbers(verdict, message):
    assert verdict.message == message


def test_observed_and_limit_are_the_numbers_of_the_message():
    verdict = verdict_on(arm(think(61), say()))
    assert (verdict.observed, verdict.limit, verdict.unit) == (61, 80, "tokens")
    assert CHARS == 4
