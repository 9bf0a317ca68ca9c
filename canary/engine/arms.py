"""The requests of a budget test at one hop: how each arm differs from the plain body, and when it is stopped.

Which arms are sent, and in which order, is the business of `engine.budgets`; when an arm has told enough, of
`checks.budget_stop`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from canary.checks.budget_stop import AnsweredRule, ControlRule, TreatmentRule, treatment_max_tokens
from canary.checks.evidence import Evidence
from canary.client.reader import StopRule
from canary.core.budget import Budget, BudgetKind
from canary.core.observation import Json
from canary.core.run import CONTROL
from canary.core.spec import BudgetTest
from canary.core.stream import StreamEvent
from canary.engine.visit import Visit
from canary.prompts.compose import Composed
from canary.prompts.nonce import nonce, opening
from canary.wire.budgets import BUDGETS, apply, misspelt

WITNESS = "short question"
_SHORT_QUESTION = "Is 91 a prime number? Answer with yes or no."


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


def variant_name(test: BudgetTest) -> str:
    """`thinking_token_budget=64`, as a label and on screens."""
    return f"{test.parameter}={str(test.asked).lower()}"


async def treat(visit: Visit, test: BudgetTest, budget: Budget, *, index: int, again: bool) -> Evidence:
    """`again`: the same question under a new nonce."""
    variant = f"{variant_name(test)} again" if again else variant_name(test)
    composed = visit.question(variant, index=index)
    rules: list[StopRule] = [AnsweredRule()]
    if test.tokens is not None and budget.kind is BudgetKind.HARD_CAP:
        cap = TreatmentRule(budget, test.tokens, chars_per_token=visit.chars_per_token, follow=visit.separates is None)
        rules.insert(0, cap)
    return await visit.ask(
        variant,
        composed,
        change=lambda body: apply(_room_for(body, test, budget), budget, _value(test)),
        stop=first_of(rules),
    )


async def misspell(visit: Visit, test: BudgetTest, budget: Budget, *, index: int) -> Evidence:
    variant = f"{variant_name(test)} misspelt"
    composed = visit.question(variant, index=index)
    stop = control_rule(visit, [test])
    return await visit.ask(variant, composed, change=lambda body: misspelt(body, budget, _value(test)), stop=stop)


async def ask_level(visit: Visit, test: BudgetTest, value: str | int, *, repeat: int) -> Evidence:
    """One of several answers for one value of a soft cap or level."""
    variant = f"{test.parameter}={value} {repeat}"
    change = partial(apply, budget=BUDGETS[test.parameter], value=value)
    return await visit.ask(variant, visit.question(variant, index=0), change=change, stop=AnsweredRule())


async def short_answer(visit: Visit, test: BudgetTest, budget: Budget) -> Evidence:
    """A little thinking, then a little answer: all that shows whether this hop tells one from the other.

    With the parameter: some hops miss the end of reasoning only where a cap forced it, some models think only with it.
    It has the room of the plain answer, since some models think long about anything.
    """
    mark = nonce(seed=visit.occasion.seed, arm=f"{visit.hop.name}/{WITNESS}")
    composed = Composed(text=opening(mark) + _SHORT_QUESTION, answer=None)
    change = partial(apply, budget=budget, value=_value(test))
    return await visit.ask(WITNESS, composed, change=change, stop=AnsweredRule())


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
