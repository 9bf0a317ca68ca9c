import json

import pytest

from canary.core.observation import Completed, Head, HttpRejected, Read
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    HeadersReceived,
    Identity,
    KeepAlive,
    KeepAliveForm,
    ReasoningDelta,
    ReasoningForm,
    ReasoningPresent,
    RefusalDelta,
    Relabelled,
    Role,
    ServerError,
    TagSeen,
    Terminator,
    ToolCallDelta,
    Usage,
    UsageReport,
    Violation,
    ViolationKind,
    VisibleDelta,
)
from canary.wire import Prompt
from canary.wire.decode import decode
from canary.wire.openai_chat import Decoder, encode
from tests.fakes.exchanges import delta, exchange_of, facts, sse

E = EventReceived(at=1.0)
DONE = Terminator(at=1.0)


def reasoning(text, source="reasoning_content", **fields):
    return ReasoningDelta(at=1.0, text=text, source=source, **fields)


def visible(text, **fields):
    return VisibleDelta(at=1.0, text=text, **fields)


def flaw(kind, detail=""):
    return Violation(at=1.0, kind=kind, detail=detail)


def alive(form):
    return KeepAlive(at=1.0, form=form)


def error(message, code=None, kind=None):
    return ServerError(at=1.0, message=message, code=code, kind=kind)


def usage(**counts):
    return UsageReport(at=1.0, usage=Usage(**counts))


def said(*events):
    return [event for event in events if event is not None]


DELTAS = [
    pytest.param({"content": "a"}, [visible("a")], id="content"),
    pytest.param({"content": ""}, [], id="empty content"),
    pytest.param({"content": None}, [], id="null content"),
    pytest.param({"content": "\n\n"}, [visible("\n\n")], id="white space is kept"),
    pytest.param({"role": "assistant", "content": ""}, [Role(at=1.0, role="assistant")], id="role chunk"),
    pytest.param({"role": None, "content": None, "reasoning_content": "a"}, [reasoning("a")], id="SGLang's nulls"),
    pytest.param({"reasoning": "a"}, [reasoning("a", "reasoning")], id="reasoning"),
    pytest.param({"thinking": "a"}, [reasoning("a", "thinking")], id="thinking"),
    pytest.param({"reasoning": "a", "reasoning_content": "a"}, [reasoning("a")], id="both names are one piece"),
    pytest.param({"reasoning": "", "reasoning_content": None}, [], id="empty reasoning"),
    pytest.param({"reasoning": {"text": "a"}, "content": 7}, [], id="wrong types"),
    pytest.param({"reasoning": "a", "content": "b"}, [reasoning("a", "reasoning"), visible("b")], id="both channels"),
    pytest.param(
        {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
        [reasoning("a", "reasoning")],
        id="details beside the field are not counted twice",
    ),
    pytest.param(
        {"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.summary", "summary": "b"}]},
        [reasoning("ab", "reasoning_details")],
        id="details alone",
    ),
    pytest.param(
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xx"}]},
        [ReasoningPresent(at=1.0, source="reasoning_details")],
        id="encrypted",
    ),
    pytest.param(
        {"reasoning": "s", "reasoning_details": [{"type": "reasoning.encrypted", "data": "xx"}, 3]},
        [reasoning("s", "reasoning"), ReasoningPresent(at=1.0, source="reasoning_details")],
        id="text and encrypted",
    ),
    pytest.param(
        {"thinking_blocks": [{"type": "thinking", "thinking": "a", "signature": "s"}], "reasoning_content": "a"},
        [reasoning("a")],
        id="thinking blocks beside the field",
    ),
    pytest.param(
        {"thinking_blocks": [{"type": "thinking", "thinking": "a"}]}, [reasoning("a", "thinking_blocks")], id="blocks"
    ),
    pytest.param(
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s"}]},
        [ReasoningPresent(at=1.0, source="thinking_blocks")],
        id="omitted thinking",
    ),
    pytest.param({"thinking_blocks": [{"type": "thinking", "signature": ""}]}, [], id="an empty block"),
    pytest.param(
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"type": "thinking", "thinking": "c"},
                {"type": "thinking", "thinking": []},
                {"type": "text", "text": "d"},
                "e",
                {"type": "reference"},
                None,
            ]
        },
        [reasoning("ab", "content.thinking"), reasoning("c", "content.thinking"), visible("d"), visible("e")],
        id="Mistral's list",
    ),
    pytest.param(
        {"reasoning": "a", "content": [{"type": "thinking", "thinking": "a"}, {"type": "text", "text": "b"}]},
        [reasoning("a", "reasoning"), visible("b")],
        id="Mistral's list beside a field",
    ),
    pytest.param({"refusal": "no"}, [RefusalDelta(at=1.0, text="no")], id="refusal"),
    pytest.param(
        {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": '{"a'}}, {"index": 1}, None]},
        [ToolCallDelta(at=1.0, text="f"), ToolCallDelta(at=1.0, text='{"a')],
        id="tool calls",
    ),
    pytest.param(
        {"tool_calls": [{"custom": {"name": "f", "input": "x"}}]},
        [ToolCallDelta(at=1.0, text="f"), ToolCallDelta(at=1.0, text="x")],
        id="custom tool call",
    ),
    pytest.param({"function_call": {"arguments": "x"}}, [ToolCallDelta(at=1.0, text="x")], id="function_call"),
    pytest.param({"tool_calls": {"function": {"name": "f"}}}, [], id="tool calls of the wrong type"),
    pytest.param({}, [], id="empty delta"),
]


