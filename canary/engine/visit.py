"""All requests of one run to one hop: what stays the same between them, and how one is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from canary.analysis.measure import measure
from canary.checks.evidence import Evidence
from canary.client.engine_metrics import Page, load_between, read_page
from canary.client.observe import observe
from canary.client.reader import StopRule
from canary.client.target import Limits, Target
from canary.core.body import merged
from canary.core.history import Past
from canary.core.measurement import Measurement
from canary.core.observation import Interrupted, Json, Observation
from canary.core.run import HopResult
from canary.core.spec import Assignment, Hop
from canary.core.timeout import Timeout
from canary.engine.request import body_of, most_bytes, target_of
from canary.prompts.compose import Composed, compose
from canary.prompts.nonce import nonce

CONNECT_TIMEOUT_S = 30.0
_RUNNING_COUNTS = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A request is about to be sent."""

    hop: str
    variant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer as it came, not judged: every arm of a budget test, and what a cancelled run had by then."""

    hop: str
    variant: str
    observation: Observation
    measurement: Measurement
    timeouts: tuple[Timeout, ...]


Watch = Callable[[Started | HopResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What is new in each run, and who is told of it. `now` is read once per request.

    `hear` is told of each answer before it is judged. `history`: earlier answers of this probe at this pipeline by
    (hop, variant), newest last.
    """

    run_id: str
    seed: int
    now: Callable[[], datetime]
    catalogue: tuple[Timeout, ...] = ()
    watch: Watch = lambda _: None
    hear: Callable[[Answered], None] = lambda _: None
    history: Mapping[tuple[str, str], tuple[Past, ...]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """`timers` watch this hop's stream. `below` is the plain answer of the hop below, where it was asked already.

    `counts_running`: the hop is known to report usage in every chunk if asked, so it is asked. `chars_per_token`:
    learned further down. `separates`: whether this hop tells answers from reasoning; None = no answer has shown it yet.
    """

    hop: Hop
    assignment: Assignment
    occasion: Occasion
    timers: tuple[Timeout, ...]
    below: Measurement | None = None
    counts_running: bool = False
    chars_per_token: float | None = None
    separates: bool | None = None

    def question(self, variant: str, *, index: int) -> Composed:
        """The run's question number `index`, under a nonce of its own."""
        mark = nonce(seed=self.occasion.seed, arm=f"{self.hop.name}/{variant}/{index}")
        return compose(self.assignment.probe, seed=self.occasion.seed, nonce=mark, index=index)

    @property
    def target(self) -> Target:
        return target_of(self.hop, self.assignment.probe, run_id=self.occasion.run_id)

    async def ask(
        self,
        variant: str,
        composed: Composed,
        *,
        change: Callable[[Json], Json] = lambda body: body,
        stop: StopRule | None = None,
    ) -> Evidence:
        """Send one request and measure its answer. `change` is made to the plain body; `stop` ends the stream early.

        Raises CancelledError where the run is cancelled.
        """
        self.occasion.watch(Started(hop=self.hop.name, variant=variant))
        body = change(body_of(self.hop, self.assignment.probe, composed))
        if self.counts_running and body.get("stream") is True:
            body = merged(body, _RUNNING_COUNTS)
        before = await self._metrics_page()
        answered = await self._send(variant, body, stop)
        return Evidence(
            observation=answered.observation,
            measurement=answered.measurement,
            timeouts=self.timers,
            catalogue=self.occasion.catalogue,
            below=self.below,
            first_visible_limit_s=self.assignment.first_visible_s,
            inline_reasoning=self.hop.inline_reasoning,
            forwards_reasoning=self.hop.forwards_reasoning,
            expected_answer=composed.answer,
            load=load_between(before, await self._metrics_page()),
            history=self.occasion.history.get((self.hop.name, variant), ()),
        )

    async def _send(self, variant: str, body: Json, stop: StopRule | None) -> Answered:
        """Whoever hears answers is told of it before anything else, also of one that was broken off."""
        limits = Limits(
            deadline_s=self.assignment.deadline_s, max_bytes=most_bytes(body), connect_timeout_s=CONNECT_TIMEOUT_S
        )
        observation = await observe(
            self.target,
            body,
            limits=limits,
            started_at=self.occasion.now(),
            stop=stop,
        )
        answered = Answered(
            hop=self.hop.name,
            variant=variant,
            observation=observation,
            measurement=measure(observation, chars_per_token=self.chars_per_token),
            timeouts=self.timers,
        )
        self.occasion.hear(answered)
        if isinstance(observation.end, Interrupted):
            raise asyncio.CancelledError  # `observe` gives back what it had; nobody wants the rest of this run
        return answered

    async def _metrics_page(self) -> Page | None:
        """What the hop says of itself now, where it says anything; its silence stops nothing."""
        if self.hop.metrics_url is None:
            return None
        return await read_page(self.hop.metrics_url, self.target, model=self.hop.model)
