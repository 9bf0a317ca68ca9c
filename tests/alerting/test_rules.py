from dataclasses import replace

import pytest

from canary.alerting.rules import rules_of
from canary.core.deploy import Deploy
from canary.core.route import Match, Route
from canary.core.service import Listen, Service
from canary.core.spec import Hop, Pipeline, Plan
from tests.fakes.alerts import NOW, pipeline, receiver, rules


@pytest.mark.parametrize(
    ("url", "place"),
    [
        pytest.param("http://vllm:8000/v1/chat/completions", "vllm:8000/v1/chat/completions", id="host and path"),
        pytest.param(
            "https://vllm:8000/v1/chat/completions", "vllm:8000/v1/chat/completions", id="whatever the scheme"
        ),
        pytest.param("http://VLLM:8000/v1/", "vllm:8000/v1", id="names have no case, and paths no last slash"),
        pytest.param("http://vllm:80/v1", "vllm/v1", id="the port that http implies"),
        pytest.param("https://vllm:443/v1", "vllm/v1", id="the port that https implies"),
        pytest.param("HTTP://vllm:0080/v1", "vllm/v1", id="the same, oddly written"),
        pytest.param("http://vllm:/v1", "vllm/v1", id="a colon without a port"),
        pytest.param("https://vllm:80/v1", "vllm:80/v1", id="a port that is another scheme's"),
        pytest.param("http://vllm.:8000/v1", "vllm:8000/v1", id="a name with its last dot"),
        pytest.param("http://[0:0:0:0:0:0:0:1]:8000/v1", "[::1]:8000/v1", id="IPv6, at length"),
        pytest.param("http://[FE80::0001]/v1", "[fe80::1]/v1", id="IPv6 has no case"),
        pytest.param("http://[fe80::1%25eth0]:80/v1", "[fe80::1%25eth0]/v1", id="an interface is kept"),
        pytest.param("http://127.0.0.1:8000/v1", "127.0.0.1:8000/v1", id="IPv4"),
        pytest.param("http://kim:secret@vllm:8000/v1", "vllm:8000/v1", id="never a password"),
        pytest.param("http://vllm:8000/v1?key=secret", "vllm:8000/v1", id="nor a query"),
        pytest.param(None, "p/h", id="a hop that is not probed"),
    ],
)
def test_place(url, place):
    given = rules(Pipeline(name="p", hops=(Hop(name="h", url=url),)))
    assert given.place("p", "h") == place


def test_the_place_of_what_is_gone_is_its_name():
    assert rules().place("gone", "vllm") == "gone/vllm"
    assert rules().place("chat", "gone") == "chat/gone"


def test_rules_of_a_plan():
    route, deploy = Route(match=Match(), receiver="a"), Deploy(at=NOW, text="t")
    plan = Plan(
        pipelines=(pipeline(),),
        receivers=(receiver("a"),),
        routes=(route,),
        service=Service(listen=replace(Listen(), public_url="https://c"), include_content=True),
    )
    given = rules_of(plan, deploys=(deploy,))
    assert (given.pipelines, given.receivers, given.routes) == (plan.pipelines, plan.receivers, (route,))
    assert (given.base_url, given.include_content, given.deploys, given.silences) == ("https://c", True, (deploy,), ())
