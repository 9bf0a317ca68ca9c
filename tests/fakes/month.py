"""Months of a pipeline's life: healthy but noisy streams, judged by `baseline` and localised. Time is passed in.

Every answer is a real observation with a handful of events, measured by `analysis.measure`. History is kept as the
store keeps it: the newest 200, and older clean ones until there are 200 of these.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random  # noqa: TID251  # seeded

from canary.analysis.measure import measure
from canary.analysis.remember import past_of
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.checks.localise import localise
from canary.core.finding import HopVerdict
from canary.core.observation import Completed, Exchange, Head, Observation
from canary.core.run import HopResult, Run
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    HeadersReceived,
    Identity,
    ReasoningDelta,
    Terminator,
    Usage,
    UsageReport,
    VisibleDelta,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
HOPS = ("edge", "agent", "gateway", "engine")
KEPT = 200


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Medians of one pipeline; `slower` and `thinks` are what a regression multiplies, `lag_s` what a gateway adds.

    What is usual all the same: each `day` and `week` has its busy hours, `drift` is the share by which all is slower
    each day, and `replicas` by how much one half of the requests is slower than the other.
    """

    prefill_s: float = 0.4
    tokens_per_s: float = 60.0
    reasoning: float = 900.0
    answer: float = 250.0
    version: str = "0.22.1"
    slower: float = 1.0
    thinks: float = 1.0
    lag_s: float = 0.0
    outliers: float = 0.005
    day: float = 0.3  # how much slower the busiest hour is than the mean
    week: float = 0.0  # how much slower than the mean a working day is, and quicker the others
    drift: float = 0.0
    replicas: float = 1.0


def noisy(rng, middle, sigma):
    return middle * math.exp(rng.gauss(0.0, sigma))


def observation(rng, hop, machine, now):
    """One answer of one hop. The agent and the edge do not show reasoning."""
    hour = now.hour + now.minute / 60
    load = 1 + machine.day * math.sin((hour - 8) / 24 * math.tau)
    stall = rng.uniform(3, 10) if rng.random() < machine.outliers else 1.0
    slower = machine.slower * (1 + machine.week * (1 if now.weekday() < 5 else -1))
    slower *= (1 + machine.drift) ** ((now - START) / timedelta(days=1))
    slower *= machine.replicas if machine.replicas != 1.0 and rng.random() < 0.5 else 1.0
    speed = noisy(rng, machine.tokens_per_s, 0.06) / (slower * (1 + (load - 1) / 3) * stall)
    reasoning = max(1, round(noisy(rng, machine.reasoning * machine.thinks, 0.15)))
    answer = max(1, round(noisy(rng, machine.answer, 0.15)))
    hidden = hop in ("agent", "edge")
    added = 0.01 + (machine.lag_s if hop != "engine" else 0.0)
    first = noisy(rng, machine.prefill_s * slower * load, 0.25) * stall + added
    thought = first + reasoning / speed
    end = thought + answer / speed
    text = "abcd"

    def event(at, *kinds):
        return [BytesReceived(at=at, size=90), EventReceived(at=at), *kinds]

    events = [HeadersReceived(at=0.01, status=200)]
    if not hidden:
        events += event(first, ReasoningDelta(at=first, text=text * 9, source="reasoning"))
        events += event(thought, ReasoningDelta(at=thought, text=text * 9, source="reasoning"))
    events += event(thought + 0.01, VisibleDelta(at=thought + 0.01, text="The "))
    events += event(end, VisibleDelta(at=end, text="answer is 42"))
    name = {"engine": f"vllm-{machine.version}-5eedf00d"}.get(hop)
    events += event(end, FinishReason(at=end, reason="stop"), Identity(at=end, model="m", system_fingerprint=name))
    usage = Usage(prompt_tokens=40, completion_tokens=reasoning + answer, reasoning_tokens=reasoning)
    events += event(end, UsageReport(at=end, usage=usage), Terminator(at=end))
    exchange = Exchange(
        protocol="openai-chat",
        url=f"http://{hop}/v1/chat/completions",
        started_at=now,
        request={"stream": True},
        end=Completed(at=end),
        head=Head(at=0.01, status=200, headers={"content-type": "text/event-stream"}),
    )
    return Observation(exchange=exchange, events=tuple(events), end=exchange.end)


@dataclass(kw_only=True)
class Life:
    """One pipeline, run after run. An incident opens with a finding and is over after two runs without one."""

    seed: str
    machine: Machine
    hops: tuple[str, ...] = HOPS
    history: dict[str, list] = field(default_factory=lambda: defaultdict(list))
    runs: int = 0
    checked: int = 0
    passes: int = 2

    def __post_init__(self):
        self.rng = Random(self.seed)

    def run(self, now):
        """The findings of the next run."""
        self.runs += 1
        results = [self._result(hop, now) for hop in reversed(self.hops)]
        verdicts = [
            HopVerdict(hop=result.hop, variant="plain", verdict=verdict)
            for result in results
            for verdict in result.verdicts
        ]
        self.checked += len(verdicts)
        findings = localise(verdicts, self.hops, probed=self.hops)
        self.passes = 0 if findings else self.passes + 1
        run = Run(id=str(self.runs), pipeline="p", probe="q", started_at=now, results=tuple(results), findings=findings)
        for result in results:
            self._remember(result.hop, past_of(run, result, quiet=self.passes >= 2))
        return findings

    def _result(self, hop, now):
        seen = observation(self.rng, hop, self.machine, now)
        evidence = Evidence(observation=seen, measurement=measure(seen), history=tuple(self.history[hop]))
        return HopResult(
            hop=hop,
            variant="plain",
            observation=seen,
            measurement=evidence.measurement,
            verdicts=judge(evidence, only=("reachable", "baseline")),
        )

    def _remember(self, hop, past):
        rows = [*self.history[hop], past]
        older, newest = rows[:-KEPT], rows[-KEPT:]
        missing = KEPT - sum(row.clean for row in newest)
        clean = [row for row in older if row.clean]
        self.history[hop] = [*(clean[-missing:] if missing else ()), *newest]

    def change(self, **changes):
        self.machine = replace(self.machine, **changes)


def times(days, every_s, start=START):
    return [start + timedelta(seconds=every_s * index) for index in range(int(days * 86400 / every_s))]
