from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting.incidents import BLIND, NEXT, Seen, counting, enter, step
from canary.core.incident import Event, IncidentKey, State
from canary.core.route import Policy
from canary.core.verdict import Status
from tests.fakes.alerts import LETTERS, NOW, run

FINDING = run("ui F | agent F | litellm P | vllm P").findings[0]
KEY = IncidentKey(pipeline="chat", probe="heavy", check="visible_content", origin="agent")
SHORT = {State.OK: "-", State.PENDING: "p", State.FIRING: "F", State.RECOVERING: "r"}


def seen(letter):
    status = LETTERS[letter]
    return Seen(
        key=KEY, cause="c", status=status, severity=FINDING.severity, finding=FINDING if status is Status.FAIL else None
    )


def walk(letters, policy, *, every_s=60.0):
    """The state after each run, and every transition."""
    incident, states, transitions = None, "", []
    for number, letter in enumerate(letters):
        now = NOW + timedelta(seconds=number * every_s)
        incident, transition = step(incident, seen(letter), policy, now, f"r{number}")
        transitions += [transition] if transition else []
        states += SHORT[incident.state] if incident else "-"
        if incident is not None and incident.state is State.OK:
            incident = None
    return states, transitions


DEFAULT = Policy()
ONE = Policy(fail=1, of=1, recover=1)


@pytest.mark.parametrize(
    ("policy", "runs", "states"),
    [
        pytest.param(DEFAULT, "PPPP", "----", id="nothing happens"),
        pytest.param(DEFAULT, "UUUUUUU", "-------", id="nothing is known"),
        pytest.param(DEFAULT, "F", "p", id="one failure tells nobody"),
        pytest.param(DEFAULT, "FPP", "pp-", id="one failure is forgotten"),
        pytest.param(DEFAULT, "FF", "pF", id="two in a row"),
        pytest.param(DEFAULT, "FPF", "ppF", id="two of three"),
        pytest.param(DEFAULT, "FPPF", "pp-p", id="two of four are none of three"),
        pytest.param(DEFAULT, "FUF", "ppF", id="unknown takes no place"),
        pytest.param(DEFAULT, "FUUUUUUUUF", "pppppppppF", id="however long"),
        pytest.param(DEFAULT, "FFP", "pFr", id="one pass is no end"),
        pytest.param(DEFAULT, "FFPP", "pFr-", id="two in a row are"),
        pytest.param(DEFAULT, "FFPUP", "pFrr-", id="unknown between passes breaks nothing"),
        pytest.param(DEFAULT, "FFPFP", "pFrFr", id="a failure starts the passes anew"),
        pytest.param(DEFAULT, "FFPFPP", "pFrFr-", id="and then it ends"),
        pytest.param(DEFAULT, "FFUUUU", "pFFFFF", id="unknown ends nothing"),
        pytest.param(DEFAULT, "FFPPFF", "pFr-pF", id="the next one counts from nothing"),
        pytest.param(DEFAULT, "FPFPFPFPPP", "ppFrFrFr--", id="every second run"),
        pytest.param(ONE, "FPFP", "F-F-", id="a hair trigger"),
        pytest.param(Policy(fail=1, of=1, recover=2), "FPFPP", "FrFr-", id="quick to fire, slow to end"),
        pytest.param(Policy(fail=3, of=3), "FFPFFF", "pp-ppF", id="three in a row: a pass begins anew"),
        pytest.param(Policy(fail=3, of=10, recover=1), "FPFPF", "ppppF", id="three of ten, with passes between"),
        pytest.param(Policy(fail=2, of=10), "FPPPPPPPPP", "ppppppppp-", id="ten of ten must be over"),
        pytest.param(Policy(hold_s=240.0), "FFPPPPP", "pFrrr--", id="not before the hold is over"),
    ],
)
def test_states(policy, runs, states):
    assert walk(runs, policy)[0] == states


