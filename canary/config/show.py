"""The plan in words, as it will act: defaults and presets filled in, secrets as `***`."""

from __future__ import annotations

from canary.client.redact import public_url
from canary.config.show_service import receiver_line, route_line, service_line, window_line
from canary.config.timetable import describe_schedule
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Plan
from canary.core.timeout import Timeout
from canary.core.units import format_duration


def describe(plan: Plan) -> list[str]:
    """Lines for a terminal, two spaces deeper for each level."""
    return [
        *(line for pipeline in plan.pipelines for line in _pipeline(pipeline)),
        *map(receiver_line, plan.receivers),
        *(route_line(number, route) for number, route in enumerate(plan.routes, 1)),
        *map(window_line, plan.maintenance),
        service_line(plan.service),
    ]


def _pipeline(pipeline: Pipeline) -> list[str]:
    labels = "".join(f" {name}={value}" for name, value in pipeline.labels.items())
    hops = [line for hop in pipeline.hops for line in _hop(hop)]
    probes = [line for assignment in pipeline.assignments for line in _assignment(assignment)]
    return [f"{pipeline.name}{labels}", *(f"  {line}" for line in (*hops, *probes))]


def _hop(hop: Hop) -> list[str]:
    if hop.url is None:
        head = f"{hop.name}: not probed"
    else:
        head = f"{hop.name}: {public_url(hop.url)}, {hop.protocol}, model {hop.model}"
    keepalive = f", a comment every {format_duration(hop.keepalive_s)}" if hop.keepalive_s else ""
    metrics = [f"  metrics at {public_url(hop.metrics_url)}"] if hop.metrics_url else []
    headers = [f"  {name}: {value}" for name, value in hop.headers.items()]
    return [head + keepalive, *metrics, *headers, *(f"  {_timeout(timeout)}" for timeout in hop.timeouts)]


def _timeout(timeout: Timeout) -> str:
    clock = f", {timeout.clock} clock" if timeout.phase == "idle" else ""
    return f"{timeout.name}: {timeout.phase} {format_duration(timeout.limit_s)}{clock}"


def _assignment(assignment: Assignment) -> list[str]:
    often = describe_schedule(assignment.schedule)
    first = assignment.first_visible_s
    limit = f", first visible within {format_duration(first)}" if first else ""
    head = f"probe {assignment.probe.name}: {often}, deadline {format_duration(assignment.deadline_s)}{limit}"
    return [head, *(f"  {_budget(budget)}" for budget in assignment.budgets)]


def _budget(budget: BudgetTest) -> str:
    value = str(budget.asked).lower()
    at = "".join(f", {expectation} at {hop}" for hop, expectation in budget.expect_at.items())
    return f"{budget.parameter}={value}: expect {budget.expect}{at}"
