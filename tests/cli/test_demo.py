import json

import pytest

from canary.demo.faults import FAULTS

pytestmark = pytest.mark.alone

QUICK = ("--once", "--scale", "0.1")


def runs(said):
    """One JSON object a line: the reasoning-heavy run, then the budget run."""
    return [json.loads(line) for line in said.out.splitlines()]


def found(run):
    return [(each["check"], each["reason"], each["origin"], each["severity"]) for each in run["findings"]]


def test_the_founding_incident_is_found_in_both_runs(canary):
    said = canary("demo", *QUICK, "--json")
    assert said.code == 1, said.err
    heavy, tiny = runs(said)
    stripped = ("streaming", "reasoning_stripped", "agent", "critical")
    assert (heavy["probe"], tiny["probe"]) == ("reasoning-heavy", "tiny-budget")
    assert found(heavy) == [stripped]
    assert found(tiny) == [("budget", "ignored", "gateway", "critical"), stripped]
    (finding,) = heavy["findings"]
    assert (finding["edge"], finding["affected"]) == (["agent", "gateway"], ["edge", "ui"])
    assert [hop["hop"] for hop in heavy["hops"]] == ["engine", "gateway", "agent", "edge", "ui"]
    assert said.err == ""


def test_a_healthy_pipeline_is_exit_0_and_says_so(canary):
    said = canary("demo", *QUICK, "--healthy")
    assert said.code == 0, said.out
    assert said.out.count("verdicts pass") == 2
    assert "CRITICAL" not in said.out
    assert "✓ engine plain" in said.err
    assert "✓ ui thinking_budget=32" in said.err


@pytest.mark.parametrize(
    ("faults", "code", "findings"),
    [
        pytest.param(["html_502@edge"], 1, [("reachable", "server_error", "edge", "critical")], id="at a hop"),
        pytest.param(
            ["html_502"], 1, [("reachable", "server_error", "engine", "critical")], id="nearest to the engine"
        ),
        pytest.param(
            ["leak@engine", "auth@ui"],
            1,
            [("reasoning_leak", "tags_in_content", "engine", "warning"), ("reachable", "auth", "ui", "critical")],
            id="two",
        ),
        pytest.param(["too_many_requests@engine"], 2, [], id="what cannot be told"),
        pytest.param(["no_usage@ui"], 0, [], id="a warning"),
    ],
)
def test_any_fault_at_any_hop(canary, faults, code, findings):
    options = [option for fault in faults for option in ("--fault", fault)]
    said = canary("demo", *QUICK, "--json", *options)
    assert said.code == code, said.out
    assert found(runs(said)[0]) == findings


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param(["--fault", "lightning"], "there is no fault 'lightning'", id="no such fault"),
        pytest.param(["--fault", "@ui"], "there is no fault ''", id="no fault"),
        pytest.param(
            ["--fault", "leak@roof"], "the demo pipeline has no hop 'roof'; it has ui, edge", id="no such hop"
        ),
        pytest.param(["--fault", "leak@edge"], "the hop 'edge' cannot have the fault 'leak'", id="not at this hop"),
        pytest.param(["--healthy", "--fault", "leak"], "exclude each other", id="healthy and not"),
        pytest.param(["--scale", "0"], "scale", id="no time at all"),
    ],
)
def test_what_cannot_be_is_exit_3_and_one_line(canary, options, error):
    said = canary("demo", *options)
    assert (said.code, said.out) == (3, "")
    assert error in said.err
    assert len(said.err.splitlines()) == 1


def test_the_faults_are_listed_with_their_places(canary):
    said = canary("demo", "--list-faults")
    assert said.code == 0
    names = [line.split()[0] for line in said.out.splitlines() if line.split()]
    assert set(FAULTS) <= set(names)
    assert "any hop" in said.out
