"""What people may ask of the running daemon, over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from canary.core import deploy as core
from canary.core.conclusion import Conclusion
from canary.core.route import Silence
from canary.engine.alerts import Alerts
from canary.engine.archive import Archive
from canary.engine.due import Due, Key, Why
from canary.engine.schedule import Clocks
from canary.engine.state import Known
from canary.engine.statements import Statements
from canary.engine.worker import Worker
from canary.store import StoreError
from canary.web.actions import Actions, Answer, Deploy, Done, Hush, Refusal, Refused


@dataclass(slots=True, kw_only=True)
class Requests:
    """`settle` takes a conclusion in, stores it and tells it. `reload` reads the config again."""

    known: Known
    worker: Worker
    archive: Archive
    alerts: Alerts
    clocks: Clocks
    settle: Callable[[Conclusion], Awaitable[None]]
    reload: Callable[[], Awaitable[Answer]]
    statements: Statements

    def actions(self) -> Actions:
        return Actions(
            reload=self.reload,
            probe=self.probe,
            deploy=self.deploy,
            acknowledge=self.acknowledge,
            silence=self.silence,
            unsilence=self.unsilence,
            note=self.statements.note,
            override=self.statements.override,
            unoverride=self.statements.end,
        )

    async def probe(self, pipeline: str, probe: str | None) -> Answer:
        keys = self._keys(pipeline, probe)
        if not keys:
            named = (
                f"no probe {probe!r} of a pipeline {pipeline!r}" if probe else f"no pipeline {pipeline!r} with probes"
            )
            return Refused(why=Refusal.NOT_FOUND, message=f"there is {named}")
        if self.worker.stopping:
            return Refused(why=Refusal.UNAVAILABLE, message="the daemon is stopping, and begins no more runs")
        at_s = self.clocks.steady()
        due = [Due(key=key, run_id=secrets.token_hex(6), due_s=at_s, why=Why.DEMAND) for key in keys]
        ids = tuple(each.run_id for each in due if self.worker.take(each))
        if not ids:
            return Refused(why=Refusal.CONFLICT, message="it is running or waiting to run already")
        return Done(message=f"{len(ids)} of {len(keys)} put in line", ids=ids)

    async def deploy(self, deploy: Deploy) -> Answer:
        if deploy.pipeline is not None and not self._has(deploy.pipeline):
            return Refused(why=Refusal.NOT_FOUND, message=f"there is no pipeline {deploy.pipeline!r}")
        mark = core.Deploy(at=self.clocks.wall(), text=deploy.text, pipeline=deploy.pipeline)
        try:
            await self.archive.answered(partial(self.archive.store.add_deploy, mark))
        except StoreError as error:
            return Refused(why=Refusal.UNAVAILABLE, message=str(error))
        self.alerts.deploys = (*self.alerts.deploys, mark)
        return Done(message=f"noted: {deploy.text}")

    async def acknowledge(self, page_id: str, who: str) -> Answer:
        page = self.known.pages.get(page_id)
        if page is None or page.resolved_at is not None:
            return Refused(why=Refusal.NOT_FOUND, message=f"there is no open page {page_id!r}")
        if page.acked_at is not None:
            return Refused(why=Refusal.CONFLICT, message=f"{page.acked_by} has acknowledged it already")
        await self.settle(self.alerts.of_ack(page, who, self.clocks.wall()))
        return Done(message=f"acknowledged by {who}", ids=(page_id,))

    async def silence(self, hush: Hush) -> Answer:
        now = self.clocks.wall()
        silence = Silence(
            id=secrets.token_hex(6),
            match=hush.match,
            starts_at=now,
            ends_at=now + timedelta(seconds=hush.duration_s),
            author=hush.author,
            comment=hush.comment,
        )
        try:
            await self.archive.answered(partial(self.archive.store.add_silence, silence))
        except StoreError as error:
            return Refused(why=Refusal.UNAVAILABLE, message=str(error))
        self.alerts.silences = (*self.alerts.silences, silence)
        return Done(message=f"silent until {silence.ends_at:%Y-%m-%d %H:%M} UTC", ids=(silence.id,))

    async def unsilence(self, silence_id: str) -> Answer:
        try:
            ending = partial(self.archive.store.end_silence, silence_id, self.clocks.wall())
            ended = await self.archive.answered(ending)
        except StoreError as error:
            return Refused(why=Refusal.UNAVAILABLE, message=str(error))
        if ended is None:
            return Refused(why=Refusal.NOT_FOUND, message=f"there is no silence {silence_id!r}")
        self.alerts.silences = tuple(each for each in self.alerts.silences if each.id != silence_id)
        return Done(message="the silence is over", ids=(silence_id,))

    def _keys(self, pipeline: str, probe: str | None) -> list[Key]:
        return [
            (each.name, assignment.probe.name)
            for each in self.known.plan.pipelines
            for assignment in each.assignments
            if each.name == pipeline and probe in (None, assignment.probe.name)
        ]

    def _has(self, pipeline: str) -> bool:
        return any(each.name == pipeline for each in self.known.plan.pipelines)
