"""Reading the config again: on SIGHUP, when its files change, and when somebody asks.

A config that does not load never stops a daemon that runs: the plan before it stays in force, and log, metric and
`/-/ready` say so. What a reload cannot change (address, database) is said too, and waits for the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from canary.core.spec import Plan
from canary.engine.governor import Allowance
from canary.engine.running import Running
from canary.web.actions import Answer, Done, Refusal, Refused

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    plan: Plan
    allowances: Mapping[str, Allowance]


@dataclass(slots=True, kw_only=True)
class Reload:
    """One at a time. `read` gives the config as it is now, or says why not; `stamp` changes with its files.

    `seen`: the stamp of what was read last; `look_s`: how often it is compared.
    """

    read: Callable[[], Fresh | Refused]
    stamp: Callable[[], object]
    running: Running
    seen: object
    look_s: float
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _looked: object = None
    _turns: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self.look_s):
                    await self.wanted.wait()
            except TimeoutError:
                if not await self._changed():
                    continue
            self.wanted.clear()
            await self.now()

    async def _changed(self) -> bool:
        """Two looks must agree: half a config may be a good one, with half of the pipelines and no route."""
        before, self._looked = self._looked, await asyncio.to_thread(self.stamp)
        return self._looked == before != self.seen

    async def now(self) -> Answer:
        async with self._turns:
            self.seen = await asyncio.to_thread(self.stamp)
            try:
                found = await asyncio.to_thread(self.read)
            except Exception as error:  # noqa: BLE001  # our own bug; the old plan is as good as it was
                self.running.own_error("reload", error)
                found = Refused(why=Refusal.INVALID, message="the config could not be read, through a fault of ours")
            if isinstance(found, Refused):
                return self._stand(found)
            at_start = _only_at_start(self.running.known.plan, found.plan)
            await self.running.follow(found.plan, found.allowances)
            log.info("config reloaded", pipelines=len(found.plan.pipelines))
            if at_start:
                log.warning("takes effect at the next start only", changed=at_start)
            waits = (f"{name} at the next start" for name in at_start)
            return Done(message="; ".join(["the config is in force", *waits]))

    def _stand(self, why: Refused) -> Refused:
        log.error("config refused, the one before stays in force", why=why.message, problems=why.details)
        self.running.known.last_reload_ok = False
        self.running.publish()
        return Refused(why=why.why, message=f"{why.message}; the one before stays in force", details=why.details)


def _only_at_start(old: Plan, new: Plan) -> list[str]:
    before, after = old.service, new.service
    address = (before.listen.host, before.listen.port) != (after.listen.host, after.listen.port)
    return [name for name, changed in (("listen", address), ("storage", before.storage != after.storage)) if changed]