@pytest.mark.parametrize(("fields", "expected"), DELTAS)
def test_delta(fields, expected):
    assert [E, *expected] == facts(sse(delta(**fields)))


@pytest.mark.parametrize(("fields", "expected"), DELTAS)
def test_message_of_a_document(fields, expected):
    body = json.dumps({"choices": [{"index": 0, "message": fields}]}).encode()
    assert [E, *expected] == facts(body, content_type="application/json")


CHUNKS = [
    pytest.param({"choices": [{"index": 0}]}, [], id="no delta"),
    pytest.param({"choices": []}, [], id="no choices"),
    pytest.param({"choices": None}, [], id="null choices"),
    pytest.param({"choices": {"0": {}}}, [], id="choices of the wrong type"),
    pytest.param({"choices": ["x", 1, None]}, [], id="choices that are no objects"),
    pytest.param({}, [], id="empty object"),
    pytest.param({"choices": [], "prompt_filter_results": [{}]}, [], id="Azure's first chunk"),
    pytest.param({"choices": [{"index": 1, "delta": {"content": "x"}}]}, [], id="another choice"),
    pytest.param(
        {"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "a"}}]},
        [visible("a")],
        id="index decides, not place",
    ),
    pytest.param({"choices": [{"delta": {"content": "a"}}]}, [visible("a")], id="no index"),
    pytest.param({"choices": [{"index": True, "delta": {"content": "a"}}]}, [visible("a")], id="index no number"),
    pytest.param({"choices": [{"delta": {"content": "a\ud800b\udc00"}}]}, [visible("a\ufffdb\ufffd")], id="half pairs"),
    pytest.param({"choices": [{"finish_reason": "stop"}]}, [FinishReason(at=1.0, reason="stop")], id="finish"),
    pytest.param({"choices": [{"finish_reason": None}]}, [], id="finish null"),
    pytest.param({"choices": [{"finish_reason": "null"}]}, [], id="finish the word null"),
    pytest.param({"choices": [{"finish_reason": 3}]}, [], id="finish no text"),
    pytest.param(
        {"choices": [{"finish_reason": "error"}]},
        [FinishReason(at=1.0, reason="error"), error("finish_reason is error")],
        id="finish error",
    ),
    pytest.param(
        {"choices": [{"finish_reason": "error"}], "error": {"message": "m", "code": 502}},
        [FinishReason(at=1.0, reason="error"), error("m", "502")],
        id="finish error with an error object",
    ),
    pytest.param(
        {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
        [Role(at=1.0, role="assistant"), visible("a")],
        id="a message in a stream",
    ),
    pytest.param(
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        [usage(prompt_tokens=1, completion_tokens=2)],
        id="usage",
    ),
    pytest.param({"usage": None}, [], id="usage null"),
    pytest.param({"usage": {}}, [], id="usage empty"),
    pytest.param({"usage": {"cost": 1}}, [], id="usage without a known count"),
    pytest.param({"usage": {"completion_tokens": 0}}, [usage(completion_tokens=0)], id="usage zero"),
    pytest.param(
        {"usage": {"completion_tokens": None, "completion_tokens_details": None}},
        [usage(nulls=frozenset({"completion_tokens", "completion_tokens_details"}))],
        id="usage nulls",
    ),
    pytest.param(
        {"usage": {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4, "text_tokens": 5}}},
        [usage(completion_tokens=9, reasoning_tokens=4, text_tokens=5)],
        id="usage details",
    ),
    pytest.param(
        {"usage": {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": None}}},
        [usage(completion_tokens=9, nulls=frozenset({"reasoning_tokens"}))],
        id="reasoning tokens null",
    ),
    pytest.param(
        {"usage": {"input_tokens": 1, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 0}}},
        [usage(prompt_tokens=1, completion_tokens=9, reasoning_tokens=0)],
        id="output_tokens_details",
    ),
    pytest.param(
        {"usage": {"completion_tokens": 9, "reasoning_tokens": 4}},
        [usage(completion_tokens=9, reasoning_tokens=4)],
        id="SGLang's reasoning tokens",
    ),
    pytest.param({"x_groq": {"usage": {"completion_tokens": 9}}}, [usage(completion_tokens=9)], id="x_groq"),
    pytest.param(
        {"choices": [{"delta": {}, "usage": {"completion_tokens": 9}}]},
        [usage(completion_tokens=9)],
        id="in the choice",
    ),
    pytest.param(
        {"usage": {"prompt_tokens": -1, "completion_tokens": True, "reasoning_tokens": 10**30}}, [], id="usage garbage"
    ),
    pytest.param(
        {"usage": {"prompt_tokens": 3.0, "completion_tokens": 2.5}}, [usage(prompt_tokens=3)], id="usage as floats"
    ),
    pytest.param({"error": {"message": "m", "type": "t", "code": 400}}, [error("m", "400", "t")], id="error object"),
    pytest.param({"error": {"message": "m", "type": None, "code": "500"}}, [error("m", "500")], id="error, text code"),
    pytest.param({"error": "text"}, [error("text")], id="error text"),
    pytest.param(
        {"error": {"code": 1.5, "x": []}}, [error('{"error": {"code": 1.5, "x": []}}')], id="error unreadable"
    ),
    pytest.param({"error": None}, [], id="error null"),
    pytest.param({"error": True, "message": "m", "code": 7}, [error("m", "7")], id="error true"),
    pytest.param({"status": 500, "error": "Bad", "message": "m"}, [error("Bad: m")], id="error beside message"),
    pytest.param({"type": "error", "error": {"type": "t", "message": "m"}}, [error("m", kind="t")], id="Anthropic's"),
    pytest.param({"type": "error", "message": "m"}, [error("m", kind="error")], id="type error"),
    pytest.param({"object": "error", "message": "m", "code": 4}, [error("m", "4")], id="object error"),
    pytest.param({"status": "error", "message": "m"}, [error("m", "error", "error")], id="status error"),
    pytest.param({"detail": "d"}, [error("d")], id="detail"),
    pytest.param({"detail": {"error": {"message": "m"}}}, [error("m")], id="detail object"),
    pytest.param(
        {"detail": [{"loc": ["body", "n", 0], "msg": "bad"}, {"msg": "worse"}, {"loc": 1}]},
        [error("body.n.0: bad; worse")],
        id="FastAPI's list",
    ),
    pytest.param({"code": "X", "message": "m"}, [error("m", "X")], id="code and message"),
    pytest.param({"code": 200, "message": "ok"}, [], id="a fine code"),
    pytest.param({"x_groq": {"error": "e"}, "choices": []}, [error("e")], id="x_groq error"),
    pytest.param(
        {"choices": [{"delta": {"content": "a"}}], "error": {"code": "x", "message": "m"}},
        [visible("a"), error("m", "x")],
        id="error beside choices",
    ),
    pytest.param({"choices": [{"error": {"message": "m"}}]}, [error("m")], id="error in the choice"),
    pytest.param({"type": "keepalive", "n": 1}, [alive(KeepAliveForm.PING_EVENT)], id="keepalive"),
    pytest.param({"event": "ping"}, [alive(KeepAliveForm.PING_EVENT)], id="event ping inside"),
]


@pytest.mark.parametrize(("chunk", "expected"), CHUNKS)
def test_chunk(chunk, expected):
    assert [E, *expected] == facts(sse(json.dumps(chunk)))


FRAMES = [
    pytest.param(b"data: [DONE]\n\n", [E, DONE], id="done"),
    pytest.param(b"data: [DONE]  \n\n", [E, DONE], id="done with spaces"),
    pytest.param(b"data:[DONE]\n\n", [E, DONE], id="done without space"),
    pytest.param(b": x\ndata: [DONE]\n\n", [alive(KeepAliveForm.COMMENT), E, DONE], id="comment right before done"),
    pytest.param(
        b"data: [DONE]", [flaw(ViolationKind.MISSING_FINAL_BLANK_LINE), E, DONE], id="done without a line end"
    ),
    pytest.param(b"data: [DON", [flaw(ViolationKind.MISSING_FINAL_BLANK_LINE)], id="cut in done"),
    pytest.param(b'data: {"choices"', [flaw(ViolationKind.MISSING_FINAL_BLANK_LINE)], id="cut in an event"),
    pytest.param(
        sse(delta(content="a"))[:-1],
        [flaw(ViolationKind.MISSING_FINAL_BLANK_LINE), E, visible("a")],
        id="no final blank line",
    ),
    pytest.param(
        sse("[DONE]", delta(content="x"), "[DONE]"),
        [E, DONE, E, flaw(ViolationKind.DATA_AFTER_TERMINATOR, json.dumps(delta(content="x"))), E],
        id="data after done",
    ),
    pytest.param(b": ping\n\n", [alive(KeepAliveForm.COMMENT)], id="comment"),
    pytest.param(b"\n", [alive(KeepAliveForm.BLANK)], id="blank line"),
    pytest.param(b"data: [DONE]\n\n\n", [E, DONE, alive(KeepAliveForm.BLANK)], id="blank line after"),
    pytest.param(
        b"event: ping\n\n",
        [alive(KeepAliveForm.EMPTY_EVENT), flaw(ViolationKind.EVENT_WITHOUT_DATA, "ping")],
        id="event without data",
    ),
    pytest.param(
        b"retry: 1\n\n",
        [alive(KeepAliveForm.EMPTY_EVENT), flaw(ViolationKind.EVENT_WITHOUT_DATA, "retry")],
        id="retry without data",
    ),
    pytest.param(
        b"data: : OPENROUTER PROCESSING\n\ndata: [DONE]\n\n",
        [
            E,
            alive(KeepAliveForm.WRAPPED_COMMENT),
            flaw(ViolationKind.KEEPALIVE_AS_DATA, ": OPENROUTER PROCESSING"),
            E,
            DONE,
        ],
        id="wrapped comment",
    ),
    pytest.param(
        b"data: keep-alive\n\n",
        [E, alive(KeepAliveForm.WRAPPED_COMMENT), flaw(ViolationKind.KEEPALIVE_AS_DATA, "keep-alive")],
        id="a bare word",
    ),
    pytest.param(b"event: ping\ndata: {}\n\n", [E, alive(KeepAliveForm.PING_EVENT)], id="ping with data"),
    pytest.param(b"event: ping\ndata: now\n\n", [E, alive(KeepAliveForm.PING_EVENT)], id="ping with text"),
    pytest.param(b"event: ping\ndata: \n\n", [E, alive(KeepAliveForm.PING_EVENT)], id="ping with empty data"),
    pytest.param(b"event: error\ndata: {}\n\n", [E, error("{}")], id="error event, empty object"),
    pytest.param(b'event: error\ndata: {"message": "m"}\n\n', [E, error("m")], id="error event, message"),
    pytest.param(b'event: error\ndata: {"error": {"message": "m"}}\n\n', [E, error("m")], id="error event, object"),
    pytest.param(b"event: error\ndata: went wrong\n\n", [E, error("went wrong")], id="error event, text"),
    pytest.param(b"data: hello\n\n", [E, flaw(ViolationKind.NOT_JSON, "hello")], id="no JSON"),
    pytest.param(b"data\n\n", [E, flaw(ViolationKind.NOT_JSON)], id="empty data"),
    pytest.param(b"data: {} {}\n\n", [E, flaw(ViolationKind.NOT_JSON, "{} {}")], id="two values in one event"),
    pytest.param(b"data: [1]\n\n", [E, flaw(ViolationKind.NOT_AN_OBJECT, "[1]")], id="a list"),
    pytest.param(b"data: null\n\n", [E, flaw(ViolationKind.NOT_AN_OBJECT, "null")], id="null"),
    pytest.param(
        b': x\n\n{"error": {"message": "m"}}\n{"error": "again"}\n',
        [alive(KeepAliveForm.COMMENT), flaw(ViolationKind.NOT_JSON, "a line outside any event"), error("m")],
        id="an error without framing",
    ),
    pytest.param(
        b'error: {"code": 500, "message": "m", "type": "server_error"}\n\n',
        [
            flaw(ViolationKind.NOT_JSON, "a line outside any event"),
            ServerError(at=1.0, message="m", code="500", kind="server_error"),
        ],
        id="a field called error, as of older llama.cpp",
    ),
    pytest.param(
        b'error: {"message": "m"}\n\n',
        [flaw(ViolationKind.NOT_JSON, "a line outside any event"), error("m")],
        id="and without a code",
    ),
    pytest.param(
        b": x\n\n<html><title>502 Bad Gateway</title>\n</html>\n",
        [
            alive(KeepAliveForm.COMMENT),
            flaw(ViolationKind.NOT_JSON, "a line outside any event"),
            error("502 Bad Gateway"),
        ],
        id="a page without framing",
    ),
    pytest.param(b": x\n\n{oops\n<b>\nfoo\n{}\n", [alive(KeepAliveForm.COMMENT)], id="other lines are ignored"),
    pytest.param(
        b": x\ndata: \xff\n\n",
        [
            alive(KeepAliveForm.COMMENT),
            flaw(ViolationKind.INVALID_UTF8, "invalid start byte"),
            E,
            flaw(ViolationKind.NOT_JSON, "\ufffd"),
        ],
        id="invalid UTF-8",
    ),
]


@pytest.mark.parametrize(("body", "expected"), FRAMES)
def test_frame(body, expected):
    assert expected == facts(body)


def answer(**message):
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


STOP = FinishReason(at=1.0, reason="stop")
PAGE = b"<!DOCTYPE html><html><head><TITLE>504 Gateway\n Time-out</TITLE></head><body>x</body></html>"

BODIES = [
    pytest.param(answer(content="a"), "application/json", 200, [E, visible("a"), STOP], id="document"),
    pytest.param(
        b"\n\r\n\n" + answer(content="a"),
        "application/json",
        200,
        [*[alive(KeepAliveForm.BLANK)] * 3, E, visible("a"), STOP],
        id="document after blank lines",
    ),
    pytest.param(b"\xef\xbb\xbf" + answer(content="a"), "", 200, [E, visible("a"), STOP], id="document with a BOM"),
    pytest.param(
        answer(content="a"),
        "text/event-stream; charset=utf-8",
        200,
        [flaw(ViolationKind.JSON_FOR_STREAM), E, visible("a"), STOP],
        id="document for a stream",
    ),
    pytest.param(
        b'{"error": {"message": "m"}}', "text/event-stream", 400, [E, error("m")], id="error document for a stream"
    ),
    pytest.param(sse("[DONE]"), "application/json", 200, [E, DONE], id="stream for a document"),
    pytest.param(sse("[DONE]"), "", 200, [E, DONE], id="stream without a type"),
    pytest.param(b": x\n\n", "text/plain", 200, [alive(KeepAliveForm.COMMENT)], id="comment under text/plain"),
    pytest.param(
        b"\r\n \n data: x\n\ndata: [DONE]\n\n",
        "text/event-stream",
        200,
        [*[alive(KeepAliveForm.BLANK)] * 2, E, DONE],
        id="an indented field is unknown",
    ),
    pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", "text/event-stream", 200, [], id="only one BOM is one"),
    pytest.param(
        b"\xef\xbb",
        "text/event-stream",
        200,
        [flaw(ViolationKind.INVALID_UTF8, "unexpected end of data")],
        id="half a BOM",
    ),
    pytest.param(b"dat", "", 200, [flaw(ViolationKind.NOT_JSON, "dat")], id="too short to tell"),
    pytest.param(b"dat", "text/event-stream", 200, [], id="a cut field name"),
    pytest.param(b"", "text/event-stream", 200, [], id="nothing"),
    pytest.param(b"  ", "", 200, [], id="white space"),
    pytest.param(b'{"choices": [', "application/json", 200, [flaw(ViolationKind.NOT_JSON, '{"choices": [')], id="cut"),
    pytest.param(
        b'{"error": "m"}\n\ndata: [DONE]\n\n',
        "text/event-stream",
        200,
        [flaw(ViolationKind.JSON_FOR_STREAM), flaw(ViolationKind.NOT_JSON, "data: [DONE]"), E, error("m")],
        id="bare error, then frames",
    ),
    pytest.param(b"null", "application/json", 200, [flaw(ViolationKind.NOT_AN_OBJECT, "null"), E], id="null document"),
    pytest.param(
        b'"x"', "application/json", 500, [flaw(ViolationKind.NOT_AN_OBJECT, '"x"'), E, error('"x"')], id="text document"
    ),
    pytest.param(
        b'[{"error": {"code": 400, "message": "m", "status": "INVALID"}}]',
        "application/json",
        400,
        [
            flaw(ViolationKind.NOT_AN_OBJECT, '[{"error": {"code": 400, "message": "m", "status": "INVALID"}}]'),
            E,
            error("m", "400", "INVALID"),
        ],
        id="Google's list",
    ),
    pytest.param(b'{"message": "no key"}', "application/json", 401, [E, error("no key")], id="a message alone"),
    pytest.param(b'{"a": 1}', "application/json", 418, [E, error('{"a": 1}')], id="an unknown error body"),
    pytest.param(b"{oops", "application/json", 500, [error("{oops")], id="error body that is no JSON"),
    pytest.param(PAGE, "text/html", 504, [error("504 Gateway Time-out")], id="page of a proxy"),
    pytest.param(PAGE, "text/event-stream", 200, [error("504 Gateway Time-out")], id="page in a 200"),
    pytest.param(b"<html><body><h1>Down &amp; out</h1></body>", "text/html", 502, [error("Down & out")], id="no title"),
    pytest.param(b"<title></title>x", "text/html", 502, [error("x")], id="empty title"),
    pytest.param(b"upstream connect error", "text/plain", 503, [error("upstream connect error")], id="plain error"),
    pytest.param(b"caf\xe9", "text/plain", 503, [error("caf\ufffd")], id="plain error in another encoding"),
    pytest.param(b"hello", "text/plain", 200, [flaw(ViolationKind.NOT_JSON, "hello")], id="plain text"),
    pytest.param(
        b'{"error": "\xff"}',
        "application/json",
        500,
        [flaw(ViolationKind.INVALID_UTF8, "invalid start byte"), E, error("\ufffd")],
        id="document with invalid UTF-8",
    ),
    pytest.param(b"", "text/plain", 500, [], id="empty error body"),
]


@pytest.mark.parametrize(("body", "content_type", "status", "expected"), BODIES)
def test_body(body, content_type, status, expected):
    assert expected == facts(body, content_type=content_type, status=status)


@pytest.mark.parametrize(("body", "content_type", "status", "expected"), BODIES)
def test_body_byte_by_byte(body, content_type, status, expected):
    exchange = exchange_of(body, content_type=content_type, status=status, cuts=range(1, len(body)))
    events = [e for e in decode(exchange).events if not isinstance(e, HeadersReceived | BytesReceived)]
    assert [(type(e), getattr(e, "detail", None)) for e in expected] == [
        (type(e), getattr(e, "detail", None)) for e in events
    ]


def test_all_of_a_read_carries_its_stamp_and_bytes_come_first():
    body = sse({"model": "m", **delta(content="a")}, "[DONE]")
    cut = len(sse({"model": "m", **delta(content="a")}))
    assert (
        HeadersReceived(at=0.5, status=200),
        BytesReceived(at=1.0, size=cut),
        EventReceived(at=1.0),
        Identity(at=1.0, model="m"),
        VisibleDelta(at=1.0, text="a"),
        BytesReceived(at=2.0, size=len(body) - cut),
        EventReceived(at=2.0),
        Terminator(at=2.0),
    ) == decode(exchange_of(body, cuts=[cut])).events


def test_what_the_end_reveals_carries_the_stamp_of_the_last_read():
    late = Completed(at=60.0)
    assert [E, visible("a ", tokens=None), visible("<")] == facts(sse(delta(content="a <")), end=late)
    assert facts(answer(content="a"), content_type="application/json", end=late)[0].at == 1.0
    assert facts(sse(delta(content="a"))[:-1], end=late)[1].at == 1.0


def test_a_decoder_that_got_nothing_ends_at_the_end():
    assert Decoder().close(3.0) == []
    assert Decoder().feed(Read(at=1.0, data=b"")) == []


def test_a_decoder_without_headers_still_reads():
    decoder = Decoder()
    assert BytesReceived(at=1.0, size=14) == decoder.feed(Read(at=1.0, data=sse("[DONE]")))[0]


def test_identity_is_told_when_it_changes():
    chunks = [{"model": "a"}, {"model": "a"}, {"system_fingerprint": "f"}, {"model": "b"}, {"model": 3}]
    seen = [e for e in decode(exchange_of(sse(*chunks))).events if isinstance(e, Identity)]
    assert [
        Identity(at=1.0, model="a"),
        Identity(at=1.0, model="a", system_fingerprint="f"),
        Identity(at=1.0, model="b", system_fingerprint="f"),
    ] == seen


def test_a_final_message_does_not_repeat_the_deltas():
    chunks = [delta(content="a"), {"choices": [{"delta": {}, "message": {"content": "a"}, "finish_reason": "stop"}]}]
    assert [E, visible("a"), E, STOP] == facts(sse(*chunks))


def test_a_message_after_a_role_alone_counts():
    chunks = [delta(role="assistant"), {"choices": [{"message": {"content": "a"}}]}]
    assert [E, Role(at=1.0, role="assistant"), E, visible("a")] == facts(sse(*chunks))


def test_held_text_comes_before_the_finish_reason_and_the_terminator():
    assert [E, visible("a "), E, visible("<"), STOP] == facts(sse(delta(content="a <"), delta("stop")))
    assert [E, visible("a "), visible("<"), E, DONE] == facts(sse(delta(content="a <"), "[DONE]"))


def test_tags_over_chunks():
    chunks = [delta(content=piece) for piece in ("<thi", "nk>a", "</th", "ink>", "b")]
    inline = {"source": "<think>", "form": ReasoningForm.INLINE_TAGS}
    tags = [TagSeen(at=1.0, tag="<think>"), reasoning("a", **inline), TagSeen(at=1.0, tag="</think>"), visible("b")]
    assert tags == [event for event in facts(sse(*chunks)) if event != E]


def test_a_closer_after_a_reasoning_field_is_stray():
    events = facts(sse(delta(reasoning="r"), delta(content="a</think>b")))
    assert [TagSeen(at=1.0, tag="</think>", stray=True)] == [e for e in events if isinstance(e, TagSeen | Relabelled)]
    hidden = delta(reasoning_details=[{"data": "x"}])
    events = facts(sse(hidden, delta(content="a</think>b")))
    assert [TagSeen(at=1.0, tag="</think>", stray=True)] == [e for e in events if isinstance(e, TagSeen | Relabelled)]


def test_an_opener_after_a_tool_call():
    chunks = [delta(content="x <"), delta(tool_calls=[{"function": {"name": "f"}}]), delta(content="<think>a")]
    kinds = [type(e) for e in facts(sse(*chunks)) if not isinstance(e, EventReceived)]
    assert [VisibleDelta, VisibleDelta, ToolCallDelta, TagSeen, ReasoningDelta] == kinds


@pytest.mark.parametrize("field", ["content", "reasoning_content", "refusal"])
def test_a_surrogate_pair_over_two_chunks(field):
    events = facts(sse(delta(**{field: "a\ud83d"}), delta(**{field: "\ude00b"}), delta(**{field: "\ud83d"})))
    assert [event.text for event in events if hasattr(event, "text")] == ["a", "😀b"]


def tokens(*chunks):
    events = facts(sse(*chunks))
    names = {ReasoningDelta: "r", VisibleDelta: "v", ToolCallDelta: "t"}
    return [(names[type(e)], e.tokens) for e in events if type(e) in names]


def ids(count, **fields):
    chunk = delta(**fields)
    chunk["choices"][0]["token_ids"] = list(range(count))
    return chunk


def running(total, thought=None, **fields):
    details = {} if thought is None else {"completion_tokens_details": {"reasoning_tokens": thought}}
    return {**delta(**fields), "usage": {"completion_tokens": total, **details}}


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([delta(content="a")], [("v", None)], id="nothing told"),
        pytest.param([ids(2, reasoning="a"), ids(3, content="b")], [("r", 2), ("v", 3)], id="token ids"),
        pytest.param([ids(1), ids(2, content="b")], [("v", 3)], id="tokens without text go to the next text"),
        pytest.param([ids(1, content="a<"), ids(1, content="x")], [("v", 1), ("v", 1)], id="text held back"),
        pytest.param(
            [ids(3, reasoning="a", content="b"), ids(1, content="c")],
            [("r", None), ("v", None), ("v", 1)],
            id="ids of two channels",
        ),
        pytest.param(
            [ids(4, content="<think>a"), ids(3, content="</think>b</think>c")],
            [("r", 4), ("v", 3), ("v", 0)],
            id="several deltas of one chunk",
        ),
        pytest.param(
            [running(0, role="assistant"), running(2, reasoning="a"), running(5, content="b")],
            [("r", 2), ("v", 3)],
            id="running usage by channel",
        ),
        pytest.param(
            [running(2, 2, reasoning="a"), running(3, 3, reasoning="b"), running(5, 3, content="c")],
            [("r", 2), ("r", 1), ("v", 2)],
            id="running reasoning tokens",
        ),
        pytest.param(
            [running(5, 3, reasoning="a", content="b"), running(6, 3, content="c")],
            [("r", 3), ("v", 2), ("v", 1)],
            id="running reasoning tokens, one chunk of two channels",
        ),
        pytest.param(
            [running(5, 3, reasoning="a", content="b", tool_calls=[{"function": {"name": "f"}}])],
            [("r", 3), ("v", None), ("t", None)],
            id="three channels",
        ),
        pytest.param(
            [running(5, reasoning="a", content="b"), running(6, content="c")],
            [("r", None), ("v", None), ("v", None)],
            id="a total of two channels",
        ),
        pytest.param(
            [running(3, 0, content="<think>a"), running(5, 0, content="b")],
            [("r", 3), ("r", 2)],
            id="a reported 0 beside reasoning is no count",
        ),
        pytest.param(
            [delta(content="a"), running(9, content="b")],
            [("v", None), ("v", None)],
            id="a final report is no running one",
        ),
        pytest.param([running(0, content="a"), running(0, content="b")], [("v", None), ("v", None)], id="zeros"),
        pytest.param(
            [running(5, content="a"), running(3, content="b"), running(9, content="c")],
            [("v", 5), ("v", None), ("v", None)],
            id="a total that falls",
        ),
        pytest.param(
            [running(5, 5, reasoning="a"), running(6, 4, reasoning="b"), running(9, 9, reasoning="c")],
            [("r", 5), ("r", None), ("r", None)],
            id="reasoning that falls",
        ),
        pytest.param(
            [
                {
                    **delta(content="a"),
                    "usage": {"completion_tokens": 5, "completion_tokens_details": {"text_tokens": 5}},
                }
            ],
            [("v", None)],
            id="made up by a gateway",
        ),
        pytest.param(
            [running(1, content="a <"), {**delta("stop"), "usage": {"completion_tokens": 2}}],
            [("v", 1), ("v", 1)],
            id="text held back to the finish",
        ),
    ],
)
def test_tokens(chunks, expected):
    assert expected == tokens(*chunks)


