"""What every row of WIRES promises; a new row is tested the moment it is added."""

import json
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canary.core.observation import Head, Read
from canary.core.stream import BytesReceived, HeadersReceived
from canary.wire import WIRES, Prompt
from canary.wire.decode import decode
from tests.fakes.exchanges import RECORDED, cut_again, recorded

NAMES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))
SMALL = [name for name in NAMES if (RECORDED / f"{name}.jsonl").stat().st_size < 30_000]
PROTOCOLS = sorted(WIRES)
BYTES = [
    b"data: ",
    b"\n",
    b"\r",
    b"\n\n",
    b":",
    b"{",
    b"}",
    b'"',
    b"[DONE]",
    b"\xff",
    b"\xef\xbb\xbf",
    b"event: ",
    b'{"choices":[{"delta":{"content":"<think>',
    b'"}}]}',
    b"null",
    b'{"error":',
    b'"usage":',
    b"[",
    b"]",
    b" ",
    b"<",
]


@cache
def body_of(name):
    return b"".join(read.data for read in recorded(name).reads)


@cache
def expected_of(name):
    return said(recorded(name))


def said(exchange):
    """The events without stamps and without what follows the reads."""
    return [
        [type(event), *(getattr(event, name) for name in type(event).__slots__ if name != "at")]
        for event in decode(exchange).events
        if not isinstance(event, BytesReceived)
    ]


def run(protocol, chunks, *, status=200, content_type="text/event-stream"):
    decoder = WIRES[protocol].decoder()
    events = decoder.head(Head(at=0.0, status=status, headers={"content-type": content_type}))
    for at, chunk in enumerate(chunks, start=1):
        events += decoder.feed(Read(at=float(at), data=chunk))
    return events + decoder.close(len(chunks) + 1.0)


def test_there_are_recordings():
    assert len(NAMES) > 30


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_encode_makes_json(protocol):
    prompt = Prompt(model="m", text="q", max_tokens=5, temperature=0.0, extra={"x": {"y": 1}})
    body = WIRES[protocol].encode(prompt)
    assert body["model"] == "m"
    assert body["x"] == {"y": 1}
    assert body == json.loads(json.dumps(body))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_silence_says_nothing(protocol):
    assert [HeadersReceived(at=0.0, status=200)] == run(protocol, [])


@pytest.mark.parametrize("name", SMALL)
def test_byte_by_byte_says_the_same(name):
    exchange = recorded(name)
    assert expected_of(name) == said(cut_again(exchange, range(len(body_of(name)))))


@pytest.mark.parametrize("name", NAMES)
def test_in_one_read_it_says_the_same(name):
    assert expected_of(name) == said(cut_again(recorded(name), []))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_chunking_says_the_same(data):
    name = data.draw(st.sampled_from(SMALL))
    size = len(body_of(name))
    cuts = data.draw(st.lists(st.integers(0, size), max_size=40))
    assert expected_of(name) == said(cut_again(recorded(name), cuts))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chunks=st.lists(st.binary(max_size=30) | st.lists(st.sampled_from(BYTES), max_size=12).map(b"".join), max_size=6),
    status=st.sampled_from([200, 204, 400, 503]),
    content_type=st.sampled_from(["text/event-stream", "application/json", "text/html", "", "\0"]),
)
def test_any_bytes_are_read(protocol, chunks, status, content_type):
    events = run(protocol, chunks, status=status, content_type=content_type)
    stamps = [event.at for event in events]
    assert sorted(stamps) == stamps
    whole = run(protocol, [b"".join(chunks)], status=status, content_type=content_type)
    assert [type(e) for e in whole if not isinstance(e, BytesReceived)] == [
        type(e) for e in events if not isinstance(e, BytesReceived)
    ]


# fmt: off
KEYS = (
    "choices", "delta", "message", "content", "reasoning", "reasoning_content", "thinking", "thinking_blocks",
    "reasoning_details", "index", "finish_reason", "usage", "completion_tokens", "completion_tokens_details",
    "reasoning_tokens", "error", "code", "type", "detail", "loc", "msg", "data", "text", "tool_calls", "function",
    "function_call", "name", "arguments", "model", "system_fingerprint", "role", "refusal", "x_groq", "token_ids",
    "object", "status", "summary", "signature",
)
# fmt: on
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents=st.lists(JSON, max_size=3), choice=JSON, delta=JSON, streamed=st.booleans())
def test_any_types_in_any_key_are_read(protocol, documents, choice, delta, streamed):
    documents += [{"choices": [choice]}, {"choices": [{"index": 0, "delta": delta, "message": delta}]}]
    texts = [json.dumps(document) for document in documents]
    chunks = [f"data: {text}\n\n".encode() for text in texts] if streamed else [texts[-1].encode()]
    for event in run(protocol, chunks, status=200 if streamed else 400):
        repr(event).encode()  # no half of a surrogate pair gets through


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_mutated_recordings_are_read(data):
    body = bytearray(body_of(data.draw(st.sampled_from(SMALL))))
    for _ in range(data.draw(st.integers(1, 8))):
        if body:
            place = data.draw(st.integers(0, len(body) - 1))
            body[place : place + data.draw(st.integers(0, 40))] = data.draw(st.sampled_from(BYTES))
    events = run("openai-chat", [bytes(body[:500]), bytes(body[500:])])
    assert isinstance(events[0], HeadersReceived)
