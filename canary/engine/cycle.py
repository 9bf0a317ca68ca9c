"""One run, from due to published; the only place where the parts meet.

1. Ask the governor whether it may cost what it costs.
2. Read the history that it is compared with.
3. Run it under a deadline. Whatever stops it, what was seen by then is a `Run`.
4. Look at ourselves before the target is blamed.
5. Conclude, in one step with what was known: no other conclusion can come in between.
6. Hand notifications to the dispatcher, the rest to the archive: one transaction.
7. Write one line to the log, and say that it is over.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from canary.analysis.spent import tokens_spent
from canary.core import metrics
from canary.core.conclusion import Conclusion
from canary.core.history import Past
from canary.core.metrics import Skip
from canary.core.run import CutShort, Run
from canary.core.spec import Assignment, Pipeline
from canary.core.timeout import Timeout
from canary.engine.archive import Archive, Entry
from canary.engine.due import Due, Key, Why
from canary.engine.governor import Allowance, objection
from canary.engine.health import guarded
from canary.engine.log import run_line
from canary.engine.longest import longest_s
from canary.engine.run import run_probe
from canary.engine.schedule import Clocks
from canary.engine.seen import Seen
from canary.engine.spending import Spending
from canary.engine.state import Known
from canary.engine.visit import Answered, Occasion

MOST_CONFIRMS = 3  # in a row; more would be a loop

log = structlog.get_logger()

History = Mapping[tuple[str, str], tuple[Past, ...]]  # by hop and variant


@dataclass(slots=True, kw_only=True)
class Cycle:
    """`conclude` is pure: what follows from a run and the history that it was compared with.

    `listen` takes in what other processes asked for, before anything follows from a failure.
    `concluded` is told what changed, before it is stored; `over` of each run, once it is stored or waits to be.
    `seed`: of each run's questions. `objected`: the probes that the governor keeps back now, and why.
    """

    known: Known
    archive: Archive
    clocks: Clocks
    catalogue: tuple[Timeout, ...]
    allowances: Callable[[], Mapping[str, Allowance]]
    spending: Spending
    listen: Callable[[], Awaitable[None]]
    conclude: Callable[[Run, History], Conclusion]
    concluded: Callable[[Conclusion, Run], None]
    over: Callable[[Run], None]
    skipped: Callable[[Key, Skip, int], None]
    seed: Callable[[], int]
    longest_s: Callable[[Pipeline, Assignment], float] = longest_s
    objected: dict[Key, str] = field(default_factory=dict)

    async def perform(self, due: Due) -> Due | None:
        """The worker's: one run, and the run that should confirm it."""
        found = self.find(due.key)
        if found is None or not self._affordable(due):
            return None
        pipeline, assignment = found
        history = await self.archive.history(due.key)
        run, cancelled = await self._probe(due, pipeline, assignment, history)
        outdated = self.find(due.key) != found
        confirm = await self._conclude(run, due, history, outdated=outdated)
        if cancelled:
            raise asyncio.CancelledError
        return confirm

    def find(self, key: Key) -> tuple[Pipeline, Assignment] | None:
        """In the plan as it is now; None where a reload took it away."""
        return next(
            (
                (pipeline, assignment)
                for pipeline in self.known.plan.pipelines
                for assignment in pipeline.assignments
                if (pipeline.name, assignment.probe.name) == key
            ),
            None,
        )

    def urls(self, key: Key) -> frozenset[str]:
        found = self.find(key)
        return frozenset(hop.url for hop in found[0].hops if hop.url) if found else frozenset()

    def _affordable(self, due: Due) -> bool:
        """A person who asks for a run gets it; the schedule and confirmations keep to the limits."""
        pipeline, probe = due.key
        allowance, now = self.allowances().get(pipeline), self.clocks.wall()
        if allowance is None or due.why is Why.DEMAND:
            return True
        why = objection(allowance, probe, spent=self.spending.of(pipeline, now), now=now)
        if why is None:
            self.objected.pop(due.key, None)
            return True
        if due.key not in self.objected:
            log.warning("token limit: probe stopped", pipeline=pipeline, probe=probe, why=why)
        self.objected[due.key] = why
        self.skipped(due.key, Skip.BUDGET, 1)
        return False

    async def _probe(
        self,
        due: Due,
        pipeline: Pipeline,
        assignment: Assignment,
        history: History,
    ) -> tuple[Run, bool]:
        """The run, whole or cut short, and whether we were cancelled meanwhile.

        Cut short is also what was whole, where we could not look at ourselves any more before the target is blamed.
        """
        seen, cancelled = Seen(due=due, started_at=self.clocks.wall()), False
        slept_s = self.clocks.slept()
        try:
            async with asyncio.timeout(self.longest_s(pipeline, assignment)) as deadline:
                run = await run_probe(pipeline, assignment, self._occasion(seen, history))
            run = replace(run, finished_at=self.clocks.wall())
            return await self._guarded(run, slept_s=self.clocks.slept() - slept_s), cancelled
        except TimeoutError:
            why = CutShort.DEADLINE if deadline.expired() else self._bug(due)
        except asyncio.CancelledError:
            why, cancelled = CutShort.SHUTDOWN, True
        except Exception:  # noqa: BLE001  # whatever a target does is data, so this is ours
            why = self._bug(due)
        return seen.cut_short(why, self.clocks.wall()), cancelled

    def _occasion(self, seen: Seen, history: History) -> Occasion:
        def hear(answer: Answered) -> None:
            seen.hear(answer)
            self._count_tokens(seen.due.key, answer)

        return Occasion(
            run_id=seen.due.run_id,
            seed=self.seed(),
            now=self.clocks.wall,
            catalogue=self.catalogue,
            watch=seen.watch,
            hear=hear,
            history=history,
        )

    async def _guarded(self, run: Run, *, slept_s: float) -> Run:
        """The run as it may be judged, and all heard that others asked for before it is."""
        run = await guarded(run, self.known.plan.service.own_network, slept_s=slept_s)
        if run.findings:
            try:
                await self.listen()
            except Exception:  # noqa: BLE001  # a bug of ours in what others asked for must not silence a page
                self._own_error("listen", run.id)
        return run

    async def _conclude(self, run: Run, due: Due, history: History, *, outdated: bool) -> Due | None:
        """A shutdown says nothing about anything, so nothing follows from it, not even that we could not tell.

        Nor does anything follow where a reload changed meanwhile what is asked (`outdated`): what the config before it
        found may be what nothing asks for any more, and would never pass again.
        """
        nothing = outdated or run.cut_short is CutShort.SHUTDOWN
        conclusion = Conclusion() if nothing else self._safely(run, history)
        self.known.conclude(conclusion, self.clocks.wall())
        self.known.learn(run)
        self.concluded(conclusion, run)
        entry = Entry(run=run, conclusion=conclusion, quiet=self.known.quiet(run.pipeline))
        saved = None  # where we are cancelled meanwhile it is in the archive's hands, and nobody waited to see more
        try:
            saved = await self.archive.save(entry)
        finally:
            log.info("run", **run_line(run, why=due.why), saved=saved)
            self.over(run)
        return self._confirming(due) if conclusion.confirm else None

    def _safely(self, run: Run, history: History) -> Conclusion:
        """A bug of ours in what follows from a run must not cost the run itself."""
        try:
            return self.conclude(run, history)
        except Exception:  # noqa: BLE001
            self._own_error("conclude", run.id)
            return Conclusion()

    def _confirming(self, due: Due) -> Due | None:
        confirms = due.confirms + 1 if due.why is Why.CONFIRM else 1
        if confirms > MOST_CONFIRMS:
            return None
        return Due(
            key=due.key,
            run_id=secrets.token_hex(6),
            due_s=self.clocks.steady(),
            why=Why.CONFIRM,
            confirms=confirms,
        )

    def _count_tokens(self, key: Key, answer: Answered) -> None:
        pipeline, probe = key
        if self.known.has(pipeline, probe, answer.hop):
            self.known.tally.tokens((pipeline, answer.hop, probe, answer.variant), answer.measurement)
        spent = tokens_spent(answer.measurement, answer.observation.exchange)
        self.spending.add(pipeline, spent, self.clocks.wall())

    def _bug(self, due: Due) -> CutShort:
        self._own_error("run", due.run_id)
        return CutShort.BUG

    def _own_error(self, where: str, run_id: str) -> None:
        log.exception("our own fault", where=where, run=run_id)  # noqa: LOG004  # only called while one is handled
        self.known.tally.add(metrics.OWN_ERRORS, where)
