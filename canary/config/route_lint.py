"""Routes that never act, receivers that never hear, and pipelines of which nobody hears.

A route fits a pipeline as far as names and labels tell: check, hop, probe and severity are of the finding. One that
comes after a route which ends the search and fits all that it fits is never reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from canary.config.errors import one_of
from canary.config.lint_kind import Lint, LintKind
from canary.core.route import Match, Route
from canary.core.spec import Pipeline, Plan

_FIELDS = ("pipeline", "probe", "check", "hop", "severity")


def route_lints(plan: Plan) -> Iterator[Lint]:
    if not plan.receivers or (not plan.routes and len(plan.receivers) == 1):
        return  # nobody is to be told, or the only one is told of everything
    for number, route in enumerate(plan.routes, 1):
        if why := _unreached(plan, number, route):
            yield Lint(kind=LintKind.ROUTE_UNREACHED, where=f"route {number} to {route.receiver}", message=why)
    heard = {name for route in plan.routes for name in (route.receiver, route.policy.escalate_to)}
    for receiver in plan.receivers:
        if receiver.name not in heard:
            message = "no route names it, so it is told nothing"
            yield Lint(kind=LintKind.RECEIVER_UNUSED, where=f"receiver {receiver.name}", message=message)
    for pipeline in plan.pipelines:
        if not any(fits(route.match, pipeline) for route in plan.routes):
            message = "no route fits it, so nobody is told of its incidents"
            yield Lint(kind=LintKind.NOBODY_TOLD, pipeline=pipeline.name, where=pipeline.name, message=message)


def fits(match: Match, pipeline: Pipeline) -> bool:
    """Can anything of this pipeline match?"""
    hops, probes = {hop.name for hop in pipeline.hops}, {use.probe.name for use in pipeline.assignments}
    return (
        match.pipeline in (None, pipeline.name)
        and (match.hop is None or match.hop in hops)
        and (match.probe is None or match.probe in probes)
        and match.labels.items() <= pipeline.labels.items()
    )


def _unreached(plan: Plan, number: int, route: Route) -> str | None:
    if not any(fits(route.match, pipeline) for pipeline in plan.pipelines):
        return f"no pipeline has {_said(route.match)}"
    for before, earlier in enumerate(plan.routes[: number - 1], 1):
        if not earlier.go_on and _covers(earlier.match, route.match):
            return f"route {before} before it fits all that it fits, and does not say continue"
    return None


def _covers(wide: Match, narrow: Match) -> bool:
    same = all(getattr(wide, name) in (None, getattr(narrow, name)) for name in _FIELDS)
    return same and wide.labels.items() <= narrow.labels.items()


def _said(match: Match) -> str:
    fields = [f"{name}={value}" for name in _FIELDS if (value := getattr(match, name)) is not None]
    return one_of([*fields, *(f"{name}={value}" for name, value in match.labels.items())], "and")
