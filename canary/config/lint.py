"""What `canary check` remarks about a plan that holds. Each part's rules stand in a module of their own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from canary.config.cost_lint import cost_lints
from canary.config.estimate import estimates
from canary.config.lint_kind import Lint, LintKind
from canary.config.route_lint import route_lints
from canary.config.timer_lint import timer_lints
from canary.core.schedule import Once
from canary.core.spec import Plan

__all__ = ["Lint", "LintKind", "lint"]


def lint(plan: Plan, *, now: datetime) -> tuple[Lint, ...]:
    """In the order of the pipelines, then of the rules; then what concerns the whole plan."""
    timers = (lint for pipeline in plan.pipelines for lint in timer_lints(pipeline))
    costs = (lint for estimate in estimates(plan) for lint in cost_lints(estimate))
    return (*timers, *costs, *route_lints(plan), *_windows_over(plan, now))


def _windows_over(plan: Plan, now: datetime) -> Iterator[Lint]:
    for each in plan.maintenance:
        if isinstance(each.window, Once) and each.window.ends_at <= now:
            message = f"it was over at {each.window.ends_at.isoformat()}"
            yield Lint(kind=LintKind.WINDOW_OVER, where=f"maintenance {each.name}", message=message)
