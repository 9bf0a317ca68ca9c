"""Where a regression begins, and what the engine's own numbers add to a finding about slowness."""

import pytest

from canary.checks.localise import localise
from canary.core.finding import HopVerdict
from canary.core.verdict import Status, Verdict

HOPS = ("edge", "agent", "gateway", "engine")
LETTERS = {
    "P": (Status.PASS, "usual"),
    "p": (Status.PASS, "unsettled"),
    "S": (Status.FAIL, "slower"),
    "M": (Status.FAIL, "more_reasoning"),
    "L": (Status.FAIL, "less_reasoning"),
    "U": (Status.UNKNOWN, "unreachable"),
    "F": (Status.FAIL, "late"),
    "I": (Status.FAIL, "would_fire"),
}


def chain(letters, *, check="baseline", subject="speed", observed=31.0, limit=None, variant="plain"):
    """`SSPP`: from the user down; `.`: not judged."""
    return [
        HopVerdict(
            hop=hop,
            variant=variant,
            verdict=Verdict(
                check=check,
                status=LETTERS[letter][0],
                reason=LETTERS[letter][1],
                message=f"{check} {letter}",
                subject=subject,
                observed=observed,
                limit=limit,
                unit="s",
            ),
        )
        for hop, letter in zip(HOPS, letters, strict=True)
        if letter != "."
    ]


def load(hop="engine", *, status=Status.PASS, message="0 requests wait, 0.31 s to the first token", variant="plain"):
    verdict = Verdict(check="saturation", status=status, reason="room", message=message)
    return [HopVerdict(hop=hop, variant=variant, verdict=verdict)]


def found_in(*groups):
    return localise([verdict for group in groups for verdict in group], HOPS, probed=HOPS)


def brief(finding):
    """check/subject@origin, `~` where the fault may lie below; then what is affected."""
    place = f"{finding.check}/{finding.subject}@{finding.origin}{'~' if finding.at_or_below else ''}"
    return f"{place} {','.join(finding.affected)}".strip()


