"""Which transcripts are kept, and how much of each.

What is cut must still load, and must not lie: a stream whose middle is missing would show a silence that never was. So
a transcript is cut from its end, and ends where it was cut with our own word that it was we who stopped; the true end
stands in that word, and the true numbers in the run's measurement. The cap is on the text, before compression, so that
it bounds the work as well as the room.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from canary.core.observation import Exchange, Json, Read, StoppedByUs
from canary.core.run import Run
from canary.core.verdict import Status
from canary.store.codec import CodecError
from canary.wire.transcript import dumps

_KEYS = 80  # bytes of the keys and stamps of one line, generously


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
    """Raises CodecError."""
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, TypeError, UnicodeDecodeError) as error:
        msg = f"a transcript that is not what was packed: {error}"
        raise CodecError(msg) from None


def _cut(exchange: Exchange, most_bytes: int) -> Exchange:
    frame = replace(exchange, reads=())
    if len(dumps(frame)) > most_bytes // 2:
        frame = replace(frame, request=_outline(frame.request))
    kept, room = 0, most_bytes - len(dumps(frame))
    for read in exchange.reads:
        room -= _length(read.data)
        if room < 0:
            break
        kept += 1
    reads = exchange.reads[:kept]
    if kept == len(exchange.reads):
        return replace(frame, reads=reads)
    at = reads[-1].at if reads else exchange.head.at if exchange.head else 0.0
    return replace(frame, reads=reads, end=StoppedByUs(at=at, reason=_note(exchange, reads)))


def _length(data: bytes) -> int:
    """Of the line of a read, or a little more."""
    try:
        return len(json.dumps(data.decode(), ensure_ascii=False).encode()) + _KEYS
    except UnicodeDecodeError:
        return len(data) * 4 // 3 + _KEYS  # base64


def _note(exchange: Exchange, kept: Sequence[Read]) -> str:
    held, total = (sum(len(read.data) for read in reads) for reads in (kept, exchange.reads))
    end = type(exchange.end).__name__
    return f"kept {held} of {total} bytes; the exchange went on and ended after {exchange.end.at:.3f} s: {end}"


def _outline(request: Json) -> Json:
    """What the decoder must know of a request that is too long to be kept."""
    note = {"not_kept": f"a request of {len(json.dumps(request))} bytes"}
    return {**note, "stream": request["stream"]} if isinstance(request, dict) and "stream" in request else note
