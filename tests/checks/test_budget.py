import pytest

from canary.checks.budget_cap import ControlLength, control_length, needs_witness
from canary.checks.budget_stop import ControlRule, TreatmentRule, control_tokens_needed, treatment_max_tokens
from canary.checks.evidence import Evidence
from canary.core.observation import DeadlineExceeded, Interrupted, Phase, StoppedByUs, Truncated
from canary.core.spec import BudgetTest
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
from tests.fakes.arms import (
    BELOW,
    CHARS,
    LONG,
    PER_BLOCK,
    WHOLE,
    B,
    E,
    arm,
    error_in_stream,
    estimated,
    refused,
    say,
    shown_at,
    think,
    usage,
    verdict_on,
)

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN


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
    pytest.param(
        arm(think(B), VisibleDelta(at=2.0, text="\n"), finish="length"),
        LONG,
        UNKNOWN,
        "inconclusive",
        id="white space closes nothing",
    ),
    pytest.param(arm(think(B)), LONG, PASS, "honoured", id="stop with nothing visible"),
    pytest.param(
        arm(think(B), ToolCallDelta(at=2.0, text="f"), finish="tool_calls"),
        LONG,
        PASS,
        "honoured",
        id="then a tool call",
    ),
    pytest.param(
        arm(think(B), RefusalDelta(at=2.0, text="no"), finish="length"), LONG, PASS, "honoured", id="then a refusal"
    ),
    pytest.param(arm(think(200), finish="length"), LONG, FAIL, "ignored", id="cut by length past 2B+E"),
    pytest.param(arm(think(B), end=Truncated(at=5.0)), LONG, UNKNOWN, "inconclusive", id="broke off"),
    pytest.param(
        arm(think(B), end=DeadlineExceeded(at=5.0, phase=Phase.BODY)), LONG, UNKNOWN, "inconclusive", id="deadline"
    ),
    pytest.param(arm(think(B), finish="error"), LONG, UNKNOWN, "inconclusive", id="aborted"),
    pytest.param(
        error_in_stream("died", "500", after=(think(30),)), LONG, UNKNOWN, "inconclusive", id="error in the middle"
    ),
    pytest.param(
        arm(think(150), end=StoppedByUs(at=5.0, reason="over budget: at least 145 reasoning tokens")),
        LONG,
        FAIL,
        "ignored",
        id="stopped by the rule",
    ),
    pytest.param(
        arm(think(1, counted=False), end=StoppedByUs(at=5.0, reason="over budget: at least 145 reasoning tokens")),
        None,
        FAIL,
        "ignored",
        id="the rule knew more than the record",
    ),
    pytest.param(
        arm(think(B), end=StoppedByUs(at=5.0, reason="byte limit")),
        LONG,
        UNKNOWN,
        "inconclusive",
        id="stopped for another reason",
    ),
    # the control
    pytest.param(arm(think(B), say()), arm(think(300), finish="length"), PASS, "honoured", id="control cut, but long"),
    pytest.param(
        arm(think(B), say()), arm(think(100), finish="length"), UNKNOWN, "inconclusive", id="control cut too early"
    ),
    pytest.param(
        arm(think(B), say()),
        arm(think(264), end=StoppedByUs(at=5.0, reason="long enough: 264")),
        PASS,
        "honoured",
        id="control stopped by its rule",
    ),
    pytest.param(arm(think(B), say()), refused(500), UNKNOWN, "inconclusive", id="control failed"),
    pytest.param(arm(think(B), say()), arm(end=Interrupted(at=1.0)), UNKNOWN, "inconclusive", id="control interrupted"),
    # other counts
    pytest.param(arm(think(60, counted=False), say(), usage(60)), LONG, PASS, "honoured", id="reported"),
    pytest.param(arm(think(300, counted=False), say(), usage(300)), LONG, FAIL, "ignored", id="reported too many"),
    pytest.param(arm(think(300, counted=False), say(), usage(0)), LONG, FAIL, "ignored", id="a reported 0 beside text"),
    pytest.param(
        arm(think(900, counted=False), say(), usage(50)), LONG, FAIL, "ignored", id="a report that text refutes"
    ),
    pytest.param(
        arm(think(300, counted=False), say(), usage(10, 40, text_tokens=30)), LONG, FAIL, "ignored", id="gateway-made"
    ),
    pytest.param(
        arm(think(32, counted=False), finish="length"), LONG, UNKNOWN, "inconclusive", id="estimate cut by length"
    ),
    pytest.param(
        arm(think(200, counted=False), usage(None, 200), finish="length"),
        None,
        FAIL,
        "ignored",
        id="the total is all reasoning",
    ),
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
    pytest.param(
        arm(think(B), say(), model="a"), arm(think(600), say(), model="b"), UNKNOWN, "inconclusive", id="another model"
    ),
    pytest.param(
        arm(think(600), say(), model="a"),
        arm(think(600), say(), model="b"),
        UNKNOWN,
        "inconclusive",
        id="another model that thinks",
    ),
    pytest.param(
        arm(think(B), say(), model="a"), arm(think(600), say(), model="a"), PASS, "honoured", id="the same model"
    ),
    pytest.param(
        arm(think(600), say(), head={"x-litellm-attempted-fallbacks": "1"}),
        LONG,
        UNKNOWN,
        "inconclusive",
        id="a fallback",
    ),
    pytest.param(
        arm(think(B), say(), head={"x-litellm-attempted-fallbacks": "0"}),
        LONG,
        PASS,
        "honoured",
        id="no fallback",
    ),
]


