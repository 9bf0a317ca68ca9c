import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    Exchange,
    Head,
    HttpRejected,
    Interrupted,
    Phase,
    Read,
    StampSource,
    StoppedByUs,
    Truncated,
)
from canary.wire.transcript import TranscriptError, dumps, loads
from tests.fakes.exchanges import RECORDED, STARTED_AT, exchange_of

FIRST = '{"canary_transcript": 1, "protocol": "p", "url": "/", "started_at": "2026-01-31T12:00:00Z", "request": {}}'
HEAD = '{"at": 1, "status": 200, "headers": {"Content-Type": "text/event-stream"}}'
READ = '{"at": 2, "data": "x"}'
END = '{"at": 3, "end": "complete"}'

ENDS = [
    Completed(at=9.0),
    Truncated(at=9.0),
    Truncated(at=9.0, detail="d"),
    *[Disconnected(at=9.0, phase=phase, detail="d") for phase in Phase],
    *[DeadlineExceeded(at=9.0, phase=phase) for phase in Phase],
    *[ConnectFailed(at=9.0, phase=phase, detail="d") for phase in Phase],
    StoppedByUs(at=9.0, reason="budget"),
    StoppedByUs(at=9.0, reason=""),
    HttpRejected(at=9.0, status=400, message="m", content_type="text/html"),
    Interrupted(at=9.0, detail="d"),
]


@pytest.mark.parametrize("end", ENDS, ids=repr)
def test_every_end_survives(end):
    exchange = exchange_of(b"data", end=end)
    assert exchange == loads(dumps(exchange), source="t")


def test_the_form():
    exchange = Exchange(
        protocol="p",
        url="/v1",
        started_at=datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2))),
        request={"q": "한"},
        end=Completed(at=3.0),
        head=Head(at=0.5, status=200, headers={"a": "b"}),
        reads=(Read(at=1.0, data=b"x\n", after=0.9), Read(at=2.0, data=b"\xff")),
        tls_s=0.25,
        stamps=StampSource.KERNEL,
        loop_lag_s=0.001,
    )
    assert dumps(exchange).split("\n") == [
        (
            '{"canary_transcript": 1, "protocol": "p", "url": "/v1", "started_at": "2026-01-31T12:00:00Z", '
            '"request": {"q": "한"}, "stamps": "kernel", "tls_s": 0.25, "loop_lag_s": 0.001}'
        ),
        '{"at": 0.5, "status": 200, "headers": {"a": "b"}}',
        '{"at": 1.0, "after": 0.9, "data": "x\\n"}',
        '{"at": 2.0, "base64": "/w=="}',
        '{"at": 3.0, "end": "complete"}',
        "",
    ]
    assert exchange == loads(dumps(exchange), source="t")


def test_an_exchange_without_headers_survives():
    exchange = replace(exchange_of(b"", end=ConnectFailed(at=1.0, phase=Phase.DNS)), head=None)
    assert exchange == loads(dumps(exchange), source="t")


def test_half_a_surrogate_pair_survives():
    exchange = replace(exchange_of(b"x"), request={"q": "\ud800"})
    assert dumps(exchange).isascii()
    assert exchange == loads(dumps(exchange), source="t")


def test_lenient_reading():
    text = f"\ufeff{FIRST}\r\n\r\n{HEAD}\r\n{READ}\r\n{END}\r\n"
    exchange = loads(text, source="t")
    assert exchange.head.headers == {"content-type": "text/event-stream"}
    assert exchange.started_at == STARTED_AT


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [HEAD, '{"at": 3, "end": "reset"}'], Disconnected(at=3.0, phase=Phase.BODY), id="reset in the body"
        ),
        pytest.param(
            ['{"at": 3, "end": "reset"}'], Disconnected(at=3.0, phase=Phase.HEADERS), id="reset before headers"
        ),
        pytest.param(['{"at": 3, "end": "deadline"}'], DeadlineExceeded(at=3.0, phase=Phase.HEADERS), id="deadline"),
        pytest.param(['{"at": 3, "end": "connect_failed"}'], ConnectFailed(at=3.0, phase=Phase.CONNECT), id="connect"),
        pytest.param(
            [HEAD, '{"at": 3, "end": "stopped", "detail": "x"}'], StoppedByUs(at=3.0, reason="x"), id="stopped"
        ),
    ],
)
def test_ends_that_say_little(lines, expected):
    assert expected == loads("\n".join([FIRST, *lines]), source="t").end


