"""One run of a probe through every hop of a pipeline.

Hops are asked from the engine up, one after another, so that they do not disturb each other's timing; a failed lower
hop does not stop the upper ones. All hops of a run get the same question under different nonces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.client.observe import observe
from canary.client.target import Limits
from canary.core.measurement import Measurement
from canary.core.run import HopResult, Run
from canary.core.spec import Assignment, Hop, Pipeline
from canary.core.timeout import Timeout
from canary.engine.request import build_request
from canary.prompts.compose import Composed, compose
from canary.prompts.nonce import nonce

PLAIN = "plain"
MAX_BYTES = 64 * 1024 * 1024
CONNECT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A request is about to be sent."""

    hop: str
    variant: str


Step = Started | HopResult
Watch = Callable[[Step], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What is new in each run: its id, the seed of its questions, and the well-known timers to name a cut with."""

    run_id: str
    seed: int
    catalogue: tuple[Timeout, ...] = ()


async def run_probe(
    pipeline: Pipeline,
    assignment: Assignment,
    occasion: Occasion,
    *,
    now: Callable[[], datetime],
    watch: Watch = lambda _: None,
) -> Run:
    """1 ask every probed hop from the engine up, 2 judge each beside the hop below, 3 find the root causes."""
    started_at = now()
    results: list[HopResult] = []
    below: Measurement | None = None
    for index, hop in reversed(tuple(enumerate(pipeline.hops))):
        if hop.url is None:
            continue
        watch(Started(hop=hop.name, variant=PLAIN))
        timers = timers_above(pipeline.hops, index)
        result = await _plain(hop, assignment, occasion, timers=timers, below=below, started_at=now())
        below = result.measurement
        results.append(result)
        watch(result)
    return Run(
        id=occasion.run_id,
        pipeline=pipeline.name,
        probe=assignment.probe.name,
        started_at=started_at,
        results=tuple(results),
    )


def timers_above(hops: tuple[Hop, ...], index: int) -> tuple[Timeout, ...]:
    """The timers that watch the stream of hop `index`: all that the hops above it hold, from the user down."""
    return tuple(timer for hop in hops[:index] for timer in hop.timeouts)


async def _plain(
    hop: Hop,
    assignment: Assignment,
    occasion: Occasion,
    *,
    timers: tuple[Timeout, ...],
    below: Measurement | None,
    started_at: datetime,
) -> HopResult:
    probe = assignment.probe
    composed = question_for(assignment, occasion, arm=f"{hop.name}/{PLAIN}")
    request = build_request(hop, probe, composed, run_id=occasion.run_id)
    limits = Limits(deadline_s=assignment.deadline_s, max_bytes=MAX_BYTES, connect_timeout_s=CONNECT_TIMEOUT_S)
    observation = await observe(request.target, request.body, limits=limits, started_at=started_at)
    measurement = measure(observation)
    evidence = Evidence(
        observation=observation,
        measurement=measurement,
        timeouts=timers,
        catalogue=occasion.catalogue,
        below=below,
        first_visible_limit_s=assignment.first_visible_s,
        inline_reasoning=hop.inline_reasoning,
        forwards_reasoning=hop.forwards_reasoning,
        expected_answer=composed.answer,
    )
    return HopResult(
        hop=hop.name,
        variant=PLAIN,
        observation=observation,
        measurement=measurement,
        verdicts=judge(evidence, only=probe.checks),
        timeouts=timers,
    )


def question_for(assignment: Assignment, occasion: Occasion, *, arm: str, harder: int = 0) -> Composed:
    """The run's question. `harder` steps towards the probe's harder ones; `arm` makes the nonce."""
    questions = len(assignment.probe.questions)
    mark = nonce(seed=occasion.seed, arm=f"{arm}/{harder}")
    return compose(assignment.probe, seed=occasion.seed, nonce=mark, index=(occasion.seed + harder) % questions)
