"""What a drill breaks: the built-in pipeline for real, or a pipeline of the config by pretence."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from canary.cli.errors import UsageError
from canary.cli.pretence import Pretence, pretended
from canary.cli.probe import configured
from canary.cli.rehearsal import Moment, Outcome, Scene, rehearse
from canary.cli.silence import known_check
from canary.config.probes import canned_probes
from canary.core.route import Match, Receiver, Route
from canary.core.run import Run
from canary.core.schedule import Every
from canary.core.secret import Secret
from canary.core.service import Service, Storage
from canary.core.spec import Assignment, Plan
from canary.core.verdict import Status
from canary.demo.answers import answers
from canary.demo.hop_kind import HopKind
from canary.demo.pipeline import INCIDENT_LIMITS, FaultNames, demo_pipeline
from canary.demo.receiver import receiver
from canary.notify.webhook import WebhookOptions

_PACE = Every(seconds=0.5)  # a drill waits for no schedule: one run follows the other
_SCALE = 0.25
_FAULT: FaultNames = {HopKind.AGENT: ("strip_reasoning",)}
_WHAT = "the agent of the demo pipeline forwards no reasoning, and the UI hangs up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Who is told (nobody named: somebody on loopback), where it is remembered, and how long it is waited for."""

    receivers: Sequence[Receiver]
    storage: Storage
    within_s: float

    @property
    def service(self) -> Service:
        """Without pages to link to, and without a heartbeat, which would say that all is well."""
        return Service(storage=self.storage, shutdown_grace_s=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is pretended, by name. `hop` None: the topmost that is probed; `probe` None: the pipeline's first."""

    pipeline: str
    check: str
    hop: str | None = None
    probe: str | None = None


async def broken_demo(stage: Stage, say: Callable[[Moment], None]) -> Outcome:
    """Every receiver is told, whatever the routes of its config are about."""
    seed, heavy = secrets.randbits(63), canned_probes()["reasoning-heavy"]
    async with AsyncExitStack() as stack:
        demo = await stack.enter_async_context(
            demo_pipeline({}, scale=_SCALE, limits=INCIDENT_LIMITS, answer_for=answers(heavy, seed))
        )
        receivers = tuple(stage.receivers)
        if not receivers:
            options = WebhookOptions(url=Secret(await stack.enter_async_context(receiver())))
            receivers = (Receiver(name="loopback", kind="webhook", options=options),)
        pipeline = demo.pipeline(assignments=(Assignment(probe=heavy, schedule=_PACE, deadline_s=30.0),))
        plan = Plan(
            pipelines=(replace(pipeline, parallel=True),),  # it is quicker, and its load tells nobody anything
            receivers=receivers,
            routes=tuple(Route(match=Match(), receiver=each.name, go_on=True) for each in receivers),
            service=stage.service,
        )
        scene = Scene(
            plan=plan,
            what=_WHAT,
            within_s=stage.within_s,
            fault=lambda: demo.set_faults(_FAULT),
            heal=lambda: demo.set_faults({}),
            seed=seed,
        )
        return await rehearse(scene, say)


def pretence(stage: Stage, plan: Plan, case: Case) -> Scene:
    """The pipeline as the config has it, with its routes and windows. Raises UsageError for what it does not have."""
    check = known_check(case.check, "--pretend")
    pipeline, assignment = configured(plan, case.pipeline, case.probe)[0]
    probed = [hop.name for hop in pipeline.hops if hop.url is not None]
    hop = case.hop or probed[0]
    if hop not in probed:
        msg = f"--hop {hop!r}: {pipeline.name} does not probe it; it probes {', '.join(probed)}"
        raise UsageError(msg)
    only = replace(pipeline, assignments=(replace(assignment, schedule=_PACE),))
    switch = _Switch(what=Pretence(pipeline=only, check=check, hop=hop))
    service = replace(stage.service, include_content=plan.service.include_content)
    return Scene(
        plan=replace(plan, pipelines=(only,), receivers=tuple(stage.receivers), service=service),
        what=f"{check} is said to fail at {hop} of {pipeline.name}, with the probe {assignment.probe.name}",
        within_s=stage.within_s,
        fault=switch.fault,
        heal=switch.heal,
        judge=switch.judge,
    )


@dataclass(slots=True, kw_only=True)
class _Switch:
    what: Pretence
    status: Status = Status.PASS

    def fault(self) -> None:
        self.status = Status.FAIL

    def heal(self) -> None:
        self.status = Status.PASS

    def judge(self, run: Run) -> Run | None:
        return pretended(run, self.what, self.status)
