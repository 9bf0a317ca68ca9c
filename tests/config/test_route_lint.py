from datetime import UTC, datetime, timedelta

import pytest

from canary.config.lint import lint
from canary.core.finding import Severity
from canary.core.route import Maintenance, Match, Policy, Receiver, Route
from canary.core.schedule import Cron, Once, Recurring
from canary.core.spec import Assignment, Hop, Pipeline, Plan, Probe, QuestionTemplate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROBE = Probe(name="ask", summary="", questions=(QuestionTemplate(text="?"),))


def pipeline(name: str, **labels: str) -> Pipeline:
    return Pipeline(
        name=name,
        hops=(Hop(name="ui"), Hop(name="vllm", url="http://v/v1", model="m")),
        labels=labels,
        assignments=(Assignment(probe=PROBE),),
    )


def receivers(*names: str) -> tuple[Receiver, ...]:
    return tuple(Receiver(name=name, kind="webhook", options=None) for name in names)


def route(receiver: str = "a", *, go_on: bool = False, escalate_to: str | None = None, **match) -> Route:
    labels = {name: match.pop(name) for name in ("env", "team") if name in match}
    policy = Policy(escalate_to=escalate_to)
    return Route(match=Match(labels=labels, **match), receiver=receiver, policy=policy, go_on=go_on)


def lints(*routes: Route, receivers=receivers("a"), pipelines=(pipeline("chat", env="prod"),)) -> list[str]:  # noqa: B008  # frozen
    plan = Plan(pipelines=pipelines, receivers=receivers, routes=routes)
    return [str(each) for each in lint(plan, now=NOW)]


@pytest.mark.parametrize(
    ("routes", "names", "expected"),
    [
        pytest.param([], [], [], id="nobody is to be told"),
        pytest.param([], ["a"], [], id="the only one is told of everything"),
        pytest.param(
            [],
            ["a", "b"],
            [
                "receiver a: no route names it, so it is told nothing",
                "receiver b: no route names it, so it is told nothing",
                "chat: no route fits it, so nobody is told of its incidents",
            ],
            id="two and no route",
        ),
        pytest.param([route()], ["a"], [], id="everything"),
        pytest.param(
            [route()], ["a", "b"], ["receiver b: no route names it, so it is told nothing"], id="one too many"
        ),
        pytest.param([route(escalate_to="b")], ["a", "b"], [], id="told by escalation"),
        pytest.param(
            [route(), route("b")],
            ["a", "b"],
            ["route 2 to b: route 1 before it fits all that it fits, and does not say continue"],
            id="behind one for everything",
        ),
        pytest.param([route(go_on=True), route("b")], ["a", "b"], [], id="which goes on"),
        pytest.param(
            [route(env="prod"), route(env="prod", severity=Severity.CRITICAL)],
            ["a"],
            ["route 2 to a: route 1 before it fits all that it fits, and does not say continue"],
            id="behind a wider one",
        ),
        pytest.param([route(env="prod", severity=Severity.CRITICAL), route(env="prod")], ["a"], [], id="narrow first"),
        pytest.param([route(check="budget"), route(check="complete"), route()], ["a"], [], id="beside each other"),
        pytest.param(
            [route(env="staging"), route()],
            ["a"],
            ["route 1 to a: no pipeline has env=staging"],
            id="a label's value that nothing has",
        ),
        pytest.param(
            [route(pipeline="chat", env="staging", hop="vllm")],
            ["a"],
            [
                "route 1 to a: no pipeline has pipeline=chat, hop=vllm and env=staging",
                "chat: no route fits it, so nobody is told of its incidents",
            ],
            id="together they fit nothing",
        ),
        pytest.param([route(severity=Severity.CRITICAL)], ["a"], [], id="only what is bad, on purpose"),
    ],
)
def test_routes(routes: list[Route], names: list[str], expected: list[str]):
    assert lints(*routes, receivers=receivers(*names)) == expected


@pytest.mark.parametrize(
    ("match", "heard"),
    [
        pytest.param({"hop": "ui"}, ["chat"], id="a hop"),
        pytest.param({"probe": "ask"}, ["chat"], id="a probe"),
        pytest.param({"probe": "other"}, [], id="another probe"),
        pytest.param({"hop": "other"}, [], id="another hop"),
        pytest.param({"pipeline": "chat"}, ["chat"], id="a name"),
        pytest.param({"pipeline": "search"}, [], id="another name"),
        pytest.param({"env": "prod", "team": "x"}, [], id="one label of two"),
    ],
)
def test_what_fits_a_pipeline(match: dict[str, str], heard: list[str]):
    unheard = [line for line in lints(route(**match)) if "nobody is told" in line]
    assert unheard == ([] if heard else ["chat: no route fits it, so nobody is told of its incidents"])


def test_windows_that_are_over():
    day = timedelta(days=1)
    windows = {
        "past": Once(starts_at=NOW - 2 * day, ends_at=NOW - day),
        "now": Once(starts_at=NOW - day, ends_at=NOW + day),
        "again": Recurring(cron=Cron(expression="0 3 * * *"), duration_s=60.0),
    }
    maintenance = tuple(Maintenance(name=name, window=window) for name, window in windows.items())
    found = lint(Plan(pipelines=(pipeline("chat"),), maintenance=maintenance), now=NOW)
    assert [str(each) for each in found] == ["maintenance past: it was over at 2026-02-28T00:00:00+00:00"]
