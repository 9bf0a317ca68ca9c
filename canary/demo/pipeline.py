"""The whole demo: five servers on loopback, each reading the one below through real HTTP, and the spec to probe them.

The founding incident, at a tenth of its real times. The engine thinks for 3.5 s and keeps any `thinking_token_budget`.
The agent does not forward reasoning, so nothing is heard above it for those seconds; the UI waits 2.5 s and gives up.
The remedy would be a small budget, but the gateway drops the parameter. Each server by itself answers 200 and is well.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from canary.core.spec import Assignment, Hop, Pipeline
from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase
from canary.demo.agent import agent
from canary.demo.edge import edge
from canary.demo.engine import AnswerFor, engine, pages
from canary.demo.fault import Fault, around
from canary.demo.faults import FAULTS
from canary.demo.gateway import Alias, gateway
from canary.demo.generation import Model
from canary.demo.hop_kind import HopKind
from canary.demo.load import Load
from canary.demo.server import CHAT_PATH, Below, Page, below, served
from canary.demo.stream import Answer, Call, Serve
from canary.demo.ui import GivesUp, IdleLimit, ui

ALIAS = "demo-reasoner"
_HEALTH = {"/health": {"status": "ok"}}
_EVENTS_PER_S = 200.0  # more would measure this machine and not the pipeline

FaultNames: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The timers of the pipeline at a scale of 1: the UI's over the edge, and the edge's over the agent."""

    ui_idle_s: float = 600.0
    ui_clock: Clock = Clock.EVENT
    ui_gives_up: GivesUp = GivesUp.ERROR
    edge_read_s: float = 600.0

    def scaled(self, scale: float) -> Limits:
        return replace(self, ui_idle_s=self.ui_idle_s * scale, edge_read_s=self.edge_read_s * scale)


