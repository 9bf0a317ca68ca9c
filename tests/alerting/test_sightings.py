from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting import Known
from canary.alerting.incidents import BLIND
from canary.alerting.sightings import sightings
from canary.core.incident import State
from canary.core.run import CutShort
from canary.core.verdict import Status
from tests.fakes.alerts import NOW, World, pipeline, rules, run, verdicts

RULES = rules()


def incident_of(*groups):
    """The incident that a first run leaves."""
    world = World()
    world.see(*groups)
    (incident,) = world.known.incidents
    return incident


def brief(found):
    """`check@origin STATUS`, with `+` where it is a new one."""
    new = "+" if found.incident is None else ""
    return f"{new}{found.seen.key.check}@{found.seen.key.origin} {found.seen.status}"


def said(second, *, first="ui F | agent F | litellm P | vllm P", **more):
    incident = incident_of(*((first,) if isinstance(first, str) else first))
    groups = (second,) if isinstance(second, str) else second
    found = sightings(run(*groups, run_id="r2", **more), (incident,), RULES)
    return [brief(each) for each in found if each.seen.key.check != BLIND or "cut_short" in more]


AGENT = "visible_content@agent"


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param("ui F | agent F | litellm P | vllm P", [f"{AGENT} FAIL"], id="the same"),
        pytest.param("ui P | agent P | litellm P | vllm P", [f"{AGENT} PASS"], id="all is well"),
        pytest.param("ui P | agent W | litellm P | vllm P", [f"{AGENT} PASS"], id="a warning is no failure"),
        pytest.param("ui P | agent U | litellm P | vllm P", [f"{AGENT} UNKNOWN"], id="it could not be judged"),
        pytest.param("ui P | litellm P | vllm P", [f"{AGENT} UNKNOWN"], id="it was not asked"),
        # the same fault, seen elsewhere
        pytest.param("ui F | agent P | litellm P | vllm P", ["visible_content@ui FAIL"], id="moved up"),
        pytest.param("ui F | agent F | litellm F | vllm P", ["visible_content@litellm FAIL"], id="moved down"),
        pytest.param("ui F | agent F | litellm F | vllm U", ["visible_content@litellm FAIL"], id="at or below"),
        pytest.param("ui F | agent U | litellm F | vllm F", ["visible_content@vllm FAIL"], id="down, with a blind hop"),
        # another fault
        pytest.param(
            "ui P | agent P | litellm P | vllm F", [f"{AGENT} PASS", "+visible_content@vllm FAIL"], id="apart from it"
        ),
        pytest.param(
            "ui F | agent F | litellm P | vllm F", [f"{AGENT} FAIL", "+visible_content@vllm FAIL"], id="one more"
        ),
        pytest.param(
            [verdicts("ui F | agent F | litellm F | vllm F", "reachable"), "ui U | agent U | litellm U | vllm U"],
            [f"{AGENT} UNKNOWN", "+reachable@vllm FAIL"],
            id="in the shadow of another",
        ),
        pytest.param(
            [verdicts("agent F", "streaming", subject="visible"), "ui P | agent P | litellm P | vllm P"],
            [f"{AGENT} PASS", "+streaming@agent FAIL"],
            id="another check at the same hop",
        ),
    ],
)
def test_what_a_run_says(second, expected):
    assert said(second) == expected


def test_a_failure_explained_by_another_finding_is_not_cured():
    """The budget explains the empty answer within the run; the empty answer's own incident learns nothing from that."""
    both = [verdicts("litellm F | vllm P", "budget", subject="b"), "ui F | agent F | litellm F | vllm P"]
    first = "ui F | agent F | litellm F | vllm P"
    assert said(both, first=first) == ["visible_content@litellm UNKNOWN", "+budget@litellm FAIL"]


def test_nor_is_one_that_still_fails_in_another_form():
    first = (verdicts("litellm F | vllm P", variant="short"),)
    second = [
        verdicts("litellm P | vllm P", variant="short"),
        verdicts("litellm F | vllm P", "budget", subject="b"),
        verdicts("litellm F | vllm P"),
    ]
    assert said(second, first=first) == ["visible_content@litellm UNKNOWN", "+budget@litellm FAIL"]


VARIANTS = {
    "its own form passes": ({"budget": "P", "plain": "P"}, "PASS"),
    "its own form passes, the other is unknown": ({"budget": "P", "plain": "U"}, "PASS"),
    "its own form is unknown": ({"budget": "U", "plain": "P"}, "UNKNOWN"),
    "its own form was not sent": ({"plain": "P"}, "PASS"),
}


@pytest.mark.parametrize("letters", VARIANTS)
def test_it_passes_in_the_form_that_failed(letters):
    forms, expected = VARIANTS[letters]
    first = (verdicts("agent F | litellm P", variant="budget"),)
    groups = [verdicts(f"agent {letter} | litellm P", variant=form) for form, letter in forms.items()]
    assert said(groups, first=first) == [f"{AGENT} {expected}"]


def test_a_timer_of_the_finding_decides_and_not_the_others():
    first = (verdicts("agent F | litellm P", "idle_timeout", subject="browser/idle"),)
    survives = verdicts("agent P | litellm P", "idle_timeout", subject="browser/idle")
    other = verdicts("agent U | litellm P", "idle_timeout", subject="ui/read")
    assert said([survives, other], first=first) == ["idle_timeout@agent PASS"]
    assert said([verdicts("agent U", "idle_timeout", subject="browser/idle"), other], first=first) == [
        "idle_timeout@agent UNKNOWN"
    ]