WRONG = [
    pytest.param(
        [], 't:1: found no "canary_transcript" key, expected a first line {"canary_transcript": 1,', id="empty"
    ),
    pytest.param([HEAD], 't:1: found no "canary_transcript" key', id="no first line"),
    pytest.param([FIRST, "{oops"], "t:2: found text that is no JSON (", id="no JSON"),
    pytest.param([FIRST, "[1]"], "t:2: found [1], expected one JSON object a line", id="no object"),
    pytest.param(['{"canary_transcript": 2}'], 't:1: found "canary_transcript": 2, expected version 1', id="version"),
    pytest.param([FIRST, READ, END], "t:2: found data without a status line before it, expected", id="no status line"),
    pytest.param([FIRST, END], "t:2: found a complete exchange without a status line", id="complete without status"),
    pytest.param([FIRST, HEAD, HEAD, END], "t:3: found a second status line", id="two status lines"),
    pytest.param([FIRST, HEAD, READ], "t:3: found no end line after this one, expected", id="no end line"),
    pytest.param(
        [FIRST, HEAD, END, READ], "t:4: found a line after the end line, expected nothing", id="after the end"
    ),
    pytest.param(
        [FIRST, HEAD, '{"at": 3, "end": "boom"}'],
        't:3: found "end": "boom", expected one of complete, truncated, reset, deadline, connect_failed,',
        id="unknown end",
    ),
    pytest.param(
        [FIRST, HEAD, '{"at": 3, "end": 7}'], 't:3: found "end": 7, expected "end" to be text', id="end number"
    ),
    pytest.param([FIRST, HEAD, '{"at": 3, "end": "reset", "phase": "x"}'], 't:3: found "end": "reset"', id="bad phase"),
    pytest.param([FIRST, HEAD, '{"at": 3, "end": "reset", "phase": []}'], 't:3: found "end": "reset"', id="phase list"),
    pytest.param([FIRST, HEAD, '{"at": 3, "end": "truncated", "detail": 1}'], "t:3: found", id="bad detail"),
    pytest.param([FIRST, HEAD, '{"at": 3, "end": "rejected"}'], 't:3: found "end": "rejected"', id="no status of end"),
    pytest.param([FIRST, HEAD, '{"at": 3, "end": "stopped", "reason": 1}'], 't:3: found "end": "stopped"', id="reason"),
    pytest.param([FIRST, HEAD, '{"at": 0.5, "data": ""}'], 't:3: found "at": 0.5, before the 1.0', id="at goes back"),
    pytest.param([FIRST, '{"at": -1, "end": "reset"}'], 't:2: found "at": -1.0, before the 0.0', id="at negative"),
    pytest.param([FIRST, '{"at": "1"}'], 't:2: found "at": "1", expected "at" to be a number of seconds', id="at text"),
    pytest.param([FIRST, '{"at": true}'], 't:2: found "at": True', id="at bool"),
    pytest.param([FIRST, '{"at": NaN}'], 't:2: found "at": nan', id="at NaN"),
    pytest.param([FIRST, '{"end": "complete"}'], 't:2: found "at": None', id="no at"),
    pytest.param([FIRST, '{"at": 1, "x": 1}'], "t:2: found the keys at, x, expected", id="unknown line"),
    pytest.param([FIRST, '{"at": 1, "status": "200"}'], 't:2: found "status": "200"', id="status text"),
    pytest.param([FIRST, '{"at": 1, "status": true}'], 't:2: found "status": True', id="status bool"),
    pytest.param([FIRST, '{"at": 1, "status": 200, "headers": []}'], 't:2: found "headers": []', id="headers list"),
    pytest.param([FIRST, '{"at": 1, "status": 200, "headers": {"a": 1}}'], 't:2: found "headers":', id="header number"),
    pytest.param([FIRST, HEAD, '{"at": 2, "data": 1}'], 't:3: found "data": 1', id="data number"),
    pytest.param([FIRST, HEAD, '{"at": 2, "base64": "?"}'], 't:3: found "base64" that cannot be read', id="base64"),
    pytest.param(
        [FIRST, HEAD, '{"at": 2, "base64": "é"}'], 't:3: found "base64" that cannot be read', id="base64 text"
    ),
    pytest.param(
        [FIRST, HEAD, '{"at": 2, "data": "\\ud800"}'], 't:3: found "data" with half a surrogate', id="half pair"
    ),
    pytest.param(
        [FIRST, HEAD, '{"at": 2, "after": 2.5, "data": ""}'], 't:3: found "after": 2.5, later', id="after late"
    ),
    pytest.param([FIRST, HEAD, '{"at": 2, "after": "x", "data": ""}'], 't:3: found "after": "x"', id="after text"),
    pytest.param([FIRST.replace("Z", ""), HEAD, END], 't:1: found "started_at": "2026-01-31T12:00:00"', id="no zone"),
    pytest.param([FIRST.replace("2026", "x"), HEAD, END], 't:1: found "started_at": "x-01', id="no time"),
    pytest.param([FIRST.replace('"p"', "1"), HEAD, END], 't:1: found "protocol": 1', id="protocol"),
    pytest.param([FIRST.replace('"url": "/", ', ""), HEAD, END], 't:1: found "url": None', id="no url"),
    pytest.param([FIRST.replace("{}", '{}, "stamps": "x"'), HEAD, END], 't:1: found "stamps": "x"', id="stamps"),
    pytest.param([FIRST.replace("{}", '{}, "tls_s": "x"'), HEAD, END], 't:1: found "tls_s": "x"', id="tls_s"),
    pytest.param([FIRST, HEAD, '{"at": 1' + "0" * 400 + "}"], 't:3: found "at": 1000', id="at beyond floats"),
]


