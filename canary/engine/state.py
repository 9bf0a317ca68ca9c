"""What the daemon knows at this moment, and the one snapshot of it that everybody else reads.

Only the event loop's own thread changes it, never across an await: a conclusion is drawn from incidents and pages and
becomes the new ones in one step. What is written to the store follows; what is shown is swapped as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from canary.core.conclusion import Conclusion
from canary.core.incident import Incident, Page, State
from canary.core.notification import Notification
from canary.core.run import Run
from canary.core.snapshot import Latest, Readiness, Snapshot
from canary.core.spec import Plan
from canary.engine.due import Key
from canary.engine.tally import Tally
from canary.engine.zeros import zeros

PAGES_KEPT = timedelta(hours=1)  # once resolved: as long as it takes to call a page flapping
_OPEN = (State.FIRING, State.RECOVERING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What is measured of the daemon itself, for one snapshot."""

    now: datetime
    next_runs: Mapping[Key, datetime]
    schedule_lag_s: float
    loop_lag_s: float
    tokens_today: Mapping[str, int]
    waiting: int
    dead_letters: int
    store_up: bool
    readiness: Readiness


@dataclass(slots=True, kw_only=True)
class Known:
    """`latest` is by (pipeline, probe, hop, variant)."""

    plan: Plan
    started_at: datetime
    tally: Tally = field(default_factory=Tally)
    incidents: dict[str, Incident] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)
    latest: dict[tuple[str, str, str, str], Latest] = field(default_factory=dict)
    last_runs: dict[Key, datetime] = field(default_factory=dict)
    last_reload_ok: bool = True
    last_reload_at: datetime | None = None

    def hold(self, incidents: Iterable[Incident], pages: Iterable[Page]) -> None:
        """These are all that there are."""
        self.incidents = {incident.id: incident for incident in incidents}
        self.pages = {page.id: page for page in pages}

    def show(self, latest: Iterable[Latest]) -> None:
        """What the store remembers from before this process, of probes that have not run since."""
        ran = frozenset(self.last_runs)
        for each in latest:
            key = (each.pipeline, each.probe)
            if key not in ran:
                self._show(each)
                self.last_runs[key] = max(each.at, self.last_runs.get(key, each.at))
        self.follow(self.plan)

    def learn(self, run: Run) -> None:
        """Nothing follows from a run that was cut short, so nothing of it is shown as the latest.

        A whole one takes the place of all that its probe showed before: what it asks no more is not shown either. Nor
        is what a reload took away while it ran.
        """
        kept = tuple(result for result in run.results if self.has(run.pipeline, run.probe, result.hop))
        if (run.pipeline, run.probe) not in _variants(self.plan) or (run.results and not kept):
            return
        run = replace(run, results=kept)
        self.tally.run(run)
        if run.cut_short is not None:
            return
        before = [place for place in self.latest if place[:2] == (run.pipeline, run.probe)]
        for place in before:
            del self.latest[place]
        self.last_runs[run.pipeline, run.probe] = run.finished_at or run.started_at
        for result in run.results:
            self._show(
                Latest(
                    pipeline=run.pipeline,
                    probe=run.probe,
                    hop=result.hop,
                    variant=result.variant,
                    run_id=run.id,
                    at=run.finished_at or run.started_at,
                    measurement=result.measurement,
                    verdicts=result.verdicts,
                )
            )

    def conclude(self, conclusion: Conclusion, now: datetime) -> None:
        for incident in conclusion.incidents:
            self.incidents[incident.id] = incident
            if incident.state is State.OK:
                del self.incidents[incident.id]
        for page in conclusion.pages:
            self.pages[page.id] = page
        over = [p.id for p in self.pages.values() if p.resolved_at is not None and now - p.resolved_at > PAGES_KEPT]
        for page_id in over:
            del self.pages[page_id]

    def open(self, *, waiting: Iterable[Notification]) -> Conclusion:
        """All that a store must know to go on from here; `waiting`: what was decided and nobody was told yet."""
        return Conclusion(
            incidents=tuple(self.incidents.values()), pages=tuple(self.pages.values()), notifications=tuple(waiting)
        )

    def forget_told(self, receivers: Mapping[str, frozenset[str]]) -> None:
        """What a page told the receivers that stand under its id."""
        for page_id, names in receivers.items():
            if (page := self.pages.get(page_id)) is not None and names:
                self.pages[page_id] = untold(page, names)

    def quiet(self, pipeline: str) -> bool:
        """Whether no incident of this pipeline is open."""
        return not any(each.key.pipeline == pipeline and each.state in _OPEN for each in self.incidents.values())

    def follow(self, plan: Plan) -> None:
        """Another plan: whatever it does not have is not shown any more. Incidents end in their own way."""
        before, now = _variants(self.plan), _variants(plan)
        self.plan = plan
        hops = {(p.name, hop.name) for p in plan.pipelines for hop in p.hops if hop.url is not None}
        runs = set(now)
        same = {key for key in now if before.get(key, now[key]) == now[key]}
        self.tally.forget({p.name for p in plan.pipelines}, hops, same)
        self.tally.begin(zeros(plan))
        self.last_runs = {key: at for key, at in self.last_runs.items() if key in runs}
        self.latest = {
            place: each
            for place, each in self.latest.items()
            if (each.pipeline, each.hop) in hops and (each.pipeline, each.probe) in runs
        }

    def snapshot(self, pulse: Pulse) -> Snapshot:
        return Snapshot(
            at=pulse.now,
            started_at=self.started_at,
            plan=self.plan,
            latest=tuple(self.latest.values()),
            incidents=tuple(self.incidents.values()),
            pages=tuple(self.pages.values()),
            counters=MappingProxyType(dict(self.tally.counters)),
            distributions=MappingProxyType(dict(self.tally.distributions)),
            last_runs=MappingProxyType(dict(self.last_runs)),
            next_runs=MappingProxyType(dict(pulse.next_runs)),
            schedule_lag_s=pulse.schedule_lag_s,
            loop_lag_s=pulse.loop_lag_s,
            last_reload_ok=self.last_reload_ok,
            last_reload_at=self.last_reload_at,
            tokens_today=MappingProxyType(dict(pulse.tokens_today)),
            waiting=pulse.waiting,
            dead_letters=pulse.dead_letters,
            store_up=pulse.store_up,
            readiness=pulse.readiness,
        )

    def _show(self, each: Latest) -> None:
        self.latest[each.pipeline, each.probe, each.hop, each.variant] = each

    def has(self, pipeline: str, probe: str, hop: str) -> bool:
        """Whether the plan as it is now asks this."""
        return any(
            p.name == pipeline
            and any(assignment.probe.name == probe for assignment in p.assignments)
            and any(each.name == hop and each.url is not None for each in p.hops)
            for p in self.plan.pipelines
        )


def untold(page: Page, receivers: frozenset[str]) -> Page:
    """The page without what was said to them."""
    return replace(page, told=tuple(each for each in page.told if each.receiver not in receivers))


def _variants(plan: Plan) -> Mapping[Key, object]:
    """What decides which forms of the request a probe has."""
    return {(p.name, each.probe.name): each.budgets for p in plan.pipelines for each in p.assignments}
