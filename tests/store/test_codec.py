"""What is written comes back equal, for every type that is stored and every stream that was ever recorded."""

import dataclasses
import json
import types
import typing
from datetime import UTC, datetime, timedelta, timezone

import pytest

from canary.analysis.measure import measure
from canary.core.deploy import Deploy
from canary.core.engine_load import EngineLoad
from canary.core.finding import Severity
from canary.core.incident import Event, Incident, Page, State, Transition
from canary.core.kept import StoredResult
from canary.core.measurement import Fingerprint, Measurement
from canary.core.notification import Notification
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    End,
    HttpRejected,
    Interrupted,
    Phase,
    StoppedByUs,
    Truncated,
)
from canary.core.route import Match, Silence
from canary.core.secret import Secret
from canary.core.stream import ReasoningForm, Violation, ViolationKind
from canary.core.verdict import Status, Verdict
from canary.store.codec import CodecError, decode, encode, pack, unpack
from canary.store.record import Body, Findings
from canary.wire.decode import decode as observed
from tests.fakes.exchanges import RECORDED, recorded
from tests.fakes.stored import (
    GOOD,
    NOON,
    TIMER,
    finding_of,
    incident_of,
    notification_of,
    page_of,
    result_of,
    transition_of,
)

Numbers = dict[str, float]
MEASURED = result_of(GOOD).measurement
STORED = [Measurement, Fingerprint, Numbers, Body, Findings, Incident, Page, Transition, Notification, Silence, Deploy]
RESULT = StoredResult(hop="h", variant="v", measurement=MEASURED, verdicts=result_of(GOOD).verdicts, timeouts=(TIMER,))


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.jsonl")))
def test_every_recorded_measurement_comes_back_equal(name):
    measurement = measure(observed(recorded(name)))
    assert decode(Measurement, encode(measurement)) == measurement
    assert unpack(Measurement, pack(measurement)) == measurement


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(end, id=type(end).__name__)
        for end in (
            Completed(at=1.0),
            Truncated(at=1.0, detail="d"),
            Disconnected(at=0.1 + 0.2, phase=Phase.BODY, detail=""),
            HttpRejected(at=1.0, status=503, message="m\0\ud800"),
            ConnectFailed(at=1.0, phase=Phase.DNS),
            DeadlineExceeded(at=1.0, phase=Phase.HEADERS),
            StoppedByUs(at=1.0, reason="seen enough"),
            Interrupted(at=1.0),
        )
    ],
)
def test_every_way_to_end_comes_back_as_itself(end):
    measurement = dataclasses.replace(MEASURED, end=end)
    assert decode(Measurement, encode(measurement)) == measurement


def test_no_way_to_end_is_left_out():
    assert {
        Completed,
        Truncated,
        Disconnected,
        HttpRejected,
        ConnectFailed,
        DeadlineExceeded,
        StoppedByUs,
        Interrupted,
    } == set(typing.get_args(End))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(Body, (RESULT,), id="body of a run"),
        pytest.param(Body, (dataclasses.replace(RESULT, load=EngineLoad(waiting=14.0)),), id="engine load"),
        pytest.param(Findings, (finding_of("\x1b[31m\u202e\U0001f600"),), id="findings"),
        pytest.param(Incident, incident_of(state=State.RECOVERING), id="incident"),
        pytest.param(Page, page_of(resolved_at=NOON), id="page"),
        pytest.param(Transition, transition_of(event=Event.GONE, run_id=None), id="transition"),
        pytest.param(Notification, notification_of(), id="notification"),
        pytest.param(
            Silence,
            Silence(
                id="s",
                match=Match(labels={"env": "prod"}, severity=Severity.WARNING),
                starts_at=NOON,
                ends_at=NOON,
                author="a",
            ),
            id="silence",
        ),
        pytest.param(Deploy, Deploy(at=NOON, text="t", labels={"env": "prod"}), id="deploy"),
        pytest.param(Numbers, {"total_s": 0.1 + 0.2}, id="numbers, to the last bit"),
        pytest.param(float, float("inf"), id="infinity"),
        pytest.param(datetime, datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=timezone(timedelta(hours=9))), id="zone"),
        pytest.param(frozenset[ReasoningForm], frozenset(ReasoningForm), id="set"),
        pytest.param(Violation | None, Violation(at=1.0, kind=ViolationKind.NOT_JSON), id="optional"),
    ],
)
def test_what_is_stored_comes_back_equal(kind, value):
    assert decode(kind, encode(value)) == value


