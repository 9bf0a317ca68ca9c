from dataclasses import replace

import pytest

from canary.alerting.asked import still_asked
from canary.core.spec import Hop
from tests.fakes.alerts import World, assignment, pipeline, rules, verdicts

CHAT = pipeline("chat")


def incident(check, subject=None, chain="ui P | agent F | litellm P | vllm P"):
    world = World()
    world.see(verdicts(chain, check, subject=subject))
    return world.known.incidents[0]


def with_assignment(**more):
    return rules(replace(CHAT, assignments=(assignment("heavy", **more),)))


def with_hops(*hops):
    return rules(replace(CHAT, hops=hops))


NO_TIMERS = tuple(replace(hop, timeouts=()) for hop in CHAT.hops)
ONE_DOCUMENT = tuple(replace(hop, stream=hop.name != "agent") for hop in CHAT.hops)
AGENT_LAST = CHAT.hops[:3]
MUST_FORWARD = tuple(replace(hop, forwards_reasoning=True) for hop in AGENT_LAST)
NO_URL = tuple(replace(hop, url=None) if hop.name == "agent" else hop for hop in CHAT.hops)


@pytest.mark.parametrize(
    ("check", "subject", "given", "asked"),
    [
        pytest.param("visible_content", None, rules(), True, id="all as before"),
        pytest.param("visible_content", None, rules(pipeline("x")), False, id="no such pipeline"),
        pytest.param("visible_content", None, rules(pipeline("chat", probes=("tiny",))), False, id="no such probe"),
        pytest.param("visible_content", None, with_hops(Hop(name="vllm", url="http://v/x")), False, id="no such hop"),
        pytest.param("visible_content", None, with_hops(*NO_URL), False, id="a hop that is probed no more"),
        pytest.param("visible_content", None, with_assignment(checks=("reachable",)), False, id="no such check"),
        pytest.param("visible_content", None, with_assignment(checks=("visible_content",)), True, id="asked by name"),
        pytest.param("streaming", "visible", with_assignment(checks=("reachable",)), True, id="always looked at"),
        pytest.param("streaming", "visible", with_hops(*ONE_DOCUMENT), False, id="no stream any more"),
        pytest.param("streaming", "visible", with_hops(*AGENT_LAST), True, id="a stream at the lowest hop"),
        pytest.param("streaming", "reasoning", with_hops(*ONE_DOCUMENT), True, id="reasoning in one document"),
        pytest.param("streaming", "reasoning", with_hops(*AGENT_LAST), False, id="nobody says that there is reasoning"),
        pytest.param("streaming", "reasoning", with_hops(*MUST_FORWARD), True, id="the hop is to show reasoning"),
        pytest.param("answer", None, rules(), True, id="a known answer"),
        pytest.param("answer", None, with_assignment(solver=None), False, id="no known answer any more"),
        pytest.param("first_visible", None, rules(), True, id="a limit"),
        pytest.param("first_visible", None, with_assignment(first_visible_s=None), False, id="no limit any more"),
        pytest.param("budget", "thinking_token_budget", rules(), True, id="a budget"),
        pytest.param("budget", "thinking_token_budget", with_assignment(budgets=("other",)), False, id="another one"),
        pytest.param("idle_timeout", "browser/idle", rules(), True, id="a timer"),
        pytest.param("idle_timeout", "browser/idle", with_hops(*NO_TIMERS), False, id="no timers any more"),
    ],
)
def test_still_asked(check, subject, given, asked):
    assert still_asked(incident(check, subject), given) is asked


def test_blindness_is_of_the_hop_and_not_of_a_check():
    blind = incident("reachable", chain="ui P | agent U | litellm P | vllm P")
    assert blind.key.check == "blind"
    assert still_asked(blind, with_assignment(checks=("reachable",)))
