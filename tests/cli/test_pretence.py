"""What a drill makes of a run: the one verdict, what follows from it, and nothing else."""

import pytest

from canary.cli.pretence import Pretence, pretended
from canary.core.finding import Severity
from canary.core.run import CutShort
from canary.core.verdict import Status, worst
from tests.fakes.alerts import pipeline, run, verdicts

CHAIN = "ui P | agent P | litellm P | vllm P"


def pretence(check="visible_content", hop="ui"):
    return Pretence(pipeline=pipeline(), check=check, hop=hop)


def found(seen, what, status=Status.FAIL):
    made = pretended(seen, what, status)
    return [(each.check, each.origin, each.edge, each.severity, each.at_or_below) for each in made.findings]


@pytest.mark.parametrize(
    ("groups", "check", "hop", "edge", "severity", "below"),
    [
        pytest.param([CHAIN], "visible_content", "ui", ("ui", "agent"), Severity.CRITICAL, False, id="the top"),
        pytest.param([CHAIN], "visible_content", "litellm", ("litellm", "vllm"), Severity.WARNING, False, id="lower"),
        pytest.param([CHAIN], "visible_content", "vllm", None, Severity.WARNING, False, id="the engine"),
        pytest.param([CHAIN], "first_visible", "ui", None, Severity.CRITICAL, False, id="a check that was not made"),
        pytest.param(
            ["ui F | agent P | litellm P | vllm P"],
            "visible_content",
            "ui",
            ("ui", "agent"),
            Severity.CRITICAL,
            False,
            id="it does fail",
        ),
        pytest.param(
            [CHAIN, verdicts("ui F | agent P | litellm P | vllm P", "answer")],
            "visible_content",
            "ui",
            ("ui", "agent"),
            Severity.CRITICAL,
            False,
            id="another check fails",
        ),
        pytest.param(
            ["ui P | agent F | litellm P | vllm P"],
            "visible_content",
            "ui",
            ("ui", "litellm"),
            Severity.CRITICAL,
            False,
            id="a hop below fails",
        ),
    ],
)
def test_one_finding_and_no_other(groups, check, hop, edge, severity, below):
    findings = found(run(*groups), pretence(check, hop))
    assert findings == [(check, hop, edge, severity, below)]


@pytest.mark.parametrize("chain", [CHAIN, "ui F | agent F | litellm F | vllm F", "ui U | agent P | litellm P | vllm P"])
def test_healed_nothing_is_found_and_the_hop_passes(chain):
    healed = pretended(run(chain), pretence(), Status.PASS)
    assert healed.findings == ()
    (top,) = [result for result in healed.results if result.hop == "ui"]
    assert worst(top.verdicts) is Status.PASS


def test_hops_of_which_nothing_is_told_stay_out_of_it():
    """They would be a page about the monitor."""
    made = pretended(run("ui P | agent U | litellm P | vllm P"), pretence(), Status.PASS)
    assert {result.hop: len(result.verdicts) for result in made.results} == {
        "ui": 1,
        "agent": 0,
        "litellm": 1,
        "vllm": 1,
    }


def test_all_forms_of_the_request_are_said_to_fail():
    plain, small = verdicts(CHAIN), verdicts(CHAIN, variant="budget=64")
    made = pretended(run(plain, small), pretence(), Status.FAIL)
    assert [worst(result.verdicts) for result in made.results if result.hop == "ui"] == [Status.FAIL, Status.FAIL]
    assert len(made.findings) == 1


def test_the_message_says_that_it_is_pretended_and_gives_no_number():
    (finding,) = pretended(run(verdicts(CHAIN, observed=3.0, limit=2.0, unit="s")), pretence(), Status.FAIL).findings
    own = [each.verdict for each in finding.evidence if each.hop == "ui"]
    assert {(each.reason, each.observed, each.limit, each.unit) for each in own} == {("drill", None, None, None)}
    assert all("this is a drill" in each.message for each in own)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(run(CHAIN, cut_short=CutShort.DEADLINE), id="cut short"),
        pytest.param(run("agent P | litellm P | vllm P"), id="the hop was not reached"),
    ],
)
def test_nothing_follows_from_a_run_that_did_not_get_there(seen):
    assert pretended(seen, pretence(), Status.FAIL) is None