def reasoning(letters):
    return chain(letters, subject="reasoning", limit=1000.0)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param([chain("SSSS")], ["baseline/speed@engine gateway,agent,edge"], id="at the engine"),
        pytest.param([chain("SSSP")], ["baseline/speed@gateway agent,edge"], id="born at the gateway"),
        pytest.param([chain("SSSp")], ["baseline/speed@gateway~ agent,edge"], id="the engine cannot be told yet"),
        pytest.param([chain("SSS.")], ["baseline/speed@gateway agent,edge"], id="the engine has no history"),
        pytest.param([chain("SpSS")], ["baseline/speed@engine gateway,edge"], id="one hop is not that far yet"),
        pytest.param([chain("SPSS")], ["baseline/speed@engine gateway,edge"], id="one hop was lucky"),
        pytest.param([chain("pppp")], [], id="nothing can be told yet"),
        pytest.param([chain("PPPS")], ["baseline/speed@engine"], id="only the engine"),
        pytest.param([reasoning("LLLP")], ["baseline/reasoning@gateway agent,edge"], id="less reasoning"),
        pytest.param(
            [reasoning("MMMM"), chain("SSSS")], ["baseline/reasoning@engine gateway,agent,edge"], id="more is slower"
        ),
        pytest.param(
            [chain("SSSS"), reasoning("MMMM")], ["baseline/reasoning@engine gateway,agent,edge"], id="in any order"
        ),
        pytest.param(
            [reasoning("..MM"), chain("SSPP")], ["baseline/reasoning@engine gateway,agent,edge"], id="slower above"
        ),
        pytest.param(
            [reasoning("MPPP"), chain("SSSS")],
            ["baseline/speed@engine gateway,agent,edge", "baseline/reasoning@edge"],
            id="more reasoning above explains nothing below",
        ),
        pytest.param(
            [reasoning("LLLL"), chain("SSSS")],
            ["baseline/reasoning@engine gateway,agent,edge", "baseline/speed@engine gateway,agent,edge"],
            id="less reasoning makes nothing slow",
        ),
        pytest.param(
            [chain("SSSS"), chain("FFFF", check="first_visible", subject=None)],
            ["first_visible/None@engine gateway,agent,edge"],
            id="the fixed limit speaks",
        ),
        pytest.param(
            [chain("SSSS"), chain("IIII", check="idle_timeout", subject="ui/idle"), reasoning("MMMM")],
            ["idle_timeout/ui/idle@engine gateway,agent,edge"],
            id="so does a timer, of more reasoning too",
        ),
        pytest.param(
            [reasoning("LLLL"), chain("FFFF", check="first_visible", subject=None)],
            ["first_visible/None@engine gateway,agent,edge", "baseline/reasoning@engine gateway,agent,edge"],
            id="less reasoning is no lateness",
        ),
        pytest.param(
            [chain("UUUS"), chain("..F.", check="reachable", subject=None)],
            ["baseline/speed@engine", "reachable/None@gateway"],
            id="above a dead hop nothing is told",
        ),
    ],
)
def test_one_cause_is_one_finding(groups, expected):
    assert [brief(finding) for finding in found_in(*groups)] == expected


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        pytest.param(
            [chain("SSSP")],
            "gateway is slower than usual: baseline S; at engine: baseline P. agent and edge are affected.",
            id="slower",
        ),
        pytest.param(
            [reasoning("...M"), chain("...S")],
            "engine reasons more than usual: baseline M. This explains baseline (speed) too.",
            id="more reasoning",
        ),
        pytest.param([reasoning("...L")], "engine reasons less than usual: baseline L.", id="less reasoning"),
        pytest.param(
            [chain("SSPP"), load()],
            "agent is slower than usual: baseline S; at gateway: baseline P. edge is affected."
            " engine says of itself: 0 requests wait, 0.31 s to the first token; people waited 31.0 s.",
            id="the engine's own clock",
        ),
        pytest.param(
            [chain("FFPP", check="first_visible", subject=None, observed=None), load()],
            "The first visible text of agent comes too late"
            ": first_visible F; at gateway: first_visible P. edge is affected."
            " engine says of itself: 0 requests wait, 0.31 s to the first token.",
            id="nobody knows how long they waited",
        ),
        pytest.param(
            [
                chain("...I", check="idle_timeout", subject="ui/idle"),
                load(status=Status.WARN, message="14 requests wait"),
            ],
            "ui/idle would cut the stream of engine: idle_timeout I."
            " It is slow because engine is saturated: 14 requests wait.",
            id="saturated",
        ),
        pytest.param(
            [chain("SSPP"), load("gateway", message="3 run"), load()],
            "agent is slower than usual: baseline S; at gateway: baseline P. edge is affected."
            " engine says of itself: 0 requests wait, 0.31 s to the first token; people waited 31.0 s.",
            id="the lowest of several",
        ),
        pytest.param(
            [chain("...S"), load("gateway")], "engine is slower than usual: baseline S.", id="not of a hop above"
        ),
        pytest.param(
            [chain("...S"), load(variant="control")],
            "engine is slower than usual: baseline S.",
            id="not of another request",
        ),
        pytest.param(
            [reasoning("...L"), load()], "engine reasons less than usual: baseline L.", id="not about slowness"
        ),
        pytest.param(
            [chain("...F", check="answer", subject=None), load()],
            "The answer of engine is wrong: answer F.",
            id="not about a wrong answer",
        ),
    ],
)
def test_messages(groups, message):
    (finding,) = found_in(*groups)
    assert finding.message == message


def test_what_the_engine_says_is_evidence():
    (finding,) = found_in(chain("SSPP"), load())
    assert finding.evidence[-1] == load()[0]
    assert found_in(load(status=Status.WARN)) == ()
