import pytest

from canary.core.stream import Violation, ViolationKind
from canary.wire.sse import SseBlankLine, SseComment, SseDecoder, SseEmptyEvent, SseEvent, SseUnknownLine


def decoded(*chunks, limit=8 * 2**20):
    """Items of chunks that arrive at 1.0, 2.0, …; the end comes at 99.0."""
    decoder = SseDecoder(limit=limit)
    items = [item for at, chunk in enumerate(chunks, start=1) for item in decoder.feed(chunk, float(at))]
    return items + decoder.close(99.0)


def event(data, at=1.0, **fields):
    return SseEvent(at=at, data=data, **fields)


def flaw(kind, at=1.0, detail=""):
    return Violation(at=at, kind=kind, detail=detail)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"data: a\n\n", [event("a")], id="LF"),
        pytest.param(b"data: a\r\n\r\n", [event("a")], id="CRLF"),
        pytest.param(b"data: a\r\r", [event("a")], id="CR"),
        pytest.param(b"data: a\r\n\rdata: b\n\r\n", [event("a"), event("b")], id="mixed line ends"),
        pytest.param(b"data:a\n\n", [event("a")], id="no space"),
        pytest.param(b"data:  a\n\n", [event(" a")], id="one space only is dropped"),
        pytest.param(b"data\n\n", [event("")], id="data without a colon"),
        pytest.param(b"data:\n\n", [event("")], id="empty data is dispatched"),
        pytest.param(b"data: a\ndata: b\ndata\n\n", [event("a\nb\n")], id="lines are joined"),
        pytest.param(b"data: a:b\n\n", [event("a:b")], id="only the first colon counts"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [event("a")], id="BOM at the start"),
        pytest.param(
            b"data: a\n\n\xef\xbb\xbfdata: b\n\n",
            [event("a"), SseUnknownLine(at=1.0, line="\ufeffdata: b")],
            id="BOM later is part of a name",
        ),
        pytest.param(
            b"event: e\nid: 7\nretry: 10\ndata: a\n\n", [event("a", event="e", id="7", retry_ms=10)], id="all"
        ),
        pytest.param(b"id: 7\ndata: a\n\ndata: b\n\n", [event("a", id="7"), event("b", id="7")], id="id stays"),
        pytest.param(b"id: 7\ndata: a\n\nid\ndata: b\n\n", [event("a", id="7"), event("b")], id="empty id resets"),
        pytest.param(b"id: 7\0\ndata: a\n\n", [event("a")], id="id with NUL is ignored"),
        pytest.param(b"retry: 1s\ndata: a\n\n", [event("a")], id="retry must be digits"),
        pytest.param("retry: ²\ndata: a\n\n".encode(), [event("a")], id="retry must be ASCII digits"),
        pytest.param(b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [event("a")], id="retry beyond reason"),
        pytest.param(b"event: e\ndata: a\n\ndata: b\n\n", [event("a", event="e"), event("b")], id="type does not stay"),
        pytest.param(b"event: ping\n\n", [SseEmptyEvent(at=1.0, event="ping", fields=("event",))], id="no data"),
        pytest.param(b"retry: 3\nid: 1\n\n", [SseEmptyEvent(at=1.0, fields=("retry", "id"))], id="retry and id only"),
        pytest.param(b": ping\n\n", [SseComment(at=1.0, text="ping")], id="comment"),
        pytest.param(b":\n", [SseComment(at=1.0, text="")], id="bare colon"),
        pytest.param(b": x\ndata: a\n\n", [SseComment(at=1.0, text="x"), event("a")], id="comment in a block"),
        pytest.param(b"\n\ndata: a\n\n\n", [*[SseBlankLine(at=1.0)] * 2, event("a"), SseBlankLine(at=1.0)], id="blank"),
        pytest.param(
            b"foo: 1\n data: b\ndata: a\n\n",
            [SseUnknownLine(at=1.0, line="foo: 1"), SseUnknownLine(at=1.0, line=" data: b"), event("a")],
            id="unknown fields",
        ),
        pytest.param(
            b"data: \xff\n\n",
            [flaw(ViolationKind.INVALID_UTF8, detail="invalid start byte"), event("\ufffd")],
            id="invalid UTF-8",
        ),
        pytest.param("data: 한국\n\n".encode(), [event("한국")], id="UTF-8"),
    ],
)
def test_grammar(body, expected):
    assert expected == decoded(body)


def stampless(items):
    return [type(item)(**{name: getattr(item, name) for name in item.__slots__} | {"at": 0.0}) for item in items]


BODY = "\ufeff: hi\r\nid: 1\rdata: 한\ndata: é\r\n\r\nevent: ping\n\n\r\n\rdata: x\r\r\n: bye\n\ndata:last".encode()


def test_any_one_cut_gives_the_same_items():
    whole = stampless(decoded(BODY))
    for cut in range(len(BODY) + 1):
        assert whole == stampless(decoded(BODY[:cut], BODY[cut:])), cut


def test_byte_by_byte_gives_the_same_items():
    assert stampless(decoded(BODY)) == stampless(decoded(*(BODY[i : i + 1] for i in range(len(BODY)))))


def test_a_read_that_ends_in_cr_dispatches_at_once():
    assert [event("a", at=1.0), event("b", at=3.0)] == decoded(b"data: a\r\r", b"\n", b"data: b\n\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b"data: a", [event("a", at=99.0, complete=False)], id="no newline"),
        pytest.param(b"data: a\n", [event("a", at=99.0, complete=False)], id="no blank line"),
        pytest.param(b"event: a\n", [], id="no data"),
    ],
)
def test_unfinished_events_are_flushed_and_flagged(body, expected):
    assert [flaw(ViolationKind.MISSING_FINAL_BLANK_LINE, at=99.0), *expected] == decoded(body)


@pytest.mark.parametrize("body", [b"", b"\n", b": x", b"data: a\n\n", b"foo"])
def test_nothing_is_flagged_where_no_event_was_begun(body):
    assert not [item for item in decoded(body) if isinstance(item, Violation)]


LONG = flaw(ViolationKind.EVENT_TOO_LONG, detail="more than 16 bytes")


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"data: " + b"x" * 20 + b"\n\ndata: a\n\n"], [LONG, event("a")], id="a line in one read"),
        pytest.param([b"data: x"] * 9 + [b"\n\n"], [flaw(LONG.kind, at=10.0, detail=LONG.detail)], id="in many reads"),
        pytest.param([b"data: 12345678\n" * 3 + b"\ndata: a\n\n"], [LONG, event("a")], id="an event of many lines"),
    ],
)
def test_what_is_too_long_is_dropped_and_flagged(chunks, expected):
    assert expected == decoded(*chunks, limit=16)


def test_what_is_too_long_at_the_end_is_flagged():
    kinds = [item.kind for item in decoded(b"data: " + b"x" * 20, limit=16)]
    assert kinds == [ViolationKind.MISSING_FINAL_BLANK_LINE, ViolationKind.EVENT_TOO_LONG]


def test_a_line_that_never_ends_takes_no_memory():
    decoder = SseDecoder(limit=1000)
    for _ in range(100):
        decoder.feed(b"x" * 999, 1.0)
    assert len(decoder._line) <= 1000
