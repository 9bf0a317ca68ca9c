"""Budget tests of real local servers: which arms are sent, when each is stopped, and what is said in the end."""

import asyncio
from dataclasses import replace

import pytest

from canary.checks.budget_stop import AnsweredRule
from canary.core.observation import StoppedByUs
from canary.core.spec import Assignment, BudgetTest, Expectation, Hop, Pipeline
from canary.core.stream import ReasoningDelta, VisibleDelta
from canary.core.verdict import Status
from canary.demo.generation import Model
from canary.demo.pipeline import WIDE, demo_pipeline
from canary.engine.arms import all_of, first_of
from canary.engine.run import run_probe
from canary.engine.visit import Started
from canary.prompts.compose import compose
from tests.fakes.demo_runs import DEADLINE_S, SEED, TINY, occasion
from tests.fakes.llm_server import LlmServer
from tests.fakes.thinker import thinker

CAP = BudgetTest(parameter="thinking_token_budget", tokens=32)
IGNORED_CAP = BudgetTest(parameter="thinking_budget", tokens=32, expect=Expectation.IGNORED)
NESTED_CAP = BudgetTest(parameter="extra_body.thinking_token_budget", tokens=32, expect=Expectation.IGNORED)
LONG = Model(reasoning_tokens=1500, thinking_tokens_per_s=2000.0, tokens_per_s=2000.0)
CONTROL_STOPS_AT, TREATMENT_STOPS_AT = 232, 80  # max(4 B, B + 200) and 2 B + E, with B = 32 and E = 16
SLACK = 60  # tokens that are on their way when we hang up: ten events of four, and a busy machine


class Told:
    """The run of one budget probe, by hop and variant."""

    def __init__(self, run, steps):
        self.run = run
        self.asked = [(step.hop, step.variant) for step in steps if isinstance(step, Started)]

    def result(self, hop, variant):
        return next(each for each in self.run.results if (each.hop, each.variant) == (hop, variant))

    def verdict(self, variant, hop="engine"):
        """The budget verdict: status and reason."""
        (found,) = [each for each in self.result(hop, variant).verdicts if each.check == "budget"]
        return found.status, found.reason

    def message(self, variant, hop="engine"):
        return next(each.message for each in self.result(hop, variant).verdicts if each.check == "budget")


async def prove(hops, *budgets, probe=TINY, deadline_s=DEADLINE_S):
    steps = []
    assignment = Assignment(probe=probe, deadline_s=deadline_s, budgets=budgets)
    run = await run_probe(Pipeline(name="p", hops=tuple(hops)), assignment, occasion(watch=steps.append))
    return Told(run, steps)


def demo(faults=None, *, model=LONG):
    return demo_pipeline(faults or {}, limits=WIDE, model=model)


def hops_of(running, *names):
    return [hop for hop in running.pipeline().hops if hop.name in names]


async def settled(load):
    """All that the engine generated, once it generates for nobody."""
    await asyncio.wait_for(load.idle.wait(), DEADLINE_S)
    return load.tokens


def prompt_of(result):
    return result.observation.exchange.request["messages"][-1]["content"]


async def test_every_arm_stops_once_it_has_told_and_the_engine_stops_with_it():
    async with demo() as running:
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP)
        tokens = await settled(running.load)
    assert told.verdict("thinking_token_budget=32") == (Status.PASS, "honoured")
    assert told.verdict("thinking_budget=32") == (Status.PASS, "ignored")
    ends = {result.variant: result.measurement.end for result in told.run.results}
    assert [type(end) for end in ends.values()] == [StoppedByUs] * 3
    assert ends["control"].reason.startswith("long enough")
    assert ends["thinking_token_budget=32"].reason.startswith("answered")
    assert ends["thinking_budget=32"].reason.startswith("over budget")
    honoured = 32 + 40  # and the first words of its answer
    assert tokens <= CONTROL_STOPS_AT + honoured + TREATMENT_STOPS_AT + 3 * SLACK


