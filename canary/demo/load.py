"""What the demo engine is busy with, and what it says of that at `/metrics`, under the names that vLLM uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

SEATS = 256  # vLLM's default of `max_num_seqs`


@dataclass(slots=True)
class Totals:
    """A histogram's sum and count."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1


@dataclass(slots=True)
class Load:
    """`seats`: how many requests run at a time; the others wait. `idle` is set while it generates for nobody.

    `busy` is set while it does for somebody. Times in seconds.
    """

    seats: int = SEATS
    running: int = 0
    waiting: int = 0
    tokens: int = 0
    queue: Totals = field(default_factory=Totals)
    first_token: Totals = field(default_factory=Totals)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    _free: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.idle.set()
        self._free = asyncio.Semaphore(self.seats)

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[float]:
        """Runs a request, once there is a seat. Gives how long it waited."""
        asked_at = asyncio.get_running_loop().time()
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        waited_s = asyncio.get_running_loop().time() - asked_at
        self._begin()
        try:
            yield waited_s
            self.queue.add(waited_s)
        finally:
            self._end()

    def _begin(self) -> None:
        self.running += 1
        self.idle.clear()
        self.busy.set()

    def _end(self) -> None:
        self._free.release()
        self.running -= 1
        if not self.running:
            self.idle.set()
            self.busy.clear()

    def metrics(self, model: str) -> str:
        """The page, in Prometheus' text format."""
        labels = f'{{engine="0",model_name="{model}"}}'
        lines: list[str] = []
        for name, value in (("running", self.running), ("waiting", self.waiting)):
            lines += [f"# TYPE vllm:num_requests_{name} gauge", f"vllm:num_requests_{name}{labels} {float(value)}"]
        for name, totals in (("request_queue_time", self.queue), ("time_to_first_token", self.first_token)):
            bucket = labels.replace("}", ',le="+Inf"}')
            lines += [
                f"# TYPE vllm:{name}_seconds histogram",
                f"vllm:{name}_seconds_bucket{bucket} {float(totals.count)}",
                f"vllm:{name}_seconds_count{labels} {float(totals.count)}",
                f"vllm:{name}_seconds_sum{labels} {totals.total}",
            ]
        return "\n".join([*lines, ""])
