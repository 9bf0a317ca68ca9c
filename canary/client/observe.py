"""One request, one observation: the only read loop of the program.

The loop does four things with each network read: stamp, inflate, decode, keep. Everything that the target can do wrong
comes back as the observation's `End`; only our own bugs and cancelled housekeeping are raised. There are no retries.

- t = 0 is the last send of the request. Before the request was sent (`ConnectFailed`, a deadline while connecting) `at`
  counts from the start of the attempt.
- `stop` sees every event as it comes. Its first reason closes the connection at once, so that the engine stops paying.
- A cancelled observation returns what it has as `Interrupted` and leaves `asyncio.current_task().cancelling()` set:
  at shutdown the caller wants the record first and the exception second.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import aiohttp

from canary.client import lag
from canary.client.connection import Attempt, open_session
from canary.client.endings import Failure, ending
from canary.client.inflate import CorruptBodyError
from canary.client.line import Line
from canary.client.reader import Reader, StopRule
from canary.client.redact import Redaction, public_headers, public_url, redaction_of, revealed
from canary.client.target import Limits, Target
from canary.core.observation import (
    Completed,
    DeadlineExceeded,
    End,
    Exchange,
    Head,
    Interrupted,
    Json,
    Observation,
    StampSource,
    StoppedByUs,
    Truncated,
)
from canary.wire import WIRES
from canary.wire.decode import settle


async def observe(
    target: Target,
    body: Json,
    *,
    limits: Limits,
    started_at: datetime,
    stop: StopRule | None = None,
    stamps: StampSource = StampSource.KERNEL,
) -> Observation:
    """POST `body` as JSON over a connection of its own. `stamps`: the best source to try."""
    redaction = redaction_of(target)
    with lag.watch() as watch:
        attempt = Attempt(target, Line(watch, want_kernel=stamps is StampSource.KERNEL))
        reader = Reader(decoder=WIRES[target.protocol].decoder(), attempt=attempt, limits=limits, stop=stop)
        end = await _within_deadline(target, body, limits, reader)
        loop_lag_s = watch.settle()
    exchange = Exchange(
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
