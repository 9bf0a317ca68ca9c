"""The budget tests of one hop: which arms to send, when to stop each, and when a harder question is needed.

The rules of the verdict are in `checks.budget`; here is only the order of things:

1. One control per question, shared by all parameters. It is the plain answer where the probe needs that whole anyway.
2. Per parameter a treatment, and a nonsense arm if asked for. An overshoot is tried once more.
3. A parameter that is inconclusive because the model thought too little is asked again with the next harder question,
   at most three times.
4. Soft caps and levels are judged by order: two values, three times each.

Every arm stops as soon as it has told what it can: past twice the cap, long enough for a control, or well into the
visible answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from canary.analysis.tokens import TokenCounts, chars_per_token
from canary.checks import judge
from canary.checks.budget import (
    ControlLength,
    ControlRule,
    TreatmentRule,
    control_length,
    judge_budget,
    treatment_max_tokens,
)
from canary.checks.budget_arms import Arms, Outcome
from canary.checks.budget_order import LEAST_REPEATS, Level, judge_order
from canary.checks.evidence import Evidence
from canary.client.reader import StopRule
from canary.core.body import merged
from canary.core.budget import Budget, BudgetKind
from canary.core.observation import Json
from canary.core.run import HopResult
from canary.core.spec import BudgetTest
from canary.core.stream import ReasoningDelta, StreamEvent, VisibleDelta
from canary.core.verdict import Status, Verdict
from canary.engine.visit import Visit
from canary.wire.budgets import BUDGETS, apply, misspelt

CONTROL = "control"
MOST_QUESTIONS = 3
_ANSWER_CHARS = 160  # of visible text after reasoning: enough to see a stray mark or thinking that goes on
_ANSWER_CHARS_ALONE = 2000  # of visible text without any: it may be reasoning that no mark has closed yet
_SIDE_EFFECTS = ("visible_content", "reasoning_leak")
_RUNNING_COUNTS = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}


class AnsweredRule:
    """Stops an arm that is well into its visible answer: its reasoning is over."""

    def __init__(self) -> None:
        self._visible_chars = 0
        self._reasoned = False

    def __call__(self, event: StreamEvent) -> str | None:
        if isinstance(event, ReasoningDelta):
            self._reasoned = True
        elif isinstance(event, VisibleDelta):
            self._visible_chars += len(event.text.strip())
        enough = _ANSWER_CHARS if self._reasoned else _ANSWER_CHARS_ALONE
        return f"answered: {self._visible_chars} visible characters" if self._visible_chars >= enough else None


def first_of(rules: Sequence[StopRule]) -> StopRule:
    """Every rule sees every event; the first reason counts."""

    def rule(event: StreamEvent) -> str | None:
        reasons = [each(event) for each in rules]
        return next((reason for reason in reasons if reason is not None), None)

    return rule


def all_of(rules: Sequence[StopRule]) -> StopRule:
    """Stops once every rule has given a reason; the last one is told."""
    reasons: list[str | None] = [None] * len(rules)

    def rule(event: StreamEvent) -> str | None:
        for index, each in enumerate(rules):
            reasons[index] = reasons[index] or each(event)
        return reasons[-1] if all(reasons) else None

    return rule


def control_rule(visit: Visit, tests: Iterable[BudgetTest]) -> StopRule | None:
    """Stops the control once it is long enough for the largest cap; None where some test needs it whole."""
    caps = [test for test in tests if test.tokens and BUDGETS[test.parameter].kind is BudgetKind.HARD_CAP]
    if not caps:
        return None
    rules = [
        ControlRule(BUDGETS[test.parameter], test.tokens or 0, chars_per_token=visit.chars_per_token) for test in caps
    ]
    return first_of([all_of(rules), AnsweredRule()])


def with_running_counts(visit: Visit, body: Json) -> Json:
    """Asks for usage in every chunk where the engine is known to give it."""
    return merged(body, _RUNNING_COUNTS) if visit.counts_running and body.get("stream") is True else body


async def ask_control(visit: Visit, tests: Sequence[BudgetTest], *, index: int, whole: bool = False) -> Evidence:
    """The question without any parameter. `whole`: other checks need the answer to its end."""
    composed = visit.question(CONTROL, index=index)
    body = with_running_counts(visit, visit.request(composed).body)
    return await visit.ask(CONTROL, composed, body=body, stop=None if whole else control_rule(visit, tests))


async def prove_budgets(visit: Visit, control: Evidence) -> list[HopResult]:
    """A result per parameter, with the last treatment as its observation. `control` answers the first question."""
    by_order = [test for test in visit.assignment.budgets if _needs_order(test)]
    pending = [test for test in visit.assignment.budgets if not _needs_order(test)]
    proved: dict[str, HopResult] = {}
    for index in range(MOST_QUESTIONS):
        if index and pending:
            control = await ask_control(visit, pending, index=index)
        visit = _wiser(visit, control)
        for test in tuple(pending):
            result = await _prove(visit, test, control, index=index)
            proved[result.variant] = result
            if not _wants_harder(result.verdicts[0], test, control, visit):
                pending.remove(test)
    for test in by_order:
        result = await _prove_order(visit, test, control)
        proved[result.variant] = result
    for result in proved.values():
        visit.occasion.watch(result)
    return list(proved.values())


def variant_name(test: BudgetTest) -> str:
    """`thinking_token_budget=64`, as a label and on screens."""
    value = test.tokens if test.tokens is not None else str(test.value).lower()
    return f"{test.parameter}={value}"


async def _prove(visit: Visit, test: BudgetTest, control: Evidence, *, index: int) -> HopResult:
    budget = BUDGETS[test.parameter]
    nonsense = await _nonsense(visit, test, budget, index=index) if test.nonsense else None
    for attempt in range(2):
        treatment = await _treat(visit, test, budget, index=index + attempt * MOST_QUESTIONS)
        arms = Arms(treatment=treatment, control=control, nonsense=nonsense, chars_per_token=visit.chars_per_token)
        verdict = judge_budget(test, budget, arms, hop=visit.hop.name)
        if verdict.reason != Outcome.OVERSHOOT:
            break
    return _result(visit, test, treatment, verdict)


async def _treat(visit: Visit, test: BudgetTest, budget: Budget, *, index: int) -> Evidence:
    variant = variant_name(test)
    composed = visit.question(variant, index=index % MOST_QUESTIONS)
    body = apply(_room_for(visit.request(composed).body, test, budget), budget, _value(test))
    rules: list[StopRule] = [AnsweredRule()]
    if test.tokens is not None and budget.kind is BudgetKind.HARD_CAP:
        rules.insert(0, TreatmentRule(budget, test.tokens, chars_per_token=visit.chars_per_token))
    return await visit.ask(variant, composed, body=with_running_counts(visit, body), stop=first_of(rules))


async def _nonsense(visit: Visit, test: BudgetTest, budget: Budget, *, index: int) -> Evidence:
    variant = f"{variant_name(test)} misspelt"
    composed = visit.question(variant, index=index)
    body = misspelt(visit.request(composed).body, budget, _value(test))
    stop = control_rule(visit, [test])
    return await visit.ask(variant, composed, body=with_running_counts(visit, body), stop=stop)


async def _prove_order(visit: Visit, test: BudgetTest, control: Evidence) -> HopResult:
    budget = BUDGETS[test.parameter]
    levels, last = [], control
    for value in _values_in_order(test, budget):
        repeats = []
        for repeat in range(LEAST_REPEATS):
            variant = f"{test.parameter}={value} {repeat + 1}"
            composed = visit.question(variant, index=0)
            body = with_running_counts(visit, apply(visit.request(composed).body, budget, value))
            last = await visit.ask(variant, composed, body=body, stop=AnsweredRule())
            repeats.append(last)
        levels.append(Level(value=str(value), repeats=tuple(repeats)))
    verdict = judge_order(test, budget, levels, hop=visit.hop.name, control=control)
    return _result(visit, test, last, verdict)


def _values_in_order(test: BudgetTest, budget: Budget) -> tuple[str | int, ...]:
    """The tested value and one that asks for clearly more; less first."""
    if test.tokens is not None:
        return (test.tokens, 8 * test.tokens)
    more = next((level for level in ("high", "medium") if level in budget.levels and level != test.value), None)
    return (str(test.value),) if more is None else (str(test.value), more)


def _needs_order(test: BudgetTest) -> bool:
    """What asks for no reasoning at all is judged by presence, whatever its kind."""
    budget = BUDGETS[test.parameter]
    soft = budget.kind in (BudgetKind.SOFT_CAP, BudgetKind.LEVEL)
    return soft and not budget.switches_off(_value(test))


def _room_for(body: Json, test: BudgetTest, budget: Budget) -> Json:
    """No more room than a cap's test needs: enough that a cut by length is never taken for obedience."""
    if test.tokens is None or budget.kind is not BudgetKind.HARD_CAP:
        return body
    most = treatment_max_tokens(test.tokens, budget.allowed_excess(test.tokens))
    return {**body, **{name: most for name in ("max_tokens", "max_completion_tokens") if name in body}}


