"""One request on the wire: the only read loop of the program.

Each network read is stamped before anything else happens to it, then inflated, decoded and kept. Whatever the target
can do wrong comes back as the `End`; only our own bugs are raised. There are no retries and no redirects.

- t = 0 is the last send of the request. Where it was never sent, `at` counts from the start of the attempt.
- A reason to stop closes the connection at once, so that the engine stops paying too.
- A cancelled exchange returns what it has as `Interrupted` and leaves `asyncio.current_task().cancelling()` set: at
  shutdown the caller wants the record first and may raise afterwards.
"""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import suppress
from datetime import datetime

import aiohttp

from canary.client import lag
from canary.client.connection import Attempt, open_session
from canary.client.endings import Failure, ending
from canary.client.inflate import CorruptBodyError
from canary.client.line import Line, keep_stamping
from canary.client.reader import Reader
from canary.client.redact import public_headers, public_url, redaction_of, revealed
from canary.client.target import Limits, Target
from canary.core.observation import (
    Completed,
    DeadlineExceeded,
    End,
    Exchange,
    Head,
    Interrupted,
    Json,
    StampSource,
    StoppedByUs,
    Truncated,
)


async def exchange(
    target: Target, body: Json, reader: Reader, *, limits: Limits, started_at: datetime, stamps: StampSource
) -> Exchange:
    """POST `body` as JSON over a connection of its own; `reader` is filled on the way. `stamps`: the best to try."""
    with lag.watch() as watch:
        attempt = Attempt(target, Line(watch, want_kernel=stamps is StampSource.KERNEL))
        end = await _within_limits(target, body, reader, limits, attempt)
        loop_lag_s = watch.settle()
    redaction = redaction_of(target)
    reader.close(end.at, redaction)
    return Exchange(
        protocol=target.protocol,
        url=public_url(target.url),
        started_at=started_at,
        request=body,
        end=redaction.end(end),
        head=reader.head,
        reads=tuple(reader.reads),
        dns_s=attempt.dns_s,
        connect_s=attempt.connect_s,
        tls_s=attempt.tls_s,
        stamps=attempt.stamps,
        loop_lag_s=loop_lag_s,
    )


async def _within_limits(target: Target, body: Json, reader: Reader, limits: Limits, attempt: Attempt) -> End:
    try:
        async with asyncio.timeout(limits.deadline_s) as deadline:
            await keep_stamping()
            async with open_session(target, limits, attempt) as session:
                return await _post(session, target, body, reader, attempt)
    except TimeoutError:
        if not deadline.expired():
            raise
        return DeadlineExceeded(at=attempt.now(), phase=attempt.phase)
    except asyncio.CancelledError:
        return Interrupted(at=attempt.now(), detail="cancelled")


async def _post(session: aiohttp.ClientSession, target: Target, body: Json, reader: Reader, attempt: Attempt) -> End:
    try:
        response = await session.post(
            target.url,
            data=io.BytesIO(json.dumps(body).encode()),  # goes out in pieces; bytes would in one
            headers=_headers(target),
            allow_redirects=False,
            proxy=target.proxy,
            server_hostname=target.tls.server_name if target.tls else None,
        )
        try:
            return await _receive(response, reader, attempt)
        finally:
            response.close()
    except Exception as error:
        end = ending(
            Failure(
                error=error,
                at=attempt.now(),
                phase=attempt.phase,
                closed_in_order=attempt.closed_in_order,
                broken=attempt.broken,
            )
        )
        if end is None:
            raise
        return end


async def _receive(response: aiohttp.ClientResponse, reader: Reader, attempt: Attempt) -> End:
    headers = public_headers(response.headers.items())
    reason = reader.begin(Head(at=attempt.head_at(), status=response.status, headers=headers))
    if reason is None:
        reason = await _read_body(response.content, reader, attempt)
    if reason is not None:
        return StoppedByUs(at=attempt.now(), reason=reason)
    if reader.unfinished:
        return Truncated(at=attempt.ended(), detail="the message is complete, its content coding is not")
    return Completed(at=attempt.ended())


async def _read_body(content: aiohttp.StreamReader, reader: Reader, attempt: Attempt) -> str | None:
    """Why to stop, or None at the end of the body."""

    def take(data: bytes) -> str | None:
        reasons = (reader.read(mark, piece, attempt.at) for mark, piece in attempt.cut(data))
        return next((reason for reason in reasons if reason is not None), None)

    try:
        while data := await content.readany():
            if (reason := take(data)) is not None:
                return reason
    except (aiohttp.ClientError, asyncio.CancelledError):
        # What arrived before the connection broke, or before we gave up, is still in the buffer. The public read
        # would raise the same error again.
        with suppress(CorruptBodyError):
            take(content._read_nowait(-1))  # noqa: SLF001
        raise
    return None


def _headers(target: Target) -> dict[str, str]:
    """For the wire only: secrets are revealed here."""
    ours = {"Content-Type": "application/json", "Accept-Encoding": target.accept_encoding}
    theirs = revealed(target.headers)
    named = {name.lower() for name in theirs}
    return {name: value for name, value in ours.items() if name.lower() not in named} | theirs
