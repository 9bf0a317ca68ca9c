"""Exchanges made of bytes, for tests of pure code."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from canary.core.observation import Completed, Exchange, Head, Read
from canary.core.stream import BytesReceived, HeadersReceived, Identity
from canary.wire.decode import decode
from canary.wire.transcript import loads

RECORDED = Path(__file__).parent.parent / "transcripts" / "recorded"
STARTED_AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOISE = (HeadersReceived, BytesReceived, Identity)


def recorded(name):
    """A real exchange by the name of its file."""
    path = RECORDED / f"{name}.jsonl"
    return loads(path.read_text(encoding="utf-8"), source=path.name)


def exchange_of(body, *, content_type="text/event-stream", status=200, end=None, cuts=None, request=None):
    """An exchange whose body arrives in pieces cut at `cuts`, one a second."""
    edges = [0, *(cuts or []), len(body)]
    pieces = [body[start:stop] for start, stop in pairwise(edges) if stop > start]
    reads = tuple(Read(at=float(number), data=piece) for number, piece in enumerate(pieces, start=1))
    return Exchange(
        protocol="openai-chat",
        url="/v1/chat/completions",
        started_at=STARTED_AT,
        request=request or {},
        end=end or Completed(at=float(len(pieces) + 1)),
        head=Head(at=0.5, status=status, headers={"content-type": content_type} if content_type else {}),
        reads=reads,
    )


def sse(*chunks):
    """A stream of events; a chunk is JSON to be, or text as it is."""
    return "".join(f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n" for c in chunks).encode()


def delta(finish=None, **fields):
    choice = {"index": 0, "delta": fields}
    return {"choices": [choice if finish is None else {**choice, "finish_reason": finish}]}


def facts(body, **how):
    """The decoded events of a body without those that every body has."""
    return [event for event in decode(exchange_of(body, **how)).events if not isinstance(event, NOISE)]


def cut_again(exchange, cuts):
    """The same exchange with its body cut at other places; every byte keeps the stamp of its read or a later one."""
    body = b"".join(read.data for read in exchange.reads)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(body)}), len(body)]
    reads = [Read(at=1.0, data=body[a:b]) for a, b in pairwise(edges) if b > a]
    return Exchange(
        protocol=exchange.protocol,
        url=exchange.url,
        started_at=exchange.started_at,
        request=exchange.request,
        end=exchange.end,
        head=exchange.head,
        reads=tuple(reads),
    )