def _value(test: BudgetTest) -> str | bool | int:
    if test.tokens is not None:
        return test.tokens
    if test.value is None:
        msg = f"{test.parameter} has neither tokens nor a value"
        raise ValueError(msg)
    return test.value


def _wiser(visit: Visit, control: Evidence) -> Visit:
    """With the ratio of characters to tokens that this hop's own control teaches, if it does."""
    counts = TokenCounts(reasoning=control.measurement.reasoning_tokens)
    learned = chars_per_token(counts, control.measurement.reasoning_chars)
    return replace(visit, chars_per_token=learned or visit.chars_per_token)


def _wants_harder(verdict: Verdict, test: BudgetTest, control: Evidence, visit: Visit) -> bool:
    if verdict.reason not in (Outcome.INCONCLUSIVE, Outcome.NO_REASONING) or test.tokens is None:
        return False
    length = control_length(BUDGETS[test.parameter], test.tokens, control, visit.chars_per_token)
    return length is ControlLength.TOO_SHORT


def _result(visit: Visit, test: BudgetTest, treatment: Evidence, verdict: Verdict) -> HopResult:
    """The side effects of a cap that acts are verdicts of their own: nothing visible, a stray mark in the content."""
    acts = verdict.reason in (Outcome.HONOURED, Outcome.OVERSHOOT)
    effects = judge(treatment, only=_SIDE_EFFECTS) if acts else ()
    failed = tuple(effect for effect in effects if effect.status is Status.FAIL)
    return HopResult(
        hop=visit.hop.name,
        variant=variant_name(test),
        observation=treatment.observation,
        measurement=treatment.measurement,
        verdicts=(verdict, *failed),
    )