async def test_one_control_serves_all_parameters():
    async with demo() as running:
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP, NESTED_CAP)
    assert [variant for _, variant in told.asked] == [
        "control",
        "thinking_token_budget=32",
        "thinking_budget=32",
        "extra_body.thinking_token_budget=32",
    ]
    assert told.run.findings == ()


async def test_what_is_expected_to_be_honoured_is_asked_first():
    """Its first words show that the hop tells answers from reasoning: the other is stopped once it is past its cap."""
    async with demo() as running:
        told = await prove(hops_of(running, "engine"), IGNORED_CAP, CAP)
        tokens = await settled(running.load)
    assert [variant for _, variant in told.asked] == ["control", "thinking_token_budget=32", "thinking_budget=32"]
    assert tokens <= CONTROL_STOPS_AT + 32 + 40 + TREATMENT_STOPS_AT + 3 * SLACK


async def test_where_no_answer_shows_that_reasoning_ends_a_short_question_does():
    async with demo({"engine": ("ignore_budget",)}, model=replace(LONG, reasoning_tokens=400)) as running:
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP, NESTED_CAP)
    assert [variant for _, variant in told.asked] == [
        "control",
        "thinking_token_budget=32",
        "short question",
        "thinking_budget=32",
        "extra_body.thinking_token_budget=32",
    ]
    assert told.verdict("thinking_token_budget=32") == (Status.FAIL, "ignored")
    assert told.verdict("thinking_budget=32") == (Status.PASS, "ignored")
    ends = [told.result("engine", variant).measurement for _, variant in told.asked if "=" in variant]
    assert [end.finish_reason for end in ends] == ["length", None, None]  # its little room; stopped; stopped


@pytest.mark.parametrize(
    ("short", "expected"),
    [
        pytest.param(60, (Status.FAIL, "ignored"), id="it thinks, and then answers"),
        pytest.param(5000, (Status.FAIL, "ignored"), id="it thinks on, where yes or no would do"),
        pytest.param(0, (Status.UNKNOWN, "inconclusive"), id="it does not think, so its answer shows nothing"),
        pytest.param(None, (Status.UNKNOWN, "inconclusive"), id="it is refused"),
    ],
)
async def test_the_short_question_decides(short, expected):
    def tokens(body, _number):
        return short if "91" in body["messages"][-1]["content"] else 5000

    async with LlmServer(thinker(tokens, room=True)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], CAP, IGNORED_CAP)
    assert [variant for _, variant in told.asked].count("short question") == 1
    assert told.verdict("thinking_token_budget=32") == expected


async def test_a_parameter_that_switches_reasoning_on_is_proved_ignored_all_the_same():
    """Without it this model does not think: only a short question that has it shows where reasoning ends."""

    def tokens(body, _number):
        if "thinking_token_budget" not in body:
            return 0
        return 60 if "91" in body["messages"][-1]["content"] else 5000

    async with LlmServer(thinker(tokens, room=True)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], CAP)
    assert [variant for _, variant in told.asked].count("short question") == 1
    assert told.verdict("thinking_token_budget=32") == (Status.FAIL, "ignored")


async def test_a_parser_that_misses_only_an_end_that_the_cap_forced_makes_no_cap_ignored():
    """The engine obeys, and its long answer comes as reasoning: only a short question that has the cap shows that."""

    def capped(body):
        return "thinking_token_budget" in body

    def tokens(body, _number):
        short = "91" in body["messages"][-1]["content"]
        return (32 if capped(body) else 60) if short else 5000  # 32, and an answer that looks the same

    async with LlmServer(thinker(tokens, room=True, mixes=capped)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], CAP)
    assert told.verdict("thinking_token_budget=32") == (Status.UNKNOWN, "inconclusive")


async def test_a_misspelt_key_that_gets_an_answer_spares_the_short_question():
    def tokens(body, _number):
        return 100 if "thinking_token_budgt" in body else 5000

    async with LlmServer(thinker(tokens, room=True)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], replace(CAP, nonsense=True))
    assert [variant for _, variant in told.asked] == [
        "control",
        "thinking_token_budget=32 misspelt",
        "thinking_token_budget=32",
    ]
    assert told.verdict("thinking_token_budget=32") == (Status.FAIL, "ignored")


