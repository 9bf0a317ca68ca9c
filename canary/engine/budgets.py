"""The budget tests of one hop: which arms to send, when to stop each, and when a harder question is needed.

The rules of the verdict are in `checks.budget`; here is only the order of things:

1. One control per question, shared by all parameters. It is the plain answer where the probe needs that whole anyway.
2. Per parameter a treatment, and a nonsense arm if asked for. An overshoot is tried once more.
3. A parameter that is inconclusive because the model thought too little is asked again with the next harder question,
   at most three times.
4. Soft caps and levels are judged by order: two values, three times each.

Every arm stops as soon as it has told what it can: past twice the cap, long enough for a control, or well into the
answer that follows its reasoning. Where no reasoning is shown, its count comes with the usage, at the very end. A hop
that does not answer the control is not asked again: every further request would wait as long for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

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
from canary.checks.budget_arms import Arms, Outcome, Ruling, answers, verdict
from canary.checks.budget_order import LEAST_REPEATS, Level, judge_order, needs_order, values_in_order
from canary.checks.evidence import Evidence
from canary.client.reader import StopRule
from canary.core.budget import Budget, BudgetKind
from canary.core.observation import ConnectFailed, DeadlineExceeded, HttpRejected, Json, StoppedByUs
from canary.core.run import HopResult
from canary.core.spec import BudgetTest
from canary.core.stream import ReasoningDelta, StreamEvent, VisibleDelta
from canary.core.verdict import Status, Verdict
from canary.engine.visit import Visit
from canary.wire.budgets import BUDGETS, apply, misspelt

CONTROL = "control"
ANSWERED = "answered"  # how the stop reason of such an arm begins
MOST_QUESTIONS = 3
_ANSWER_CHARS = 160  # of visible text after reasoning: enough to see a stray mark or thinking that goes on
_SIDE_EFFECTS = ("visible_content", "reasoning_leak")


class AnsweredRule:
    """Stops an arm that is well into the visible answer after its reasoning: that is over."""

    def __init__(self) -> None:
        self._visible_chars = 0
        self._reasoned = False

    def __call__(self, event: StreamEvent) -> str | None:
        if isinstance(event, ReasoningDelta):
            self._reasoned = True
        elif isinstance(event, VisibleDelta):
            self._visible_chars += len(event.text.strip())
        enough = self._reasoned and self._visible_chars >= _ANSWER_CHARS
        return f"{ANSWERED}: {self._visible_chars} visible characters" if enough else None


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


async def ask_control(visit: Visit, tests: Sequence[BudgetTest], *, index: int, whole: bool = False) -> Evidence:
    """The question without any parameter. `whole`: other checks need the answer to its end."""
    composed = visit.question(CONTROL, index=index)
    return await visit.ask(CONTROL, composed, stop=None if whole else control_rule(visit, tests))


async def prove_budgets(visit: Visit, control: Evidence) -> list[HopResult]:
    """A result per parameter, with the last treatment as its observation. `control` answers the first question."""
    by_order = [test for test in visit.assignment.budgets if needs_order(test, BUDGETS[test.parameter])]
    pending = [test for test in visit.assignment.budgets if not needs_order(test, BUDGETS[test.parameter])]
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
    return f"{test.parameter}={str(test.asked).lower()}"


async def _prove(visit: Visit, test: BudgetTest, control: Evidence, *, index: int) -> HopResult:
    budget = BUDGETS[test.parameter]
    if _gave_nothing(control):
        return _not_asked(visit, test, control)
    nonsense = await _nonsense(visit, test, budget, index=index) if test.nonsense else None
    for attempt in range(2):
        treatment = await _treat(visit, test, budget, index=index, again=bool(attempt))
        arms = Arms(treatment=treatment, control=control, nonsense=nonsense, chars_per_token=visit.chars_per_token)
        found = judge_budget(test, budget, arms, hop=visit.hop.name)
        if found.reason != Outcome.OVERSHOOT:
            break
    return _result(visit, test, treatment, found)


async def _treat(visit: Visit, test: BudgetTest, budget: Budget, *, index: int, again: bool) -> Evidence:
    """`again`: the same question under a new nonce."""
    variant = f"{variant_name(test)} again" if again else variant_name(test)
    composed = visit.question(variant, index=index)
    rules: list[StopRule] = [AnsweredRule()]
    if test.tokens is not None and budget.kind is BudgetKind.HARD_CAP:
        rules.insert(0, TreatmentRule(budget, test.tokens, chars_per_token=visit.chars_per_token))
    return await visit.ask(
        variant,
        composed,
        change=lambda body: apply(_room_for(body, test, budget), budget, _value(test)),
        stop=first_of(rules),
    )


async def _nonsense(visit: Visit, test: BudgetTest, budget: Budget, *, index: int) -> Evidence:
    variant = f"{variant_name(test)} misspelt"
    composed = visit.question(variant, index=index)
    stop = control_rule(visit, [test])
    return await visit.ask(variant, composed, change=lambda body: misspelt(body, budget, _value(test)), stop=stop)


async def _prove_order(visit: Visit, test: BudgetTest, control: Evidence) -> HopResult:
    budget = BUDGETS[test.parameter]
    levels, last = [], control
    if _gave_nothing(control):
        return _not_asked(visit, test, control)
    for value in values_in_order(test, budget):
        repeats = []
        for repeat in range(LEAST_REPEATS):
            variant = f"{test.parameter}={value} {repeat + 1}"
            composed = visit.question(variant, index=0)
            change = partial(apply, budget=budget, value=value)
            last = await visit.ask(variant, composed, change=change, stop=AnsweredRule())
            repeats.append(last)
        levels.append(Level(value=str(value), repeats=tuple(repeats)))
    found = judge_order(test, budget, levels, hop=visit.hop.name, control=control)
    return _result(visit, test, last, found)


def _gave_nothing(control: Evidence) -> bool:
    """Not even the beginning of an answer; one that broke off in the middle may have a shorter one beside it."""
    end = control.measurement.end
    return isinstance(end, ConnectFailed | DeadlineExceeded | HttpRejected) and not answers(control)


def _not_asked(visit: Visit, test: BudgetTest, control: Evidence) -> HopResult:
    because = "not asked, since the request without it got no usable answer"
    return _result(
        visit, test, control, verdict(test, visit.hop.name, Ruling(outcome=Outcome.INCONCLUSIVE, because=because))
    )


def _room_for(body: Json, test: BudgetTest, budget: Budget) -> Json:
    """No more room than a cap's test needs: enough that a cut by length is never taken for obedience."""
    if test.tokens is None or budget.kind is not BudgetKind.HARD_CAP:
        return body
    most = treatment_max_tokens(test.tokens, budget.allowed_excess(test.tokens))
    return {**body, **{name: most for name in ("max_tokens", "max_completion_tokens") if name in body}}