def test_whom_we_suspect_of_a_cut_is_no_part_of_the_key():
    first = (verdicts("ui F | agent P", "complete", subject="edge/read"),)
    assert said([verdicts("ui F | agent P", "complete")], first=first) == ["complete@ui FAIL"]
    assert said([verdicts("ui P | agent P", "complete")], first=first) == ["complete@ui PASS"]


def test_one_subject_says_nothing_of_another():
    first = (verdicts("litellm F | vllm P", "budget", subject="thinking_budget"),)
    passes = verdicts("litellm P | vllm P", "budget", subject="reasoning_effort")
    assert said([passes], first=first) == ["budget@litellm UNKNOWN"]


@pytest.mark.parametrize("why", [CutShort.DEADLINE, CutShort.BUG])
def test_a_run_that_was_cut_short_says_nothing_of_the_pipeline(why):
    whole = "ui P | agent P | litellm P | vllm P"
    assert said(whole, cut_short=why) == [f"{AGENT} UNKNOWN"]
    assert said("litellm P | vllm P", cut_short=why) == [f"{AGENT} UNKNOWN", "+blind@agent FAIL"]
    assert said([], cut_short=why) == [f"{AGENT} UNKNOWN", "+blind@vllm FAIL"]


def test_a_shutdown_says_nothing_at_all():
    assert said("litellm P", cut_short=CutShort.SHUTDOWN) == []


def test_other_probes_and_pipelines_are_not_spoken_of():
    incident = incident_of("ui F | agent P")
    elsewhere = run("ui P | agent P", probe="tiny")
    assert sightings(elsewhere, (incident,), RULES) == ()


def test_what_a_reload_took_away_is_not_spoken_of():
    seen = run("ui F | agent P | litellm P")
    assert sightings(seen, (), rules(pipeline("other"))) == ()
    assert sightings(seen, (), rules(pipeline("chat", hops=("browser", "agent", "litellm")))) == ()


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("states", "ages", "taken"),
    [
        pytest.param((State.PENDING, State.FIRING), (2, 1), "agent", id="one that fires before one that does not"),
        pytest.param((State.PENDING, State.RECOVERING), (2, 1), "agent", id="one that recovers as well"),
        pytest.param((State.FIRING, State.FIRING), (2, 1), "ui", id="then the older one"),
        pytest.param((State.PENDING, State.PENDING), (1, 2), "agent", id="whatever they are"),
    ],
)
def test_of_two_incidents_that_a_finding_could_continue(states, ages, taken):
    ui, agent = incident_of("ui F | agent P"), incident_of("ui F | agent F | litellm P")
    both = tuple(
        replace(each, state=state, since=NOW - age * MINUTE)
        for each, state, age in zip((ui, agent), states, ages, strict=True)
    )
    found = sightings(run("ui F | agent F | litellm F | vllm P", run_id="r9"), both, RULES)
    assert [each.incident.key.origin for each in found if each.seen.status is Status.FAIL] == [taken]
    assert [each.seen.status for each in found if each.seen.status is not Status.FAIL] == [Status.UNKNOWN]


def test_of_two_findings_with_one_key_one_counts():
    seen = run("ui F | agent P")
    twice = replace(seen, findings=(seen.findings[0], replace(seen.findings[0], subject=None, message="again")))
    assert [brief(found) for found in sightings(twice, (), RULES)] == ["+visible_content@ui FAIL"]


UNTOLD = {
    "nothing is known of any hop": ("ui U | agent U | litellm U | vllm U", "vllm", "litellm,agent,ui"),
    "nothing is known of one": ("ui P | agent U | litellm P | vllm P", "agent", ""),
    "nothing is known of two": ("ui U | agent P | litellm U | vllm P", "litellm", "ui"),
}


@pytest.mark.parametrize("name", UNTOLD)
def test_blind(name):
    chain, origin, affected = UNTOLD[name]
    (found,) = sightings(run(verdicts(chain, reasons={origin: "rate_limited"})), (), RULES)
    finding = found.seen.finding
    assert (finding.check, finding.reason, finding.origin) == (BLIND, "rate_limited", origin)
    assert ",".join(finding.affected) == affected


def test_not_blind_where_any_check_can_tell():
    seen = run("ui U | agent U | litellm U | vllm U", verdicts("ui F | agent F | litellm F | vllm F", "reachable"))
    assert [brief(found) for found in sightings(seen, (), RULES)] == ["+reachable@vllm FAIL"]


def test_a_hop_that_the_run_did_not_ask_is_not_blind():
    assert sightings(run("litellm P | vllm P"), (), RULES) == ()


def test_a_hop_of_which_nothing_was_asked_is_not_blind():
    seen = run("litellm P | vllm P")
    unjudged = replace(seen, results=tuple(replace(each, verdicts=()) for each in seen.results))
    assert sightings(unjudged, (), RULES) == ()


def test_blindness_ends_with_the_first_verdict_at_its_hop():
    world = World()
    world.see("ui U | agent P | litellm P | vllm P")
    (incident,) = world.known.incidents
    known = Known(incidents=(incident,))
    seen = sightings(run("ui P | agent U | litellm P | vllm P"), known.incidents, RULES)
    assert [brief(found) for found in seen] == ["blind@ui PASS", "+blind@agent FAIL"]
    partly = run(verdicts("agent P | litellm P | vllm P"), cut_short=CutShort.BUG)
    assert [brief(found) for found in sightings(partly, known.incidents, RULES)] == ["blind@ui FAIL"]
    unasked = sightings(run("agent P | litellm P | vllm P"), known.incidents, RULES)
    assert [brief(found) for found in unasked] == ["blind@ui UNKNOWN"]