async def test_where_the_whole_control_is_nothing_but_reasoning_no_short_question_is_asked():
    model = replace(LONG, reasoning_tokens=400, answer_tokens=100)
    async with demo({"engine": ("all_in_reasoning", "ignore_budget")}, model=model) as running:
        told = await prove(hops_of(running, "engine"), CAP, probe=replace(TINY, checks=None))
    assert [variant for _, variant in told.asked] == ["control", "thinking_token_budget=32"]
    assert told.verdict("thinking_token_budget=32") == (Status.UNKNOWN, "inconclusive")


@pytest.mark.parametrize("answer_tokens", [100, 900], ids=["a short answer", "an answer longer than its room"])
@pytest.mark.parametrize("fault_at", ["engine", "gateway"])
async def test_an_answer_among_the_reasoning_is_no_reasoning(fault_at, answer_tokens):
    """The cap acts, and so says nothing else; that nothing is visible is the finding, where it could have been."""
    model = replace(LONG, reasoning_tokens=400, answer_tokens=answer_tokens)
    async with demo({fault_at: ("all_in_reasoning",)}, model=model) as running:
        told = await prove(hops_of(running, "gateway", "engine"), CAP, IGNORED_CAP)
    for variant in ("thinking_token_budget=32", "thinking_budget=32"):
        assert told.verdict(variant, fault_at) == (Status.UNKNOWN, "inconclusive")
        why = told.message(variant, fault_at)
        assert "may stand among the reasoning" in why or "before its reasoning had ended" in why
    assert {verdict.check for verdict in told.result(fault_at, "thinking_budget=32").verdicts} == {"budget"}
    findings = [(finding.check, finding.reason, finding.origin) for finding in told.run.findings]
    assert findings == ([("visible_content", "all_in_reasoning", fault_at)] if answer_tokens == 100 else [])


async def test_reasoning_that_is_repeated_as_visible_text_is_no_answer():
    faults = {"engine": ("copy_reasoning",)}
    async with demo(faults, model=replace(LONG, reasoning_tokens=400)) as running:
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP)
    assert told.verdict("thinking_token_budget=32") == (Status.PASS, "honoured")
    assert told.verdict("thinking_budget=32") == (Status.PASS, "ignored")


async def test_a_control_that_other_checks_need_is_not_stopped():
    async with demo(model=replace(LONG, reasoning_tokens=400)) as running:
        told = await prove(hops_of(running, "engine"), CAP, probe=replace(TINY, checks=None))
    control = told.result("engine", "control")
    assert control.measurement.finish_reason == "stop"
    assert {verdict.check for verdict in control.verdicts} >= {"complete", "visible_content", "usage"}


async def test_who_thinks_too_little_is_asked_harder_questions_and_then_given_up():
    async with demo(model=replace(LONG, reasoning_tokens=100)) as running:
        told = await prove(hops_of(running, "engine"), CAP)
    assert [variant for _, variant in told.asked] == ["control", "thinking_token_budget=32"] * 3
    assert told.verdict("thinking_token_budget=32") == (Status.UNKNOWN, "inconclusive")
    assert "a harder prompt is needed" in told.message("thinking_token_budget=32")
    hardest = compose(TINY, seed=SEED, nonce="", index=2).text.partition("\n")[2]
    assert prompt_of(told.result("engine", "thinking_token_budget=32")).endswith(hardest)


async def test_only_what_is_still_open_is_asked_again():
    """An ignored cap shows by itself; the other needs a control that thinks."""
    async with demo(model=replace(LONG, reasoning_tokens=120)) as running:
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP)
    assert [variant for _, variant in told.asked] == [
        "control",
        "thinking_token_budget=32",
        "thinking_budget=32",
        "control",
        "thinking_token_budget=32",
        "control",
        "thinking_token_budget=32",
    ]
    assert told.verdict("thinking_budget=32") == (Status.PASS, "ignored")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(60, (Status.WARN, "overshoot"), id="again"),
        pytest.param(30, (Status.PASS, "honoured"), id="by chance"),
        pytest.param(400, (Status.FAIL, "ignored"), id="worse"),
    ],
)
async def test_an_overshoot_is_tried_once_more_under_a_new_nonce(second, expected):
    treatments = []

    def tokens(body, _number):
        if "thinking_token_budget" not in body:
            return 300
        treatments.append(body["messages"][-1]["content"])
        return 60 if len(treatments) == 1 else second

    async with LlmServer(thinker(tokens)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], CAP)
    assert told.verdict("thinking_token_budget=32") == expected
    (mark, question), (other_mark, same_question) = (prompt.split("\n", 1) for prompt in treatments)
    assert (mark != other_mark, question == same_question) == (True, True)