def _value(test: BudgetTest) -> str | bool | int:
    if test.asked is None:
        msg = f"{test.parameter} has neither tokens nor a value"
        raise ValueError(msg)
    return test.asked


def _wiser(visit: Visit, control: Evidence) -> Visit:
    """With the ratio of characters to tokens that this hop's own control teaches, if it does."""
    counts = TokenCounts(reasoning=control.measurement.reasoning_tokens)
    learned = chars_per_token(counts, control.measurement.reasoning_chars)
    return replace(visit, chars_per_token=learned or visit.chars_per_token)


def _wants_harder(found: Verdict, test: BudgetTest, control: Evidence, visit: Visit) -> bool:
    if found.reason not in (Outcome.INCONCLUSIVE, Outcome.NO_REASONING) or test.tokens is None:
        return False
    length = control_length(BUDGETS[test.parameter], test.tokens, control, visit.chars_per_token)
    return length is ControlLength.TOO_SHORT


def _result(visit: Visit, test: BudgetTest, treatment: Evidence, found: Verdict) -> HopResult:
    """The side effects of a cap that acts are verdicts of their own: nothing visible, a stray mark in the content."""
    acts = found.reason in (Outcome.HONOURED, Outcome.OVERSHOOT)
    effects = judge(treatment, only=_SIDE_EFFECTS) if acts else ()
    told = (_of_first_words(effect, treatment) for effect in effects)
    return HopResult(
        hop=visit.hop.name,
        variant=variant_name(test),
        observation=treatment.observation,
        measurement=treatment.measurement,
        verdicts=(found, *(effect for effect in told if effect.status is not Status.UNKNOWN)),
        load=treatment.load,
    )


def _of_first_words(effect: Verdict, treatment: Evidence) -> Verdict:
    """Side effects show in the first words of the answer: an arm that we stopped after those has none."""
    end = treatment.measurement.end
    if effect.status is not Status.UNKNOWN or not isinstance(end, StoppedByUs) or not end.reason.startswith(ANSWERED):
        return effect
    return replace(effect, status=Status.PASS, reason="clean", message=f"nothing before we stopped ({end.reason})")
