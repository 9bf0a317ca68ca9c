"""What a fault is, and the ways in which one can act.

A fault stands around its hop: it may change the request before the hop sees it, the answer after the hop gave it, or
answer in the hop's place. A hop with several has the first of them outermost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from canary.core.observation import Json
from canary.demo.hop_kind import HopKind
from canary.demo.stream import Answer, Call, ChunkMap, Serve, mapped

Act: TypeAlias = Callable[[Call, Serve, float], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`kinds`: the hops at which it happens in the field; what needs a parser does not happen at a byte proxy.

    `after_s`: its own time at a demo scale of 1, where it has one; `scales` False: the same at any scale.
    """

    summary: str
    kinds: frozenset[HopKind]
    act: Act
    after_s: float = 0.0
    scales: bool = True


def around(serve: Serve, faults: tuple[Fault, ...], scale: float) -> Serve:
    """`serve` with `faults` around it, the first outermost."""
    for fault in reversed(faults):
        serve = _around(serve, fault, fault.after_s * (scale if fault.scales else 1.0))
    return serve


def _around(serve: Serve, fault: Fault, after_s: float) -> Serve:
    async def faulty(call: Call) -> Answer:
        return await fault.act(call, serve, after_s)

    return faulty


def rewriting(change: Callable[[Json], Json]) -> Act:
    """Another request than the one that came."""

    async def act(call: Call, serve: Serve, _after_s: float) -> Answer:
        return await serve(replace(call, body=change(call.body)))

    return act


def saying(make: Callable[[], ChunkMap]) -> Act:
    """Other chunks than the hop would send."""

    async def act(call: Call, serve: Serve, _after_s: float) -> Answer:
        return mapped(await serve(call), make())

    return act


def sending(change: Callable[[Answer, float], Awaitable[Answer]]) -> Act:
    """The hop's answer, sent in another way. Its time counts from the moment the hop has an answer."""

    async def act(call: Call, serve: Serve, after_s: float) -> Answer:
        return await change(await serve(call), after_s)

    return act


def instead(make: Callable[[], Answer]) -> Act:
    """An answer without asking the hop."""

    async def act(_call: Call, _serve: Serve, _after_s: float) -> Answer:
        return make()

    return act


def dropping(parameter: str) -> Act:
    return rewriting(lambda body: {name: value for name, value in body.items() if name != parameter})


def renaming(parameter: str, to: str) -> Act:
    return rewriting(lambda body: {to if name == parameter else name: value for name, value in body.items()})
