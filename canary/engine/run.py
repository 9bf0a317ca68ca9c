"""One run of a probe through every hop of a pipeline.

Hops are asked from the engine up, one after another, so that they do not disturb each other's timing (or all at once,
where the pipeline says `parallel`); a failed lower hop does not stop the upper ones. Once one was waited for in vain to
its deadline, the others are asked at once: they have little timing left to disturb, and if all of them hang, people
hear of it after two deadlines and not after one for each hop. All hops of a run get the same question under different
nonces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace

from canary.analysis.measure import measure
from canary.analysis.tokens import TokenCounts, chars_per_token
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.checks.localise import localise
from canary.client.version import engine_version
from canary.core.finding import HopVerdict
from canary.core.observation import DeadlineExceeded
from canary.core.run import CONTROL, PLAIN, HopResult, Run
from canary.core.spec import Assignment, Hop, Pipeline, Probe
from canary.core.timeout import Timeout
from canary.core.verdict import Status, Verdict
from canary.engine.arms import ask_control
from canary.engine.budgets import prove_budgets
from canary.engine.visit import Occasion, Visit

_EXPLAINING = ("idle_timeout", "streaming", "saturation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one hop answered: the plain form, with the evidence for it, and one result per budget parameter."""

    visit: Visit
    evidence: Evidence
    plain: HopResult
    budgets: tuple[HopResult, ...] = ()


async def run_probe(pipeline: Pipeline, assignment: Assignment, occasion: Occasion) -> Run:
    """1 ask every probed hop, 2 judge each answer beside the one of the hop below, 3 find the root causes."""
    started_at = occasion.now()
    probed = [(index, hop) for index, hop in enumerate(pipeline.hops) if hop.url is not None]
    visits = [
        Visit(hop=hop, assignment=assignment, occasion=occasion, timers=timers_above(pipeline.hops, index))
        for index, hop in reversed(probed)
    ]
    asked = await (_all_at_once(visits) if pipeline.parallel else _one_by_one(visits))
    others = _others(assignment.probe)
    findings = localise(
        [*_verdicts(asked), *_not_told(asked, assignment.probe)],
        [hop.name for hop in pipeline.hops],
        probed=[hop.name for _, hop in probed],
        unasked=others,
    )
    explaining = {(each.hop, each.variant, each.verdict) for finding in findings for each in finding.evidence}
    results = [_warned(result, explaining, others) for hop in asked for result in (hop.plain, *hop.budgets)]
    return Run(
        id=occasion.run_id,
        pipeline=pipeline.name,
        probe=assignment.probe.name,
        started_at=started_at,
        results=tuple(results),
        findings=findings,
    )


def timers_above(hops: tuple[Hop, ...], index: int) -> tuple[Timeout, ...]:
    """The timers that watch the stream of hop `index`: all that the hops above it hold, from the user down."""
    return tuple(timer for hop in hops[:index] for timer in hop.timeouts)


async def _one_by_one(visits: Sequence[Visit]) -> list[Asked]:
    """From the engine up: whatever a hop is asked, the hop below has answered it, and its ratio helps to count."""
    asked: list[Asked] = []
    for index, visit in enumerate(visits):
        if asked and _in_vain(asked[-1]):
            return await _all_at_once(visits[index:], lower=asked)
        hop = await _ask(replace(visit, chars_per_token=_learned(asked)))
        asked.append(await _with_budgets(_beside(hop, asked)))
    return asked


def _in_vain(hop: Asked) -> bool:
    """Slow is something else: whoever asks more of that makes it slower."""
    measured = hop.plain.measurement
    return isinstance(measured.end, DeadlineExceeded) and measured.time_to_first_token_s is None


async def _all_at_once(visits: Sequence[Visit], lower: Sequence[Asked] = ()) -> list[Asked]:
    """All plain answers, then all budget tests: these too are judged beside the hop below."""
    asked = [*lower]
    for hop in await _together(_ask(replace(visit, chars_per_token=_learned(lower))) for visit in visits):
        asked.append(_beside(hop, asked))
    return [*lower, *await _together(_with_budgets(hop) for hop in asked[len(lower) :])]


async def _together(asking: Iterable[Coroutine[None, None, Asked]]) -> list[Asked]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in asking]
    return [task.result() for task in tasks]


