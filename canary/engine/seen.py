"""What a run has shown so far: if it is cut short, this is what there is of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from canary.core.observation import Interrupted
from canary.core.run import CutShort, HopResult, Run
from canary.core.verdict import Status, Verdict
from canary.engine.due import Due
from canary.engine.visit import Answered, Started


@dataclass(slots=True, kw_only=True)
class Seen:
    """What a run has shown so far: the last result of each hop and variant."""

    due: Due
    started_at: datetime
    results: dict[tuple[str, str], HopResult] = field(default_factory=dict)

    def watch(self, step: Started | HopResult) -> None:
        if isinstance(step, HopResult):
            self.results[step.hop, step.variant] = step

    def hear(self, answer: Answered) -> None:
        """A request that was in flight when we stopped is a result too, and says that we stopped it."""
        end = answer.observation.end
        if not isinstance(end, Interrupted):
            return
        message = f"we broke off the request {end.at:.1f} s after it was sent"
        verdict = Verdict(check="reachable", status=Status.UNKNOWN, reason="interrupted", message=message)
        self.results[answer.hop, answer.variant] = HopResult(
            hop=answer.hop,
            variant=answer.variant,
            observation=answer.observation,
            measurement=answer.measurement,
            verdicts=(verdict,),
            timeouts=answer.timeouts,
        )

    def cut_short(self, why: CutShort, now: datetime) -> Run:
        """The run as it is now; there will be no more of it."""
        pipeline, probe = self.due.key
        return Run(
            id=self.due.run_id,
            pipeline=pipeline,
            probe=probe,
            started_at=self.started_at,
            results=tuple(self.results.values()),
            finished_at=now,
            cut_short=why,
        )