@pytest.mark.parametrize(("treatment", "control", "status", "reason"), CAPS)
def test_a_hard_cap(treatment, control, status, reason):
    verdict = verdict_on(treatment, control)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message
    assert verdict.subject == "thinking_budget"
    assert verdict.message.startswith("`thinking_budget`=64 ")


STOPPED = arm(think(264), end=StoppedByUs(at=5.0, reason="long enough: at least 264 reasoning tokens"))
OVER = arm(think(150), end=StoppedByUs(at=5.0, reason="over budget: at least 145 reasoning tokens"))
NOBODY, NOT_SEEN, SEEN = None, False, True  # whether some answer of the hop told an answer from reasoning

ALL_IN_REASONING = [
    # It ended by itself, with nothing but reasoning: the answer is among it.
    pytest.param(arm(think(224)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="whole"),
    pytest.param(arm(think(224)), LONG, NOBODY, UNKNOWN, "inconclusive", id="only where the cap forced the end"),
    pytest.param(arm(think(224)), LONG, SEEN, UNKNOWN, "inconclusive", id="although other answers are in order"),
    pytest.param(arm(think(90)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="no overshoot"),
    pytest.param(arm(think(1024)), arm(think(3000)), NOBODY, UNKNOWN, "inconclusive", id="no raised value"),
    pytest.param(arm(think(B)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="a control that may be all answer"),
    pytest.param(arm(think(B)), STOPPED, SEEN, PASS, "honoured", id="all of it within the cap, and a good control"),
    pytest.param(
        arm(think(224, counted=False), usage(224, 226)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="all is counted"
    ),
    pytest.param(
        arm(think(224, counted=False), usage(B, 226)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="refuted usage"
    ),
    pytest.param(
        arm(think(100, counted=False), usage(B, 102)), LONG, NOBODY, PASS, "honoured", id="usage tells them apart"
    ),
    pytest.param(
        arm(think(100, counted=False), usage(B, 102), finish="length"), LONG, NOBODY, PASS, "honoured", id="and a cut"
    ),
    pytest.param(
        arm(think(100, counted=False), usage(B, 102)), STOPPED, NOBODY, UNKNOWN, "inconclusive", id="not the control's"
    ),
    pytest.param(
        arm(think(400, counted=False), usage(300, 402)), STOPPED, NOT_SEEN, FAIL, "ignored", id="usage tells too many"
    ),
    # It was stopped or cut: what would have come is not known.
    pytest.param(OVER, STOPPED, NOT_SEEN, UNKNOWN, "inconclusive", id="stopped"),
    pytest.param(OVER, STOPPED, SEEN, FAIL, "ignored", id="stopped, at a hop that is in order"),
    pytest.param(OVER, STOPPED, NOBODY, FAIL, "ignored", id="stopped, and the field is believed"),
    pytest.param(OVER, LONG, NOT_SEEN, FAIL, "ignored", id="the control shows that the hop is in order"),
    pytest.param(arm(think(248), finish="length"), STOPPED, NOT_SEEN, UNKNOWN, "inconclusive", id="cut by length"),
    pytest.param(arm(think(248), finish="length"), STOPPED, SEEN, FAIL, "ignored", id="cut by length, in order"),
    pytest.param(arm(think(B), finish="length"), STOPPED, NOT_SEEN, UNKNOWN, "inconclusive", id="cut within"),
    # It ended its own reasoning.
    pytest.param(arm(think(200), say()), STOPPED, NOT_SEEN, FAIL, "ignored", id="an answer at last"),
    pytest.param(arm(think(B), say()), STOPPED, NOT_SEEN, PASS, "honoured", id="an answer soon"),
]


@pytest.mark.parametrize(("treatment", "control", "separates", "status", "reason"), ALL_IN_REASONING)
def test_an_answer_among_the_reasoning_proves_nothing(treatment, control, separates, status, reason):
    verdict = verdict_on(treatment, control, separates=separates)
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


def test_why_an_answer_among_the_reasoning_proves_nothing():
    message = "`thinking_budget`=64 could not be judged: 224 reasoning tokens and nothing else came, so the answer may"
    assert verdict_on(arm(think(224)), STOPPED).message.startswith(message)


def test_a_misspelt_key_may_show_that_the_hop_is_in_order():
    nonsense = arm(think(300), say())
    assert verdict_on(OVER, STOPPED, separates=NOT_SEEN, nonsense=nonsense).reason == "ignored"


@pytest.mark.parametrize(
    ("treatment", "tokens", "needed"),
    [
        pytest.param(arm(think(145), finish="length"), B, True, id="past the cap, and cut"),
        pytest.param(OVER, B, True, id="past the cap, and stopped"),
        pytest.param(arm(think(144), finish="length"), B, False, id="not past it"),
        pytest.param(arm(think(224)), B, False, id="it ended by itself, and tells enough"),
        pytest.param(arm(think(224), say(), finish="length"), B, False, id="it shows it by itself"),
        pytest.param(arm(usage(300, 300), finish="length"), B, False, id="no text that could be something else"),
        pytest.param(arm(think(145), finish="length"), None, False, id="no cap"),
    ],
)
def test_when_it_must_be_known_whether_a_hop_tells_answers_from_reasoning(treatment, tokens, needed):
    test = BudgetTest(parameter=WHOLE.name, tokens=tokens)
    assert needs_witness(test, WHOLE, treatment, None) is needed


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


HIDDEN = [
    pytest.param(shown_at(2.0, usage(60)), shown_at(9.0, usage(600)), {}, PASS, "honoured", id="reported"),
    pytest.param(shown_at(2.0, usage(600)), shown_at(9.0, usage(600)), {}, FAIL, "ignored", id="reported too many"),
    pytest.param(shown_at(2.0), shown_at(7.0), {}, UNKNOWN, "no_reasoning", id="nothing says that any is hidden"),
    pytest.param(
        shown_at(2.0), shown_at(7.0), {"forwards_reasoning": False}, PASS, "honoured", id="over three times as fast"
    ),
    pytest.param(shown_at(2.0), shown_at(7.0), {"below": BELOW}, PASS, "honoured", id="the hop below shows it"),
    pytest.param(shown_at(2.0), shown_at(6.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="three times is not over"),
    pytest.param(shown_at(0.1), shown_at(0.9), {"below": BELOW}, UNKNOWN, "inconclusive", id="nine times of nothing"),
    pytest.param(shown_at(7.0), shown_at(2.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="slower"),
    pytest.param(arm(), shown_at(7.0), {"below": BELOW}, UNKNOWN, "inconclusive", id="nothing visible"),
    pytest.param(arm(finish="length"), shown_at(7.0), {"below": BELOW}, FAIL, "ignored", id="length ran out first"),
    pytest.param(
        arm(finish="length", request={"max_tokens": 2 * B + E}),
        shown_at(7.0),
        {"below": BELOW},
        UNKNOWN,
        "inconclusive",
        id="length ran out, and obedience may need as much",
    ),
    pytest.param(arm(finish="length"), shown_at(7.0), {}, UNKNOWN, "no_reasoning", id="length, and nothing is hidden"),
    pytest.param(
        arm(finish="length"), arm(finish="length"), {"below": BELOW}, UNKNOWN, "inconclusive", id="length in both"
    ),
    pytest.param(shown_at(2.0), None, {"below": BELOW}, UNKNOWN, "inconclusive", id="no control"),
    pytest.param(
        shown_at(2.0, usage(60, text_tokens=5)),
        shown_at(7.0, usage(600, text_tokens=5)),
        {"below": BELOW},
        PASS,
        "honoured",
        id="gateway-made counts are no report, time is left",
    ),
    pytest.param(
        shown_at(6.5, usage(60, text_tokens=5)),
        shown_at(7.0, usage(600, text_tokens=5)),
        {"below": BELOW},
        UNKNOWN,
        "inconclusive",
        id="gateway-made counts prove nothing",
    ),
    pytest.param(
        shown_at(2.0, ReasoningPresent(at=1.0, source="redacted")),
        shown_at(7.0),
        {},
        PASS,
        "honoured",
        id="redacted",
    ),
    pytest.param(
        shown_at(2.0, ReasoningPresent(at=1.0, source="redacted")),
        LONG,
        {},
        UNKNOWN,
        "inconclusive",
        id="redacted here, shown there",
    ),
]


@pytest.mark.parametrize(("treatment", "control", "evidence", "status", "reason"), HIDDEN)
def test_hidden_reasoning(treatment, control, evidence, status, reason):
    def known(found):
        return found and Evidence(observation=found.observation, measurement=found.measurement, **evidence)

    verdict = verdict_on(known(treatment), known(control))
    assert (verdict.status, verdict.reason) == (status, reason), verdict.message


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


RUNNING = [
    event
    for n in range(1, 401)
    for event in (think(1, counted=False), UsageReport(at=1.0, usage=Usage(reasoning_tokens=n)))
]


@pytest.mark.parametrize(
    ("events", "ratio", "after"),
    [
        pytest.param(ONE_BY_ONE, None, 2 * B + E + 1, id="tokens told with each delta"),
        pytest.param(RUNNING, None, 2 * (2 * B + E) + 1, id="running usage and the text after it"),
        pytest.param(UNCOUNTED, 4.0, 193, id="a ratio, with its margin"),
        pytest.param(UNCOUNTED, None, 361, id="characters alone, with the least that they can be"),
        pytest.param([think(144), say()], None, None, id="at the limit"),
        pytest.param([VisibleDelta(at=1.0, text="a" * 9000, tokens=2000)], None, None, id="an answer is no reasoning"),
        pytest.param(
            [VisibleDelta(at=1.0, text="a" * 9000, tokens=2000), Relabelled(at=2.0, tag="</think>")],
            None,
            2,
            id="relabelled",
        ),
        pytest.param([usage(100, text_tokens=5), usage(900, text_tokens=5)], None, None, id="gateway-made counts"),
        pytest.param([usage(145)], None, 1, id="hidden reasoning, reported"),
        pytest.param([think(100), say(), think(100)], None, 3, id="the sum of blocks"),
    ],
)
def test_the_treatment_is_stopped_once_it_is_certainly_past_twice_the_budget(events, ratio, after):
    stopped = stops_after(TreatmentRule(WHOLE, B, chars_per_token=ratio), events)
    assert (stopped and stopped[0]) == after
    assert stopped is None or stopped[1].startswith("over budget: at least ")


@pytest.mark.parametrize(
    ("events", "after"),
    [
        pytest.param(ONE_BY_ONE, None, id="nothing but reasoning"),
        pytest.param([think(145), say()], 2, id="something else"),
        pytest.param([think(145), Relabelled(at=2.0, tag="</think>")], 2, id="a closing mark"),
        pytest.param([think(10), say(), think(145)], 3, id="an answer first"),
        pytest.param([usage(145)], 1, id="no text that could be something else"),
    ],
)
def test_a_treatment_is_followed_where_nothing_is_known_of_the_hop(events, after):
    stopped = stops_after(TreatmentRule(WHOLE, B, follow=True), events)
    assert (stopped and stopped[0]) == after


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
    pytest.param(
        arm(usage(0), say()), arm(usage(0), say()), False, UNKNOWN, "no_reasoning", id="none reported in either"
    ),
    pytest.param(arm(say()), arm(think(49), say()), False, UNKNOWN, "inconclusive", id="hardly any without it"),
    pytest.param(arm(say()), arm(think(50), say()), False, PASS, "honoured", id="some without it"),
    pytest.param(arm(say()), None, False, UNKNOWN, "inconclusive", id="nothing to compare with"),
    pytest.param(arm(usage(0), say()), None, False, UNKNOWN, "inconclusive", id="a reported 0 alone"),
    pytest.param(arm(think(5), finish="length"), LONG, False, UNKNOWN, "inconclusive", id="cut at once"),
    pytest.param(
        arm(think(3, counted=False), say(counted=False)), estimated(600), False, UNKNOWN, "inconclusive", id="too rough"
    ),
    pytest.param(arm(think(600), say()), arm(say()), True, PASS, "honoured", id="on"),
    pytest.param(arm(think(600), say()), LONG, True, UNKNOWN, "inconclusive", id="on anyway"),
    pytest.param(arm(say()), arm(say()), True, UNKNOWN, "no_reasoning", id="on, and none"),
    pytest.param(shown_at(1.0, below=BELOW), shown_at(7.0, below=BELOW), False, PASS, "honoured", id="hidden, by time"),
    pytest.param(refused(400), LONG, False, FAIL, "rejected", id="rejected"),
    pytest.param(arm(think(200)), LONG, False, UNKNOWN, "inconclusive", id="off, and the answer in the other field"),
    pytest.param(arm(think(200)), arm(think(800)), False, UNKNOWN, "inconclusive", id="in both"),
    pytest.param(arm(think(5)), LONG, False, PASS, "honoured", id="off, and a trace is all"),
    pytest.param(arm(think(200)), arm(say()), True, UNKNOWN, "inconclusive", id="on, and nothing else"),
]


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
        pytest.param(
            BUDGETS["thinking.budget_tokens"],
            1024,
            None,
            arm(think(900), say()),
            "inconclusive",
            id="nor does a soft cap",
        ),
        pytest.param(BUDGETS["thinking.budget_tokens"], 64, None, refused(400), "rejected", id="but it can be refused"),
        pytest.param(
            BUDGETS["thinkingConfig.thinkingBudget"], 0, None, arm(think(1515), say()), "ignored", id="0 is off"
        ),
    ],
)
def test_soft_parameters_by_one_pair(budget, tokens, value, treatment, reason):
    assert verdict_on(treatment, budget=budget, tokens=tokens, value=value).reason == reason


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


def test_no_ratio_is_learned_from_a_control_of_several_blocks():
    control = arm(think(400), say(), think(400), say())
    assert verdict_on(estimated(100), control, budget=PER_BLOCK).reason == "inconclusive"