@pytest.mark.parametrize(
    ("refuses", "expected", "words"),
    [
        pytest.param("nothing", (Status.PASS, "honoured"), "", id="takes what it does not know"),
        pytest.param("unknown", (Status.PASS, "honoured"), "", id="refuses what it does not know"),
        pytest.param("all", (Status.FAIL, "rejected"), "does not know the parameter", id="knows neither"),
        pytest.param("known", (Status.FAIL, "rejected"), "knows the parameter and refuses it", id="knows and refuses"),
        pytest.param(
            "all short", (Status.UNKNOWN, "inconclusive"), "need not be the parameter", id="short with any key"
        ),
    ],
)
async def test_a_misspelt_key_tells_what_the_hop_knows(refuses, expected, words):
    def tokens(body, _number):
        known, unknown = "thinking_token_budget" in body, "thinking_token_budgt" in body
        refused = {"unknown": unknown, "all": known or unknown, "known": known}.get(refuses, False)
        short = known or (unknown and refuses == "all short")
        return None if refused else 20 if short else 300

    async with LlmServer(thinker(tokens)) as server:
        told = await prove([Hop(name="engine", url=server.url, model="fake")], replace(CAP, nonsense=True))
    assert [variant for _, variant in told.asked][:3] == [
        "control",
        "thinking_token_budget=32 misspelt",
        "thinking_token_budget=32",
    ]
    assert told.verdict("thinking_token_budget=32") == expected
    assert words in told.message("thinking_token_budget=32")


@pytest.mark.parametrize(
    ("expect", "expect_at", "fails"),
    [
        pytest.param(Expectation.HONOURED, {}, [], id="as it should be"),
        pytest.param(Expectation.IGNORED, {}, ["engine", "gateway"], id="honoured against expectation"),
        pytest.param(Expectation.HONOURED, {"gateway": Expectation.IGNORED}, ["gateway"], id="at one hop"),
        pytest.param(Expectation.REJECTED, {"engine": Expectation.HONOURED}, ["gateway"], id="at all others"),
    ],
)
async def test_what_is_expected_decides(expect, expect_at, fails):
    budget = replace(CAP, expect=expect, expect_at=expect_at)
    async with demo() as running:
        told = await prove(hops_of(running, "gateway", "engine"), budget)
    statuses = {hop: told.verdict("thinking_token_budget=32", hop)[0] for hop in ("engine", "gateway")}
    assert [hop for hop, status in statuses.items() if status is Status.FAIL] == fails
    assert [finding.origin for finding in told.run.findings] == fails[:1]


@pytest.mark.parametrize(
    ("budget", "expected", "requests"),
    [
        pytest.param(
            BudgetTest(parameter="chat_template_kwargs.enable_thinking", value=False),
            (Status.PASS, "honoured"),
            2,
            id="a switch",
        ),
        pytest.param(
            BudgetTest(parameter="chat_template_kwargs.thinking", value=False),
            (Status.FAIL, "ignored"),
            2,
            id="of others",
        ),
        pytest.param(
            BudgetTest(parameter="reasoning_effort", value="none"),
            (Status.PASS, "honoured"),
            2,
            id="a level that is off",
        ),
        pytest.param(
            BudgetTest(parameter="reasoning_effort", value="low", expect=Expectation.IGNORED),
            (Status.PASS, "ignored"),
            7,
            id="a level that changes nothing",
        ),
        pytest.param(
            BudgetTest(parameter="chat_template_kwargs.thinking_budget", tokens=32),
            (Status.FAIL, "ignored"),
            7,
            id="a soft cap that changes nothing",
        ),
        pytest.param(
            BudgetTest(parameter="thinking_token_budget", tokens=0), (Status.PASS, "honoured"), 2, id="no token"
        ),
    ],
)
async def test_switches_by_presence_levels_by_order(budget, expected, requests):
    async with demo(model=replace(LONG, reasoning_tokens=400)) as running:
        told = await prove(hops_of(running, "engine"), budget)
    (result,) = [result for result in told.run.results if result.variant != "control"]
    assert told.verdict(result.variant) == expected
    assert len(told.asked) == requests


