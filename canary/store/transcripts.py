"""Which transcripts are kept, and how much of each.

What is cut must still load, and must not lie: a stream whose middle is missing would show a silence that never was. So
a transcript is cut from its end, and ends where it was cut with our own word that it was we who stopped; the true end
stands in that word, and the true numbers in the run's measurement. The cap is on the text, before compression, so that
it bounds the work as well as the room.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace

from canary.core.observation import Exchange, Json, StoppedByUs
from canary.core.run import Run
from canary.core.verdict import Status
from canary.wire.transcript import dumps

_LINE_OVERHEAD = 80  # the keys and stamps of one line, generously


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How many bytes of each transcript; of passed runs one in `passed_every`."""

    most_bytes: int
    passed_every: int


def wanted(run: Run, keep: Keep) -> bool:
    """Whether this run's transcripts are kept. By its id, so that saving it again decides the same."""
    failed = run.findings or any(v.status is Status.FAIL for result in run.results for v in result.verdicts)
    return bool(failed) or zlib.crc32(run.id.encode()) % max(keep.passed_every, 1) == 0


def compressed(exchange: Exchange, most_bytes: int) -> bytes:
    return zlib.compress(dumps(_cut(exchange, most_bytes)).encode(), 6)


def decompressed(body: bytes) -> str:
    return zlib.decompress(body).decode()


def _cut(exchange: Exchange, most_bytes: int) -> Exchange:
    request = exchange.request
    room = most_bytes - _size(request)
    if room < most_bytes // 2:
        request, room = _outline(request), most_bytes
    kept, used = 0, 0
    for read in exchange.reads:
        used += _size_of_read(read.data)
        if used > room:
            break
        kept += 1
    if kept == len(exchange.reads):
        return replace(exchange, request=request)
    began = exchange.head.at if exchange.head else 0.0
    at = exchange.reads[kept - 1].at if kept else began
    total = sum(len(read.data) for read in exchange.reads)
    held = sum(len(read.data) for read in exchange.reads[:kept])
    end = type(exchange.end).__name__
    reason = f"kept {held} of {total} bytes; the exchange went on and ended after {exchange.end.at:.3f} s: {end}"
    return replace(exchange, request=request, reads=exchange.reads[:kept], end=StoppedByUs(at=at, reason=reason))


def _size_of_read(data: bytes) -> int:
    """The length of its line, or a little more: quotes, backslashes and controls become longer, base64 by a third."""
    escaped = data.count(b'"') + data.count(b"\\") + data.count(b"\n") + data.count(b"\r")
    return len(data) + escaped + _LINE_OVERHEAD + (0 if data.isascii() else len(data) // 3)


def _size(request: Json) -> int:
    return len(json.dumps(request)) + 4 * _LINE_OVERHEAD


def _outline(request: Json) -> Json:
    """What the decoder must know of a request that is too long to be kept."""
    note = {"not_kept": f"a request of {_size(request)} bytes"}
    return {**note, "stream": request["stream"]} if isinstance(request, dict) and "stream" in request else note