WIDE = Limits()
INCIDENT_LIMITS = Limits(ui_idle_s=2.5)
INCIDENT_FAULTS: FaultNames = {HopKind.AGENT: ("strip_reasoning",), HopKind.GATEWAY: ("drop_parameter",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The running pipeline. `urls`: base URL by hop, from the user down. `limits` are as enforced."""

    urls: Mapping[str, str]
    limits: Limits
    model: Model
    load: Load
    hops: Mapping[str, FaultyHop]

    def set_faults(self, faults: FaultNames) -> None:
        """Exactly these faults from now on; requests in flight keep what they began with."""
        for hop, rows in resolve(faults).items():
            self.hops[hop].faults = rows

    def pipeline(self, name: str = "demo", assignments: tuple[Assignment, ...] = ()) -> Pipeline:
        """What to probe: the hops with their models and their true timers; all are said to forward reasoning."""
        hops = tuple(self._hop(HopKind(hop)) for hop in self.urls)
        return Pipeline(name=name, hops=hops, labels={"env": "demo"}, assignments=assignments)

    def _hop(self, kind: HopKind) -> Hop:
        return Hop(
            name=kind.value,
            url=self.urls[kind] + CHAT_PATH,
            model=self.model.name if kind is HopKind.ENGINE else ALIAS,
            timeouts=_timeouts(kind, self.limits),
            forwards_reasoning=True,
            metrics_url=self.urls[kind] + "/metrics" if kind is HopKind.ENGINE else None,
        )


def resolve(faults: FaultNames) -> Mapping[str, tuple[Fault, ...]]:
    """The rows of every hop. Raises ValueError for a hop that there is not, and for a fault not known at that hop."""
    for hop in faults:
        if hop not in set(HopKind):
            msg = f"the demo pipeline has no hop {hop!r}; it has {', '.join(HopKind)}"
            raise ValueError(msg)
    return {kind: tuple(_row(kind, name) for name in faults.get(kind, ())) for kind in HopKind}


def _row(kind: HopKind, name: str) -> Fault:
    row = FAULTS.get(name)
    if row is None or kind not in row.kinds:
        possible = ", ".join(other for other, fault in FAULTS.items() if kind in fault.kinds)
        msg = f"the hop {kind.value!r} cannot have the fault {name!r}; it can have {possible}"
        raise ValueError(msg)
    return row


def _timeouts(kind: HopKind, limits: Limits) -> tuple[Timeout, ...]:
    """The timers that the hop really holds over the one below it."""
    if kind is HopKind.UI:
        cut = Outcome.ERROR_IN_STREAM if limits.ui_gives_up is GivesUp.ERROR else Outcome.TRUNCATED
        return (_idle(kind, "ui-idle", limits.ui_clock, limits.ui_idle_s, cut),)
    if kind is HopKind.EDGE:
        return (_idle(kind, "proxy_read_timeout", Clock.BYTE, limits.edge_read_s, Outcome.TRUNCATED),)
    return ()


def _idle(kind: HopKind, name: str, clock: Clock, limit_s: float, outcome: Outcome) -> Timeout:
    return Timeout(
        name=name,
        phase=TimerPhase.IDLE,
        clock=clock,
        limit_s=limit_s,
        starts=StartsAt.REQUEST_SENT,
        outcome=outcome,
        header_status=504,
        hop=kind.value,
    )


@asynccontextmanager
async def demo_pipeline(
    faults: FaultNames,
    *,
    scale: float = 1.0,
    limits: Limits = WIDE,
    model: Model | None = None,
    answer_for: AnswerFor = lambda _prompt: None,
) -> AsyncIterator[Demo]:
    """The pipeline with `faults` by hop name, each hop's first fault outermost. `scale` multiplies its times.

    Raises ValueError for a hop or a fault that there is not. On leaving, whatever is still running is cut off.
    """
    rows = resolve(faults)
    fitted, scaled, load = (
        _at_scale(model or Model(), scale),
        limits.scaled(scale),
        Load(seats=(model or Model()).seats),
    )
    hops: dict[str, FaultyHop] = {}
    urls: dict[str, str] = {}
    async with AsyncExitStack() as stack:

        async def start(kind: HopKind, serve: Serve, get: Mapping[str, Page] = _HEALTH) -> None:
            hops[kind] = FaultyHop(serve=serve, scale=scale, faults=rows[kind])
            urls[kind] = await stack.enter_async_context(served(hops[kind], get))

        async def reader(kind: HopKind, *, inflate: bool = True) -> Below:
            return await stack.enter_async_context(below(urls[kind], inflate=inflate))

        await start(HopKind.ENGINE, engine(fitted, answer_for, load), pages(fitted, load))
        alias = Alias(name=ALIAS, engine_model=fitted.name)
        await start(HopKind.GATEWAY, gateway(await reader(HopKind.ENGINE), alias))
        await start(HopKind.AGENT, agent(await reader(HopKind.GATEWAY)))
        raw = await reader(HopKind.AGENT, inflate=False)  # a proxy passes on what it gets
        await start(HopKind.EDGE, edge(raw, read_timeout_s=scaled.edge_read_s))
        idle = IdleLimit(limit_s=scaled.ui_idle_s, clock=scaled.ui_clock, gives_up=scaled.ui_gives_up)
        await start(HopKind.UI, ui(await reader(HopKind.EDGE), idle))
        from_the_top = {kind.value: urls[kind] for kind in HopKind}
        yield Demo(urls=from_the_top, limits=scaled, model=fitted, load=load, hops=hops)


def _at_scale(model: Model, scale: float) -> Model:
    """The model at `1 / scale` times its speed, in events of more tokens where there would be too many of them."""
    fastest = max(model.tokens_per_s, model.thinking_tokens_per_s) / scale
    return replace(
        model,
        prefill_s=model.prefill_s * scale,
        tokens_per_s=model.tokens_per_s / scale,
        thinking_tokens_per_s=model.thinking_tokens_per_s / scale,
        stream_interval=max(model.stream_interval, math.ceil(fastest / _EVENTS_PER_S)),
    )


@dataclass(slots=True, kw_only=True)
class FaultyHop:
    """A hop and the faults that it has now."""

    serve: Serve
    scale: float
    faults: tuple[Fault, ...]

    async def __call__(self, call: Call) -> Answer:
        return await around(self.serve, self.faults, self.scale)(call)
