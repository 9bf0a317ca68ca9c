"""The whole demo: five servers on loopback, each reading the one below through real HTTP, and the spec to probe them.

The founding incident, at a tenth of its real times. The engine thinks for 3.5 s and keeps any `thinking_token_budget`.
The agent does not forward reasoning, so nothing is heard above it for those seconds; the UI waits 2.5 s and gives up.
The remedy would be a small budget, but the gateway drops the parameter. Each server by itself answers 200 and is well.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from canary.core.spec import Assignment, Hop, Pipeline
from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase
from canary.demo.agent import agent
from canary.demo.edge import edge
from canary.demo.engine import AnswerFor, Load, engine, pages
from canary.demo.faults import FAULTS, Fault, around
from canary.demo.gateway import Alias, gateway
from canary.demo.generation import Model
from canary.demo.hop_kind import HopKind
from canary.demo.server import CHAT_PATH, Below, below, served
from canary.demo.stream import Answer, Call, Serve
from canary.demo.ui import GivesUp, IdleLimit, ui

ALIAS = "demo-reasoner"
_HEALTH = {"/health": {"status": "ok"}}
_EVENTS_PER_S = 200.0  # more would measure this machine and not the pipeline

FaultNames = Mapping[str, tuple[str, ...]]


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
    hops: Mapping[str, _FaultyHop]

    def set_faults(self, faults: FaultNames) -> None:
        """Exactly these faults from now on; requests in flight keep what they began with."""
        chosen = {hop: resolve(hop, faults.get(hop, ())) for hop in _known(faults)}
        for hop, rows in chosen.items():
            self.hops[hop].faults = rows

    def pipeline(self, name: str = "demo", assignments: tuple[Assignment, ...] = ()) -> Pipeline:
        """What to probe: the hops with their models and their true timers; all are said to forward reasoning."""
        hops = tuple(self._hop(HopKind(hop)) for hop in self.urls)
        return Pipeline(name=name, hops=hops, labels={"env": "demo"}, assignments=assignments)

    def _hop(self, kind: HopKind) -> Hop:
        return Hop(
            name=kind,
            url=self.urls[kind] + CHAT_PATH,
            model=self.model.name if kind is HopKind.ENGINE else ALIAS,
            timeouts=_timeouts(kind, self.limits),
            forwards_reasoning=True,
        )


def resolve(hop: str, names: Iterable[str]) -> tuple[Fault, ...]:
    """The rows for `names`. Raises ValueError for a fault that there is not, or not at such a hop."""
    rows = []
    for name in names:
        row = FAULTS.get(name)
        if row is None or HopKind(hop) not in row.kinds:
            possible = ", ".join(sorted(fault.name for fault in FAULTS.values() if HopKind(hop) in fault.kinds))
            msg = f"{hop!r} cannot have the fault {name!r}; it can have {possible}"
            raise ValueError(msg)
        rows.append(row)
    return tuple(rows)


@asynccontextmanager
async def demo_pipeline(
    faults: FaultNames,
    *,
    scale: float = 1.0,
    limits: Limits = WIDE,
    model: Model | None = None,
    answer_for: AnswerFor = lambda _prompt: None,
) -> AsyncIterator[Demo]:
    """The pipeline with `faults` by hop name, in order from the outermost. `scale` multiplies every time in it."""
    fitted, fitted_limits, load = _at_scale(model or Model(), scale), limits.scaled(scale), Load()
    hops = {kind: _FaultyHop(scale, resolve(kind, faults.get(kind, ()))) for kind in _known(faults)}
    urls: dict[str, str] = {}
    async with AsyncExitStack() as stack:

        async def start(kind: HopKind, serve: Serve, get: Mapping[str, object]) -> None:
            hops[kind].serve = serve
            urls[kind] = await stack.enter_async_context(served(hops[kind], get))

        async def under(kind: HopKind, *, inflate: bool = True) -> Below:
            return await stack.enter_async_context(below(urls[kind], inflate=inflate))

        await start(HopKind.ENGINE, engine(fitted, answer_for, load), pages(fitted))
        alias = Alias(name=ALIAS, engine_model=fitted.name)
        await start(HopKind.GATEWAY, gateway(await under(HopKind.ENGINE), alias), _HEALTH)
        await start(HopKind.AGENT, agent(await under(HopKind.GATEWAY)), _HEALTH)
        reader = await under(HopKind.AGENT, inflate=False)  # a proxy passes on what it gets
        await start(HopKind.EDGE, edge(reader, read_timeout_s=fitted_limits.edge_read_s), _HEALTH)
        await start(HopKind.UI, ui(await under(HopKind.EDGE), _idle_limit(fitted_limits)), _HEALTH)
        yield Demo(
            urls={kind: urls[kind] for kind in HopKind}, limits=fitted_limits, model=fitted, load=load, hops=hops
        )


def _known(faults: FaultNames) -> tuple[HopKind, ...]:
    """All hops; raises ValueError where `faults` names another."""
    for name in faults:
        if name not in set(HopKind):
            msg = f"the demo pipeline has no hop {name!r}; it has {', '.join(HopKind)}"
            raise ValueError(msg)
    return tuple(HopKind)
