"""Ready or not, and why."""

import pytest

from canary.engine.readiness import Vitals, readiness


def vitals(**changes):
    return Vitals(**{"schedule_lag_s": 0.0, "loop_lag_s": 0.0} | changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"schedule_lag_s": 121.0}, "a run is 2 min 1 s late; more than 2 min is too much", id="schedule"),
        pytest.param({"loop_lag_s": 1.5}, "our own event loop was 1.50 s late within the last minute", id="loop"),
        pytest.param({"store_trouble": "it is full"}, "history cannot be written: it is full", id="store"),
        pytest.param({"dead_letters": 2}, "2 notifications of the last day could not be delivered", id="dead letters"),
        pytest.param({"untold_s": 600.0}, "a notification has been waiting for 10 min", id="a receiver is down"),
        pytest.param({"stopping": True}, "we are shutting down", id="stopping"),
    ],
)
def test_a_problem_is_a_sentence(changes, problem):
    assert readiness(vitals(**changes)).problems == (problem,)


@pytest.mark.parametrize(
    "changes",
    [{}, {"schedule_lag_s": 119.0}, {"loop_lag_s": 0.9}, {"untold_s": 299.0}],
    ids=str,
)
def test_a_little_of_it_is_no_problem(changes):
    assert readiness(vitals(**changes)).problems == ()


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        pytest.param({"reload_ok": False}, "the config was refused when it was last read", id="config"),
        pytest.param({"objections": ["deep is kept back"]}, "deep is kept back", id="token limit"),
    ],
)
def test_what_was_decided_on_purpose_is_a_note(changes, note):
    found = readiness(vitals(**changes))
    assert found.problems == ()
    assert found.notes[0].startswith(note)
