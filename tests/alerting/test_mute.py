from datetime import timedelta

import pytest

from canary.alerting.mute import mute_of
from canary.core.notification import Reason
from canary.core.route import Maintenance, Match, Silence
from canary.core.schedule import Cron, Once, Recurring
from tests.fakes.alerts import NOW, World, rules

HOUR = timedelta(hours=1)


def incident():
    world = World()
    world.see("ui F | agent P")
    return world.known.incidents[0]


INCIDENT = incident()


def silence(start, end, comment="", **match):
    return Silence(
        id="s", match=Match(**match), starts_at=NOW + start * HOUR, ends_at=NOW + end * HOUR, author="kim",
        comment=comment,
    )  # fmt: skip


def window(start, end, **match):
    once = Once(starts_at=NOW + start * HOUR, ends_at=NOW + end * HOUR)
    return Maintenance(name="deploy", window=once, match=Match(**match))


NIGHTLY = Maintenance(name="nightly", window=Recurring(cron=Cron(expression="0 12 * * *"), duration_s=7200.0))
ALWAYS = Maintenance(name="always", window=Recurring(cron=Cron(expression="0 * * * *"), duration_s=3600.0))


@pytest.mark.parametrize(
    ("silences", "windows", "reason", "hours"),
    [
        pytest.param((), (), None, None, id="nothing"),
        pytest.param((silence(-1, 1),), (), Reason.SILENCED, 1, id="a silence"),
        pytest.param((silence(1, 2),), (), None, None, id="one to come"),
        pytest.param((silence(-2, 0),), (), None, None, id="one that is over"),
        pytest.param((silence(0, 1),), (), Reason.SILENCED, 1, id="one that begins now"),
        pytest.param((silence(-1, 1, hop="vllm"),), (), None, None, id="of something else"),
        pytest.param((silence(-1, 1, hop="ui"),), (), Reason.SILENCED, 1, id="of this"),
        pytest.param((), (window(-1, 3),), Reason.MAINTENANCE, 3, id="maintenance"),
        pytest.param((), (window(-1, 3, probe="tiny"),), None, None, id="maintenance of something else"),
        pytest.param((), (window(2, 3),), None, None, id="maintenance to come"),
        pytest.param((), (NIGHTLY,), Reason.MAINTENANCE, 2, id="maintenance by cron"),
        pytest.param((silence(-1, 1),), (window(-1, 3),), Reason.MAINTENANCE, 3, id="both: the longer one"),
        pytest.param((silence(-1, 1),), (window(1, 3),), Reason.SILENCED, 3, id="one after the other"),
        pytest.param((silence(-1, 1), silence(0.5, 2)), (window(2, 3),), Reason.SILENCED, 3, id="a chain of three"),
        pytest.param((), (ALWAYS,), Reason.MAINTENANCE, 51, id="without an end, as far as anybody looks"),
    ],
)
def test_mute(silences, windows, reason, hours):
    mute = mute_of(INCIDENT, rules(silences=silences, maintenance=windows), NOW)
    assert (mute and mute.reason, mute and mute.until) == (reason, hours and NOW + hours * HOUR)


def test_whose_it_is():
    assert mute_of(INCIDENT, rules(silences=(silence(-1, 1),)), NOW).by == "a silence of kim"
    assert mute_of(INCIDENT, rules(silences=(silence(-1, 1, "deploy"),)), NOW).by == "a silence of kim: deploy"
    assert mute_of(INCIDENT, rules(maintenance=(NIGHTLY,)), NOW).by == "the maintenance window nightly"