@pytest.mark.parametrize(
    ("value", "tokens", "expected"),
    [
        pytest.param("low", {"low": 100, "high": 300}, (Status.PASS, "honoured"), id="less for less"),
        pytest.param("high", {"low": 100, "high": 300}, (Status.PASS, "honoured"), id="more for more"),
        pytest.param("low", {"low": 300, "high": 100}, (Status.FAIL, "inverted"), id="more for less"),
    ],
)
async def test_a_level_that_changes_something(value, tokens, expected):
    async with LlmServer(thinker(lambda body, _: tokens.get(body.get("reasoning_effort"), 200))) as server:
        hop = Hop(name="engine", url=server.url, model="fake")
        told = await prove([hop], BudgetTest(parameter="reasoning_effort", value=value))
    assert told.verdict(f"reasoning_effort={value}") == expected
    assert len({request.json["messages"][-1]["content"].split("\n")[0] for request in posts(server)}) == 7


def posts(server):
    return [request for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize(
    ("faults", "expected", "words"),
    [
        pytest.param({}, (Status.PASS, "honoured"), "its time is not", id="the time tells"),
        pytest.param(
            {"gateway": ("drop_parameter",)}, (Status.FAIL, "ignored"), "all of max_tokens=248", id="the length tells"
        ),
    ],
)
async def test_reasoning_that_is_hidden_and_not_reported(faults, expected, words):
    """1.5 s of thinking are the only trace of it at this hop, or that all the tokens are gone."""
    slow = Model(reasoning_tokens=750, thinking_tokens_per_s=500.0, tokens_per_s=2000.0)
    hidden = {"agent": ("strip_reasoning", "no_usage")}
    async with demo(faults | hidden, model=slow) as running:
        told = await prove(hops_of(running, "agent", "engine"), CAP)
    assert told.verdict("thinking_token_budget=32", "agent") == expected
    assert told.verdict("thinking_token_budget=32", "engine") == (Status.PASS, "honoured")
    assert words in told.message("thinking_token_budget=32", "agent")


async def test_reasoning_that_is_hidden_is_counted_by_its_report_however_long_the_answer():
    """The report comes last: an arm without any reasoning text is not stopped before."""
    async with demo({"agent": ("strip_reasoning",)}, model=replace(LONG, answer_tokens=900)) as running:
        told = await prove(hops_of(running, "agent", "engine"), CAP, IGNORED_CAP)
    assert told.verdict("thinking_token_budget=32", "agent") == (Status.PASS, "honoured")
    assert told.verdict("thinking_budget=32", "agent") == (Status.PASS, "ignored")
    assert len(told.asked) == 6


@pytest.mark.parametrize("stream", [True, False], ids=["an error inside a 200", "a 400"])
async def test_a_refusal_is_one_however_it_is_carried(stream):
    async with demo({"engine": ("reject_late",)}, model=replace(LONG, reasoning_tokens=300)) as running:
        hops = [replace(hop, stream=stream) for hop in hops_of(running, "engine")]
        told = await prove(hops, CAP)
    assert told.verdict("thinking_token_budget=32") == (Status.FAIL, "rejected")
    carrier = "inside a 200" if stream else "HTTP 400"
    assert carrier in told.message("thinking_token_budget=32")
    (finding,) = told.run.findings
    assert (finding.check, finding.reason) == ("budget", "rejected")


@pytest.mark.parametrize("fault", ["hang", "auth", "too_many_requests"])
async def test_a_hop_that_does_not_answer_the_control_is_not_asked_again(fault):
    async with demo({"engine": (fault,)}) as running:
        effort = BudgetTest(parameter="reasoning_effort", value="low")
        told = await prove(hops_of(running, "engine"), CAP, IGNORED_CAP, effort, deadline_s=0.5)
    assert told.asked == [("engine", "control")]
    variants = ("thinking_token_budget=32", "thinking_budget=32", "reasoning_effort=low")
    assert [told.verdict(variant) for variant in variants] == [(Status.UNKNOWN, "inconclusive")] * 3


async def test_running_counts_are_asked_only_of_an_engine_that_is_known_to_give_them():
    async with demo() as running:
        told = await prove(hops_of(running, "gateway", "engine"), CAP)
    asked = {
        (result.hop, result.variant): result.observation.exchange.request["stream_options"]
        for result in told.run.results
    }
    running_counts = {"include_usage": True, "continuous_usage_stats": True}
    assert asked["engine", "control"] == asked["engine", "thinking_token_budget=32"] == running_counts
    assert "continuous_usage_stats" not in asked["gateway", "control"]
    assert told.verdict("thinking_token_budget=32", "gateway") == (Status.PASS, "honoured")


@pytest.mark.parametrize("alone", [False, True], ids=["a ratio learned below", "nothing but characters"])
async def test_usage_that_never_comes(alone):
    """With characters alone, honoured cannot be told from a little more; ignored can."""
    faults = {"gateway": ("no_usage",)}
    async with demo(faults, model=replace(LONG, stream_interval=1)) as running:
        names = ("gateway",) if alone else ("gateway", "engine")
        told = await prove(hops_of(running, *names), CAP, IGNORED_CAP)
    assert told.verdict("thinking_budget=32", "gateway") == (Status.PASS, "ignored")
    honoured = told.verdict("thinking_token_budget=32", "gateway")
    assert honoured == ((Status.UNKNOWN, "inconclusive") if alone else (Status.PASS, "honoured"))


@pytest.mark.parametrize("fault", ["stray_closer", "leak"])
async def test_what_a_cap_does_to_the_answer_is_found_too(fault):
    async with demo({"engine": (fault,)}) as running:
        told = await prove(hops_of(running, "engine"), CAP)
    checks = {v.check: v.status for v in told.result("engine", "thinking_token_budget=32").verdicts}
    assert checks == {"budget": Status.PASS, "visible_content": Status.PASS, "reasoning_leak": Status.FAIL}


def say(text):
    return VisibleDelta(at=1.0, text=text)


def think(text="hm"):
    return ReasoningDelta(at=1.0, text=text, source="reasoning")


@pytest.mark.parametrize(
    ("events", "stops"),
    [
        pytest.param([think(), say("x" * 159)], False, id="the answer has hardly begun"),
        pytest.param([think(), say("x" * 160)], True, id="well into it"),
        pytest.param([think(), *[say(" x ")] * 160], True, id="piece by piece"),
        pytest.param([think(), say(" " * 500)], False, id="white space"),
        pytest.param([say("x" * 5000)], False, id="no reasoning was shown: it may be hidden, or this may be it"),
        pytest.param([say("x" * 200), think(), say("x")], True, id="reasoning later on"),
    ],
)
def test_an_answer_stops_an_arm_once_its_reasoning_is_over(events, stops):
    rule = AnsweredRule()
    reasons = [rule(event) for event in events]
    assert any(reasons) is stops


def after(count, reason):
    """Gives `reason` at the event of that number, once."""
    seen = []

    def rule(event):
        seen.append(event)
        return reason if len(seen) == count else None

    return rule


def test_the_first_of_several_reasons_counts():
    rule = first_of([after(3, "slow"), after(2, "quick")])
    assert [rule(think()) for _ in range(3)] == [None, "quick", "slow"]


def test_all_reasons_must_be_there():
    rule = all_of([after(1, "early"), after(3, "late")])
    assert [rule(think()) for _ in range(4)] == [None, None, "late", "late"]
