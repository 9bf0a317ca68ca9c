"""What routes and maintenance windows must fulfil: what they name is there, and windows end after they begin.

A route that fits nothing is silence when it matters most, so a name that nothing has is an error and not a remark, and
so is the name of a label that no pipeline has: any unknown key of a match would be one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from canary.alerting.incidents import BLIND
from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.config.errors import Problem, did_you_mean, one_of, quoted, shown
from canary.config.receiver_rules import receiver_names
from canary.config.routes import MATCHED
from canary.config.rules import name_of
from canary.config.view import View, repeated
from canary.core.finding import Severity

JUDGED = (*CHECKS, BUDGET, BLIND)  # what a finding can be of
_MANY = 12


def route_problems(views: Sequence[View]) -> Iterator[Problem]:
    """Over all files: a route may name what another file has."""
    receivers, names = receiver_names(views), _names(views)
    for view in views:
        for route in view.at("routes").items():
            yield from _receivers(route, receivers)
            yield from _match(route.at("match"), names)
        for window in view.at("maintenance").items():
            yield from _window(window)
            yield from _match(window.at("match"), names)
    windows = ((window.at("name"), window.text("name")) for view in views for window in view.at("maintenance").items())
    yield from repeated(windows, "a second window of this name", "a name of its own for each window")


def _receivers(route: View, receivers: Sequence[str]) -> Iterator[Problem]:
    for key in ("receiver", "escalate_to"):
        name = route.text(key)
        if name is not None and name not in receivers:
            yield _unknown(route.at(key), "receiver", receivers)
    pair = ("escalate_after", "escalate_to")
    given = [key for key in pair if route.has(key)]
    if len(given) == 1:
        other = next(key for key in pair if key not in given)
        yield route.at(given[0]).problem(f"{given[0]} alone", f"{other} beside it")
    if route.has("escalate_to") and route.text("escalate_to") == route.text("receiver"):
        yield route.at("escalate_to").problem("the route's own receiver", "somebody else")


def _names(views: Sequence[View]) -> Mapping[str, Collection[str]]:
    """What each key of a match may say; for labels, under the empty key, their names."""
    pipelines = [pipeline for view in views for pipeline in view.at("pipelines").items()]
    probes = [probe for pipeline in pipelines for probe in pipeline.at("probes").items()]
    return {
        "pipeline": [name for pipeline in pipelines if (name := pipeline.text("name"))],
        "probe": [name for probe in probes if (name := name_of(probe))],
        "check": JUDGED,
        "hop": [name for pipeline in pipelines for hop in pipeline.at("hops").items() if (name := hop.text("name"))],
        "severity": [str(severity) for severity in Severity],
        "": list(dict.fromkeys(name for pipeline in pipelines for name in pipeline.at("labels").names())),
    }


def _match(match: View, names: Mapping[str, Collection[str]]) -> Iterator[Problem]:
    for key in match.names():
        place = match.at(key)
        if key not in MATCHED and key not in names[""]:
            known = [*MATCHED, *names[""]]
            yield place.problem("a label that no pipeline has", one_of(known), did_you_mean(key, known))
        elif key in MATCHED and key != "severity" and match.text(key) not in (None, *names[key]):
            yield _unknown(place, key, names[key])


def _unknown(place: View, kind: str, known: Collection[str]) -> Problem:
    names = sorted(set(known))
    found = f"the unknown {kind} {shown(place.path, place.written())}"
    near = did_you_mean(str(place.written()), names)
    if not names:
        return place.problem(found, f"one that is there; there is no {kind}")
    expected = f"a known {kind}" if near and len(names) > _MANY else one_of(names)
    return place.problem(found, expected, near)


def _window(window: View) -> Iterator[Problem]:
    once = [key for key in ("starts", "ends") if window.has(key)]
    again = [key for key in ("cron", "duration") if window.has(key)]
    if once and again:
        yield window.problem(f"{one_of([*once, *again], 'and')}", "starts and ends, or cron and duration")
    elif len(once) + len(again) != 2:
        found = f"{quoted((once or again)[0])} alone" if once or again else "a window without times"
        yield window.problem(found, "starts and ends, or cron and duration")
    if window.has("timezone") and not window.has("cron"):
        yield window.at("timezone").problem("a time zone without cron", "cron beside it")
    starts, ends = (_moment(window.text(key)) for key in ("starts", "ends"))
    if starts and ends and ends <= starts:
        yield window.at("ends").problem("an end that is not after the start", "a later one")


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None