def test_a_document_tells_no_tokens_of_its_deltas():
    body = json.dumps({"choices": [{"message": {"content": "a"}, "token_ids": [1]}], "usage": {"completion_tokens": 1}})
    assert [E, visible("a"), usage(completion_tokens=1)] == facts(body.encode(), content_type="application/json")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("[" * 100_000, id="nested lists"),
        pytest.param('{"a":' * 100_000, id="nested objects"),
        pytest.param('{"usage": {"completion_tokens": ' + "9" * 5000 + "}}", id="a huge number"),
        pytest.param('{"usage": {"completion_tokens": 1e999, "prompt_tokens": NaN}}', id="infinite and NaN"),
        pytest.param('{"error": {"message": "' + "x" * 5000 + '"}}', id="a long message"),
    ],
)
def test_json_beyond_reason(data):
    events = facts(sse(data))
    assert [EventReceived(at=1.0)] == events[:1]
    assert all(len(getattr(e, "detail", "") + getattr(e, "message", "")) <= 500 for e in events)
    assert facts(data.encode(), content_type="application/json") is not None


def test_a_document_too_long_is_dropped():
    body = b'{"a": "' + b"x" * (9 * 2**20) + b'"}'
    kinds = [e.kind for e in facts(body, content_type="application/json", cuts=[100]) if isinstance(e, Violation)]
    assert kinds == [ViolationKind.EVENT_TOO_LONG]