@pytest.mark.parametrize("runs", ["FPPFFPFPP", "FUFUPUPU", "FFFFPPPP", "FPFPFPFPPP"])
def test_every_transition_is_in_the_table_and_goes_on_where_the_last_one_ended(runs):
    _, transitions = walk(runs, DEFAULT)
    before = State.OK
    for each in transitions:
        assert each.before is before
        assert NEXT[each.before, each.event] is each.after
        before = each.after


def test_a_new_opening_has_an_id_of_its_own_and_the_same_run_the_same_one():
    first, _ = step(None, seen("F"), DEFAULT, NOW, "r1")
    again, _ = step(None, seen("F"), DEFAULT, NOW + timedelta(seconds=5), "r1")
    other, _ = step(None, seen("F"), DEFAULT, NOW, "r2")
    assert first.id == again.id != other.id


def test_what_is_kept():
    incident, _ = step(None, seen("F"), DEFAULT, NOW, "r1")
    incident, transition = step(incident, seen("F"), DEFAULT, NOW + timedelta(seconds=60), "r2")
    assert (incident.state, incident.opened_at, incident.since) == (State.FIRING, transition.at, transition.at)
    assert (incident.run_id, transition.run_id, incident.window) == ("r2", "r2", (Status.FAIL, Status.FAIL))
    incident, _ = step(incident, seen("P"), DEFAULT, NOW + timedelta(seconds=120), "r3")
    incident, _ = step(incident, seen("F"), DEFAULT, NOW + timedelta(seconds=180), "r4")
    assert incident.opened_at == transition.at
    assert (incident.passes, incident.run_id) == (0, "r4")


def test_unknown_changes_nothing_but_its_own_streak():
    incident, _ = step(None, seen("F"), DEFAULT, NOW, "r1")
    for number in range(1, 4):
        after, transition = step(incident, seen("U"), DEFAULT, NOW, "r")
        assert transition is None
        assert after == replace(incident, unknowns=number)
        incident = after
    assert step(incident, seen("P"), DEFAULT, NOW, "r")[0].unknowns == 0


@pytest.mark.parametrize(
    ("check", "fail", "of", "recover"),
    [
        pytest.param("visible_content", 3, 5, 4, id="as the route says"),
        pytest.param("baseline", 1, 1, 4, id="has counted already"),
        pytest.param(BLIND, 7, 7, 1, id="a streak"),
    ],
)
def test_what_counts(check, fail, of, recover):
    policy = counting(check, Policy(fail=3, of=5, recover=4, unknown=7))
    assert (policy.fail, policy.of, policy.recover) == (fail, of, recover)


def test_the_table_is_whole():
    """What an incident that there is can meet, in every state; one that is OK is not there."""
    assert set(NEXT) == {
        *((state, event) for state in State for event in Event if state is not State.OK),
        (State.OK, Event.FAILED),
        (State.OK, Event.FAILED_ENOUGH),
    }
    assert {after for (_, event), after in NEXT.items() if event is Event.GONE} == {State.OK}


def test_what_is_not_in_the_table_is_a_bug():
    incident, _ = step(None, seen("F"), DEFAULT, NOW, "r1")
    with pytest.raises(KeyError):
        enter(replace(incident, state=State.OK), Event.PASSED, NOW)


@pytest.mark.parametrize("hold_s", [0.0, 600.0], ids=["no hold", "a hold"])
def test_a_clock_that_is_set_back_keeps_nothing_open(hold_s):
    """It began to fire at a time that is still to come: that says nothing of how long ago it was."""
    policy = Policy(fail=1, of=1, recover=2, hold_s=hold_s)
    incident, _ = step(None, seen("F"), policy, NOW, "r0")
    for number in (1, 2):
        incident, _ = step(incident, seen("P"), policy, NOW - timedelta(minutes=60 - number), f"r{number}")
    assert incident.state is State.OK