async def _ask(visit: Visit) -> Asked:
    """The plain answer; where there are budgets to prove, it is their control too."""
    budgets, probe = visit.assignment.budgets, visit.assignment.probe
    if not budgets:
        answer = await visit.ask(PLAIN, visit.question(PLAIN, index=visit.occasion.seed % len(probe.questions)))
        return Asked(visit=visit, evidence=answer, plain=_unjudged(answer, visit, PLAIN))
    version = await engine_version(visit.target)
    visit = replace(visit, counts_running=version is not None)
    control = await ask_control(visit, budgets, index=0, whole=probe.needs_whole_answer)
    plain = replace(_unjudged(control, visit, CONTROL), engine_version=version)
    return Asked(visit=visit, evidence=control, plain=plain)


def _unjudged(evidence: Evidence, visit: Visit, variant: str) -> HopResult:
    return HopResult(
        hop=visit.hop.name,
        variant=variant,
        observation=evidence.observation,
        measurement=evidence.measurement,
        verdicts=(),
        timeouts=visit.timers,
        load=evidence.load,
    )


def _beside(hop: Asked, lower: Sequence[Asked]) -> Asked:
    """Judged beside the hop below, counted with the ratio learned further down, and shown to whoever watches."""
    below = lower[-1].evidence.measurement if lower else None
    visit = replace(hop.visit, below=below, chars_per_token=_learned(lower))
    measurement = measure(hop.evidence.observation, chars_per_token=visit.chars_per_token)
    evidence = replace(hop.evidence, measurement=measurement, below=below)
    plain = replace(hop.plain, measurement=measurement, verdicts=_judge(evidence, visit.assignment.probe))
    visit.occasion.watch(plain)
    return replace(hop, visit=visit, evidence=evidence, plain=plain)


async def _with_budgets(hop: Asked) -> Asked:
    if not hop.visit.assignment.budgets:
        return hop
    return replace(hop, budgets=tuple(await prove_budgets(hop.visit, hop.evidence)))


def _others(probe: Probe) -> list[str]:
    """Checks that this probe does not ask for: they may explain a failure of those that it does ask for."""
    return [name for name in _EXPLAINING if probe.checks is not None and name not in probe.checks]


def _unasked(evidence: Evidence, probe: Probe) -> tuple[Verdict, ...]:
    return judge(evidence, only=_others(probe))


def _judge(evidence: Evidence, probe: Probe) -> tuple[Verdict, ...]:
    """All that is told: not that an unasked check could not be judged, as with a stream that we stopped."""
    unasked = (verdict for verdict in _unasked(evidence, probe) if verdict.status is not Status.UNKNOWN)
    return (*judge(evidence, only=probe.checks), *unasked)


def _warned(result: HopResult, explaining: Collection[tuple[str, str, Verdict]], others: Collection[str]) -> HopResult:
    """A check that was not asked for and explains nothing that was: what it fails is a warning."""

    def idle(verdict: Verdict) -> bool:
        fails = verdict.status is Status.FAIL and verdict.check in others
        return fails and (result.hop, result.variant, verdict) not in explaining

    verdicts = (replace(each, status=Status.WARN) if idle(each) else each for each in result.verdicts)
    return replace(result, verdicts=tuple(verdicts))


def _verdicts(asked: Sequence[Asked]) -> list[HopVerdict]:
    results = [result for hop in asked for result in (hop.plain, *hop.budgets)]
    return [
        HopVerdict(hop=result.hop, variant=result.variant, verdict=verdict)
        for result in results
        for verdict in result.verdicts
    ]


def _not_told(asked: Sequence[Asked], probe: Probe) -> list[HopVerdict]:
    """What the root cause must know all the same: at which hops we were blind."""
    return [
        HopVerdict(hop=hop.plain.hop, variant=hop.plain.variant, verdict=verdict)
        for hop in asked
        for verdict in _unasked(hop.evidence, probe)
        if verdict.status is Status.UNKNOWN
    ]


def _learned(asked: Sequence[Asked]) -> float | None:
    """Characters per token, from the nearest hop below that teaches it: the same model answers at all of them."""
    measurements = [hop.plain.measurement for hop in reversed(asked)]
    ratios = (chars_per_token(TokenCounts(reasoning=m.reasoning_tokens), m.reasoning_chars) for m in measurements)
    return next((ratio for ratio in ratios if ratio), None)
