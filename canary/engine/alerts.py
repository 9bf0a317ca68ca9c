"""What follows from a run, from time, from a reload and from a person: `canary.alerting`, given what is known now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from canary import alerting
from canary.alerting import Rules, acknowledge, conclude, rejoin, retire, rules_of, tick
from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.finding import Finding
from canary.core.history import Past
from canary.core.incident import Page
from canary.core.route import Silence
from canary.core.run import Run
from canary.engine.state import Known
from canary.wire.curl import curl


@dataclass(slots=True, kw_only=True)
class Alerts:
    """`silences` and `deploys` are those that the store has, read again every so often: other processes add some."""

    known: Known
    silences: tuple[Silence, ...] = ()
    deploys: tuple[Deploy, ...] = ()

    def of_run(self, run: Run, history: Mapping[tuple[str, str], Sequence[Past]], now: datetime) -> Conclusion:
        return conclude(
            run, self._known, self._rules, now, repeat=lambda finding: repeat(finding, run), history=history
        )

    def of_time(self, now: datetime) -> Conclusion:
        return tick(self._known, self._rules, now)

    def of_reload(self, now: datetime) -> Conclusion:
        return retire(self._known, self._rules, now)

    def of_return(self, stored: alerting.Known, now: datetime) -> tuple[alerting.Known, Conclusion]:
        """`stored`: what a store knew that comes only now."""
        return rejoin(stored, self._known, self._rules, now)

    def of_ack(self, page: Page, who: str, now: datetime) -> Conclusion:
        return acknowledge(page, who, self._known, self._rules, now)

    @property
    def _known(self) -> alerting.Known:
        return alerting.Known(incidents=tuple(self.known.incidents.values()), pages=tuple(self.known.pages.values()))

    @property
    def _rules(self) -> Rules:
        return rules_of(self.known.plan, silences=self.silences, deploys=self.deploys)


def repeat(finding: Finding, run: Run) -> str | None:
    """The request at the origin as a curl command without credentials; None where it was not sent."""
    results = {(result.hop, result.variant): result for result in run.results}
    result = results.get((finding.origin, finding.variant))
    return curl(result.observation.exchange) if result else None
