"""What the parts of a daemon tell each other while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from canary.core import metrics
from canary.core.conclusion import Conclusion
from canary.core.metrics import Skip
from canary.core.run import Run
from canary.engine.alerts import Alerts
from canary.engine.cycle import History
from canary.engine.due import Due, Key
from canary.engine.governor import Allowance
from canary.engine.running import Running
from canary.engine.schedule import Clocks
from canary.engine.state import Known

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Ties:
    """Each part needs some that are made after it; `running`, which has them all, is set once it is made."""

    known: Known
    clocks: Clocks
    alerts: Alerts
    finished: Callable[[Run], None]
    running: Running = field(init=False)

    def open(self) -> Conclusion:
        return self.known.open(waiting=self.running.dispatcher.notifications())

    def allowances(self) -> Mapping[str, Allowance]:
        return self.running.allowances

    async def listen(self) -> None:
        await self.running.listen()

    def conclude(self, run: Run, history: History) -> Conclusion:
        return self.alerts.of_run(run, history, self.clocks.wall())

    def concluded(self, conclusion: Conclusion, run: Run) -> None:
        if conclusion.notifications:
            self.running.teller.show(run)
        self.running.publish()  # before anybody is told: who follows the link finds what the message says
        self.running.dispatcher.offer(conclusion.notifications)

    def skipped(self, key: Key, why: Skip, times: int) -> None:
        self.known.tally.add(metrics.RUNS_SKIPPED, *key, why, by=times)
        say = log.info if why is Skip.SHUTDOWN else log.warning  # whoever stops us knows that nothing runs then
        say("run skipped", pipeline=key[0], probe=key[1], why=why.value, times=times)

    def over(self, run: Run) -> None:
        self.running.over(run)
        self.finished(run)

    def failed(self, _due: Due, error: Exception) -> None:
        self.fault("worker", error)

    def fault(self, where: str, error: Exception) -> None:
        self.running.own_error(where, error)