def test_a_page_too_long_is_cut():
    events = facts(b"<html>" + b"x" * 100_000, content_type="text/html", cuts=[50_000])
    assert len(events[0].message) == 500


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        pytest.param(
            {},
            {"stream": True, "stream_options": {"include_usage": True}},
            id="plain",
        ),
        pytest.param({"stream": False}, {"stream": False}, id="document"),
        pytest.param(
            {"max_tokens": 5, "temperature": 0.0, "stream": False},
            {"stream": False, "max_tokens": 5, "temperature": 0.0},
            id="settings",
        ),
        pytest.param(
            {"extra": {"stream_options": {"continuous_usage_stats": True}, "thinking": {"type": "enabled"}}},
            {
                "stream": True,
                "stream_options": {"include_usage": True, "continuous_usage_stats": True},
                "thinking": {"type": "enabled"},
            },
            id="extra adds",
        ),
        pytest.param(
            {"extra": {"stream": False, "stream_options": None}},
            {"stream": False, "stream_options": None},
            id="extra wins",
        ),
    ],
)
def test_encode(prompt, expected):
    body = encode(Prompt(model="m", text="q", **prompt))
    assert {"model": "m", "messages": [{"role": "user", "content": "q"}], **expected} == body


def test_a_rejection_names_its_reason():
    exchange = exchange_of(b'{"error": {"message": "m"}}', content_type="application/json", status=400)
    expected = HttpRejected(at=2.0, status=400, message="m", content_type="application/json")
    assert expected == decode(exchange).end


def test_head_names_the_status():
    assert [HeadersReceived(at=1.0, status=503)] == Decoder().head(Head(at=1.0, status=503, headers={}))