@pytest.mark.parametrize(("lines", "message"), WRONG)
def test_what_is_wrong_is_named(lines, message):
    with pytest.raises(TranscriptError) as caught:
        loads("\n".join(lines), source="t")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_recorded_transcripts_survive(path):
    exchange = loads(path.read_text(encoding="utf-8"), source=path.name)
    assert exchange == loads(dumps(exchange), source="again")


TEXT = st.text(max_size=20)
SECONDS = st.floats(0, 1e6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def exchanges(draw):
    stamps = sorted(draw(st.lists(SECONDS, min_size=2, max_size=8)))
    end = draw(st.sampled_from(ENDS))
    reads = tuple(
        Read(at=at, data=draw(st.binary(max_size=20) | TEXT.map(str.encode)), after=draw(st.none() | st.just(at)))
        for at in stamps[1:-1]
    )
    headers = st.dictionaries(TEXT.map(str.lower).filter(lambda name: name == name.lower()), TEXT, max_size=3)
    return Exchange(
        protocol=draw(TEXT),
        url=draw(st.text(st.characters(), max_size=9)),  # half surrogates too
        started_at=draw(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001
        request=draw(JSON),
        end=type(end)(**{name: getattr(end, name) for name in end.__slots__} | {"at": stamps[-1]}),
        head=Head(at=stamps[0], status=draw(st.integers(100, 599)), headers=draw(headers)),
        reads=reads,
        dns_s=draw(st.none() | SECONDS),
        connect_s=draw(st.none() | SECONDS),
        tls_s=draw(st.none() | SECONDS),
        stamps=draw(st.sampled_from(StampSource)),
        loop_lag_s=draw(st.none() | SECONDS),
    )


@settings(max_examples=100, deadline=None)
@given(exchanges())
def test_round_trip(exchange):
    text = dumps(exchange)
    text.encode()
    assert exchange == loads(text, source="t")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | JSON.map(json.dumps), st.integers(0, 4))
def test_any_text_is_read_or_refused(text, place):
    lines = [FIRST, HEAD, READ, END]
    lines.insert(place, text)
    with suppress(TranscriptError):
        assert isinstance(loads("\n".join(lines), source="t"), Exchange)
