"""A run as it would be if one check failed at one hop, or passed. Pure.

Requests, answers and numbers stay as they were. What is pretended is the verdict of that check at that hop, and the
finding that follows from it. No other finding is left in the run, and no hop of which nothing could be told: a drill
pages for what it pretends, and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from canary.checks.localise import localise
from canary.core.finding import HopVerdict
from canary.core.run import HopResult, Run
from canary.core.spec import Pipeline
from canary.core.verdict import Status, Verdict

REASON = "drill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretence:
    pipeline: Pipeline
    check: str
    hop: str

    @property
    def probed(self) -> tuple[str, ...]:
        return tuple(hop.name for hop in self.pipeline.hops if hop.url is not None)


def pretended(run: Run, what: Pretence, status: Status) -> Run | None:
    """The run with `status` for the pretended verdicts; None where the hop was not reached before it was cut short."""
    own = [result for result in run.results if result.hop == what.hop]
    if run.cut_short is not None or not own:
        return None
    missing = not any(verdict.check == what.check for result in own for verdict in result.verdicts)
    results = tuple(
        _judged(result, what, status, add=missing and result is own[0]) if result.hop == what.hop else _told(result)
        for result in run.results
    )
    verdicts = [found for result in results for found in _of_check(result, what)]
    hops = [hop.name for hop in what.pipeline.hops]
    return replace(run, results=results, findings=localise(verdicts, hops, probed=what.probed))


def _judged(result: HopResult, what: Pretence, status: Status, *, add: bool) -> HopResult:
    verdicts = [_verdict(each, status) if each.check == what.check else each for each in result.verdicts]
    if add:
        verdicts.append(_verdict(Verdict(check=what.check, status=status, reason=REASON, message=""), status))
    return replace(result, verdicts=tuple(verdicts))


def _verdict(verdict: Verdict, status: Status) -> Verdict:
    message = f"this is a drill: {verdict.check} is said to be {status}, whatever was seen"
    return replace(verdict, status=status, reason=REASON, message=message, observed=None, limit=None, unit=None)


def _told(result: HopResult) -> HopResult:
    nothing = all(verdict.status is Status.UNKNOWN for verdict in result.verdicts)
    return replace(result, verdicts=()) if nothing else result


def _of_check(result: HopResult, what: Pretence) -> list[HopVerdict]:
    """A hop that really fails the check is left out: it would be the origin."""
    return [
        HopVerdict(hop=result.hop, variant=result.variant, verdict=verdict)
        for verdict in result.verdicts
        if verdict.check == what.check and (result.hop == what.hop or verdict.status is not Status.FAIL)
    ]
