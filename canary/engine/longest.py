"""How long a run may take before it must be a fault of ours: every request has a deadline of its own."""

from __future__ import annotations

from canary.checks.budget_order import LEAST_REPEATS, needs_order, values_in_order
from canary.core.spec import Assignment, BudgetTest, Pipeline
from canary.engine.budgets import MOST_QUESTIONS
from canary.wire.budgets import BUDGETS

_TRIES = 2  # of a treatment: an overshoot is tried once more
_AROUND_REQUEST_S = 15.0  # asking for a version, reading an engine's metrics: each has a short limit of its own


def longest_s(pipeline: Pipeline, assignment: Assignment) -> float:
    """More than a run can take, if each of its requests takes its whole deadline, one after another."""
    hops = sum(hop.url is not None for hop in pipeline.hops)
    caps = any(_is_cap(budget) for budget in assignment.budgets)
    controls = MOST_QUESTIONS if caps else 1
    requests = controls + sum(_requests(budget) for budget in assignment.budgets)
    return hops * requests * (assignment.deadline_s + _AROUND_REQUEST_S)


def _is_cap(budget: BudgetTest) -> bool:
    return not needs_order(budget, BUDGETS[budget.parameter])


def _requests(budget: BudgetTest) -> int:
    if _is_cap(budget):
        return MOST_QUESTIONS * (_TRIES + budget.nonsense)
    return len(values_in_order(budget, BUDGETS[budget.parameter])) * LEAST_REPEATS
