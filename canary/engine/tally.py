"""Counters and histograms as plain numbers, and what one run adds to them. `core.metrics` says what each means."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from canary.analysis.remember import ended_by_us
from canary.core import metrics
from canary.core.measurement import Measurement
from canary.core.metrics import BUCKETS_S, METRICS, Kind, TokenKind
from canary.core.run import HopResult, Run
from canary.core.snapshot import Distribution, Exemplar, Series
from canary.core.verdict import Status, worst

_EMPTY = Distribution(counts=(0,) * (len(BUCKETS_S) + 1), total=0.0)
_NOT_NAMED = (Status.PASS, Status.UNKNOWN)


@dataclass(slots=True)
class Tally:
    counters: dict[Series, float] = field(default_factory=dict)
    distributions: dict[Series, Distribution] = field(default_factory=dict)

    def add(self, metric: str, *labels: str, by: float = 1.0) -> None:
        series = Series(metric=metric, labels=labels)
        self.counters[series] = self.counters.get(series, 0.0) + by

    def begin(self, known: Iterable[Series]) -> None:
        """Series that are shown before anything was counted in them."""
        for series in known:
            if METRICS[series.metric].kind is Kind.HISTOGRAM:
                self.distributions.setdefault(series, _EMPTY)
            else:
                self.counters.setdefault(series, 0.0)

    def run(self, run: Run) -> None:
        """A run that was cut short says nothing but that."""
        outcome = run.cut_short or worst(verdict for result in run.results for verdict in result.verdicts)
        self.add(metrics.RUNS, run.pipeline, run.probe, outcome.lower())
        if run.cut_short is None:
            for result in run.results:
                self._result(run, result)

    def tokens(self, answer: tuple[str, str, str, str], measurement: Measurement) -> None:
        """`answer`: pipeline, hop, probe, variant."""
        for kind, count in tokens_of(measurement).items():
            self.add(metrics.TOKENS, *answer, kind, by=count)

    def forget(
        self, pipelines: Collection[str], hops: Collection[tuple[str, str]], runs: Collection[tuple[str, str]]
    ) -> None:
        """Drop the series of what is not in the plan any more. `hops` and `runs`: with their pipelines."""

        def stays(series: Series) -> bool:
            at = dict(zip(METRICS[series.metric].labels, series.labels, strict=True))
            pipeline, hop, probe = at.get("pipeline"), at.get("hop"), at.get("probe")
            at_hop = hop is None or (pipeline, hop) in hops
            of_probe = probe is None or (pipeline, probe) in runs
            return pipeline is None or (pipeline in pipelines and at_hop and of_probe)

        self.counters = {series: value for series, value in self.counters.items() if stays(series)}
        self.distributions = {series: value for series, value in self.distributions.items() if stays(series)}

    def forget_runs(self, before: datetime) -> None:
        """No exemplar names a run that began before this: it is not stored any more, and a link to it leads nowhere."""
        for series, each in self.distributions.items():
            kept = {place: exemplar for place, exemplar in each.exemplars.items() if exemplar.at >= before}
            if len(kept) < len(each.exemplars):
                self.distributions[series] = replace(each, exemplars=MappingProxyType(kept))

    def _result(self, run: Run, result: HopResult) -> None:
        answer = (run.pipeline, result.hop, run.probe, result.variant)
        for verdict in result.verdicts:
            self.add(metrics.VERDICTS, *answer, verdict.check, verdict.status, verdict.reason)
            if verdict.check == "visible_content" and verdict.status not in _NOT_NAMED:
                self.add(metrics.ZERO_VISIBLE, *answer, verdict.reason)
        if says_nothing(result):
            return
        for metric, seconds in _durations(result.measurement):
            series = Series(metric=metric, labels=answer)
            before = self.distributions.get(series, _EMPTY)
            self.distributions[series] = _with(before, seconds, run.id, run.started_at)
        if result.measurement.time_to_first_visible_content_s is None:
            self._never_visible(answer, result.measurement)

    def _never_visible(self, answer: tuple[str, ...], measurement: Measurement) -> None:
        self.add(metrics.FIRST_VISIBLE_MISSING, *answer)
        series = Series(metric=metrics.FIRST_VISIBLE, labels=answer)
        before = self.distributions.get(series, _EMPTY)
        counts = (*before.counts[:-1], before.counts[-1] + 1)
        self.distributions[series] = Distribution(
            counts=counts, total=before.total + measurement.total_s, exemplars=before.exemplars
        )


def tokens_of(measurement: Measurement) -> Mapping[TokenKind, int]:
    """What one answer used, by kind; what is reported beyond the text that was told apart is output."""
    usage = measurement.usage
    reasoning = measurement.reasoning_tokens.value if measurement.reasoning_tokens else 0
    visible = measurement.visible_tokens.value if measurement.visible_tokens else 0
    reported = (usage.completion_tokens or 0) if usage else 0
    counts = {
        TokenKind.INPUT: (usage.prompt_tokens or 0) if usage else 0,
        TokenKind.REASONING: reasoning,
        TokenKind.VISIBLE: visible,
        TokenKind.OUTPUT: max(0, reported - reasoning - visible),
    }
    return {kind: count for kind, count in counts.items() if count}


def says_nothing(result: HopResult) -> bool:
    """We stopped it, or our own fault spoiled its numbers."""
    ours = any(verdict.reason == "prober_fault" for verdict in result.verdicts)
    return ours or ended_by_us(result.measurement, result.variant)


def _durations(measurement: Measurement) -> Iterator[tuple[str, float]]:
    known = (
        (metrics.FIRST_REASONING, measurement.time_to_first_reasoning_token_s),
        (metrics.FIRST_VISIBLE, measurement.time_to_first_visible_content_s),
        (metrics.FIRST_TOKEN, measurement.time_to_first_token_s),
        (metrics.DURATION, measurement.total_s),
    )
    return ((metric, seconds) for metric, seconds in known if seconds is not None)


def _with(before: Distribution, value: float, run_id: str, at: datetime) -> Distribution:
    place = bisect_left(BUCKETS_S, value)
    counts = tuple(count + (index == place) for index, count in enumerate(before.counts))
    exemplars = {**before.exemplars, place: Exemplar(value=value, run_id=run_id, at=at)}
    return Distribution(counts=counts, total=before.total + value, exemplars=MappingProxyType(exemplars))
