import pytest

from canary.alerting.routing import chosen, policy_for
from canary.alerting.rules import Rules
from canary.core.finding import Severity
from canary.core.incident import IncidentKey
from canary.core.route import Match, Policy, Route
from tests.fakes.alerts import pipeline, policy, receiver, rules

KEY = IncidentKey(pipeline="chat", probe="heavy", check="answer", origin="vllm")
HOURLY = policy(remind_s=3600.0)


def route(to, *, go_on=False, how=None, **match):
    return Route(match=Match(**match), receiver=to, policy=how or Policy(), go_on=go_on)


def reached(*routes, severity=Severity.CRITICAL, labels=None):
    given = rules(pipeline("chat", **(labels or {"env": "prod", "team": "ai"})), receivers=("a", "b"), routes=routes)
    return ",".join(each.receiver for each in chosen(given, KEY, severity))


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        pytest.param({}, True, id="nothing named"),
        pytest.param({"pipeline": "chat"}, True, id="pipeline"),
        pytest.param({"pipeline": "other"}, False, id="another pipeline"),
        pytest.param({"probe": "heavy"}, True, id="probe"),
        pytest.param({"probe": "tiny"}, False, id="another probe"),
        pytest.param({"check": "answer"}, True, id="check"),
        pytest.param({"check": "usage"}, False, id="another check"),
        pytest.param({"hop": "vllm"}, True, id="hop"),
        pytest.param({"hop": "litellm"}, False, id="another hop"),
        pytest.param({"severity": Severity.CRITICAL}, True, id="severity"),
        pytest.param({"severity": Severity.WARNING}, False, id="another severity"),
        pytest.param({"labels": {"env": "prod"}}, True, id="label"),
        pytest.param({"labels": {"env": "prod", "team": "ai"}}, True, id="two labels"),
        pytest.param({"labels": {"env": "dev"}}, False, id="another value"),
        pytest.param({"labels": {"region": "eu"}}, False, id="a label that it lacks"),
        pytest.param({"labels": {"env": "prod"}, "hop": "litellm"}, False, id="one of two fits"),
    ],
)
def test_match(match, fits):
    assert reached(route("a", **match)) == ("a" if fits else "")


@pytest.mark.parametrize(
    ("routes", "receivers"),
    [
        pytest.param((route("a"), route("b")), "a", id="the first one"),
        pytest.param((route("a", hop="x"), route("b")), "b", id="the first that fits"),
        pytest.param((route("a", go_on=True), route("b")), "a,b", id="it goes on"),
        pytest.param((route("a", go_on=True), route("b", hop="x"), route("b")), "a,b", id="on to the next that fits"),
        pytest.param((route("a", go_on=True), route("a")), "a", id="nobody twice"),
        pytest.param((route("a", go_on=True),), "a", id="on to nothing"),
        pytest.param((route("a", hop="x"),), "", id="none fits"),
    ],
)
def test_routes(routes, receivers):
    assert reached(*routes) == receivers


def test_a_single_receiver_needs_no_route():
    assert [each.receiver for each in chosen(rules(), KEY, Severity.WARNING)] == ["on-call"]
    assert chosen(rules(receivers=("a", "b")), KEY, Severity.WARNING) == ()
    assert chosen(rules(receivers=()), KEY, Severity.WARNING) == ()


def test_the_first_route_that_fits_gives_the_policy():
    given = rules(routes=(route("a", hop="x"), route("a", how=HOURLY, go_on=True), route("b")))
    assert policy_for(given, KEY, Severity.WARNING) == HOURLY
    assert [each.policy for each in chosen(given, KEY, Severity.WARNING)] == [HOURLY, Policy()]
    assert policy_for(rules(), KEY, Severity.WARNING) == Policy()


def test_labels_of_a_pipeline_that_is_gone_fit_nothing():
    empty = Rules(pipelines=(), receivers=(receiver("a"),), routes=(route("a", labels={"env": "prod"}),))
    assert chosen(empty, KEY, Severity.WARNING) == ()
