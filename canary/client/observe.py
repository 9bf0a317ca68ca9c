"""One request, one observation: an exchange on the wire, decoded as it comes."""

from __future__ import annotations

from datetime import datetime

from canary.client.exchange import exchange
from canary.client.reader import Reader, StopRule
from canary.client.target import Limits, Target
from canary.core.observation import Json, Observation, StampSource
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
    """POST `body` to `target` and read the answer to its end, a limit or the first reason of `stop`.

    The target's faults are data (`Observation.end`). A cancelled observation is returned as `Interrupted`, with what
    it had; the caller finds `asyncio.current_task().cancelling()` set. Raises KeyError for an unknown protocol, OSError
    where a TLS file cannot be loaded, and whatever is a bug of ours.
    """
    reader = Reader(decoder=WIRES[target.protocol].decoder, max_bytes=limits.max_bytes, stop=stop)
    raw = await exchange(target, body, reader, limits=limits, started_at=started_at, stamps=stamps)
    return settle(raw, tuple(reader.events))