def test_text_is_ascii_so_that_no_database_minds_it():
    assert encode("\0\ud800é").isascii()


def test_a_secret_is_never_stored():
    with pytest.raises(TypeError, match="Secret is never stored"):
        encode({"token": Secret("x")})


@pytest.mark.parametrize("value", [b"bytes", object(), {1: 2}], ids=["bytes", "object", "a mapping by number"])
def test_what_has_no_stored_form_says_so(value):
    with pytest.raises(TypeError):
        encode(value)


def verdict(**changes):
    whole = json.loads(encode(Verdict(check="c", status=Status.PASS, reason="r", message="m")))
    return json.dumps({key: value for key, value in (whole | changes).items() if value != "gone"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(verdict(subject="gone"), None, id="a missing key is its default"),
        pytest.param(verdict(new_in_2030=1), None, id="a key of another version is left out"),
    ],
)
def test_rows_of_other_versions_are_read(text, expected):
    assert decode(Verdict, text).subject is expected


def test_a_field_that_came_later_is_none_where_it_may_be():
    whole = json.loads(encode(MEASURED))
    del whole["held_open_s"]
    assert decode(Measurement, json.dumps(whole)).held_open_s is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param(Verdict, "{", id="no JSON"),
        pytest.param(Verdict, "[]", id="no object"),
        pytest.param(Verdict, verdict(status="GREEN"), id="no such word"),
        pytest.param(Verdict, verdict(status=1), id="a number for a word"),
        pytest.param(Verdict, verdict(message="gone"), id="a key that must be there"),
        pytest.param(Verdict, verdict(message=None), id="null where nothing may be"),
        pytest.param(Verdict, verdict(observed=True), id="a bool is no number"),
        pytest.param(tuple[str, str], '["a"]', id="too short a pair"),
        pytest.param(tuple[str, ...], '"a"', id="text for a list"),
        pytest.param(Numbers, "[]", id="a list for an object"),
        pytest.param(datetime, '"yesterday"', id="no time"),
        pytest.param(End, '{"at": 1.0}', id="an end without its kind"),
        pytest.param(End, '{"at": 1.0, "kind": "Exploded"}', id="an unknown kind"),
        pytest.param(End, '{"at": 1.0, "kind": []}', id="a kind that is no text"),
        pytest.param(str | bool, "1.5", id="no member of a union"),
    ],
)
def test_what_does_not_fit_is_refused(kind, text):
    with pytest.raises(CodecError):
        decode(kind, text)


@pytest.mark.parametrize("packed", [b"", b"x", pack({})[:-3]], ids=["nothing", "noise", "cut"])
def test_what_was_not_packed_is_refused(packed):
    with pytest.raises(CodecError):
        unpack(Numbers, packed)


@pytest.mark.parametrize("kind", [bytes, Completed | Verdict], ids=["bytes", "a union that cannot be told apart"])
def test_a_type_without_a_stored_form_is_our_bug(kind):
    with pytest.raises(TypeError):
        decode(kind, "{}")


def unions_in(kind, seen):
    """All unions of several dataclasses that can be reached from a type."""
    if kind in seen:
        return set()
    seen.add(kind)
    inner = typing.get_type_hints(kind).values() if dataclasses.is_dataclass(kind) else typing.get_args(kind)
    members = [each for each in typing.get_args(kind) if dataclasses.is_dataclass(each)]
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    own = {frozenset(members)} if is_union and len(members) > 1 else set()
    return own.union(*(unions_in(each, seen) for each in inner))


def test_the_only_closed_union_that_is_stored_is_the_end():
    """A new one must be tagged in the codec before it is stored."""
    seen: set = set()
    assert set().union(*(unions_in(kind, seen) for kind in STORED)) == {frozenset(typing.get_args(End))}


def test_the_times_of_a_row_are_exact():
    assert decode(datetime, encode(datetime.max.replace(tzinfo=UTC))) == datetime.max.replace(tzinfo=UTC)
