"""A view of the snapshot for Prometheus. No metric object lives between scrapes.

What a scrape shows is computed from one immutable snapshot, so that a series whose pipeline, hop or probe left the
config is gone with the next scrape, and probes never wait for a lock. Counters and distributions come ready; gauges
are rows of `GAUGES`. What was not measured is left out and never zero: an answer that no connection led to has no
silence, a timer that the stream broke off under has no headroom.

The classic text format knows no exemplars; who asks for OpenMetrics finds the run behind the newest value of a bucket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    Exemplar,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from canary import __version__
from canary.core import metrics as names
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.measurement import Measurement
from canary.core.metrics import BUCKETS_S, METRICS, Kind, Metric
from canary.core.observation import ConnectFailed, Interrupted, StoppedByUs
from canary.core.snapshot import Distribution, Latest, Snapshot
from canary.core.timeout import Clock
from canary.core.verdict import Verdict, worst

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Sample: TypeAlias = tuple[tuple[str, ...], float]

_BOUNDS = (*(str(bound) for bound in BUCKETS_S), "+Inf")
_FIRES = (State.FIRING, State.RECOVERING)


class SnapshotCollector(Collector):
    """`snapshot` is called once a scrape."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterable[Family]:
        """Nothing: names are unique by their table, and registering must not scrape."""
        return ()

    def collect(self) -> Iterator[Family]:
        return families(self._snapshot())


def registry_of(snapshot: Callable[[], Snapshot]) -> CollectorRegistry:
    """A registry of its own, with our memory, CPU and open files beside the snapshot."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SnapshotCollector(snapshot))
    ProcessCollector(registry=registry)
    return registry


def render(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The exposition and its content type, in the format that the Accept header asks for."""
    try:
        encode, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # a version that is no number; seen in prometheus_client 0.26
        encode, content_type = choose_encoder("")
    return encode(registry), content_type


def families(snapshot: Snapshot) -> Iterator[Family]:
    """In the order of `core.metrics`; a metric without any series is left out."""
    counters: dict[str, list[Sample]] = defaultdict(list)
    for series, value in snapshot.counters.items():
        counters[series.metric].append((series.labels, value))
    distributions: dict[str, list[tuple[tuple[str, ...], Distribution]]] = defaultdict(list)
    for series, distribution in snapshot.distributions.items():
        distributions[series.metric].append((series.labels, distribution))
    for metric in METRICS.values():
        family = _family(metric, snapshot, counters, distributions)
        if family.samples:
            yield family


def _family(
    metric: Metric,
    snapshot: Snapshot,
    counters: Mapping[str, list[Sample]],
    distributions: Mapping[str, list[tuple[tuple[str, ...], Distribution]]],
) -> Family:
    if metric.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, distribution in distributions.get(metric.name, ()):
            histogram.add_metric(labels, _buckets(distribution), sum_value=distribution.total)
        return histogram
    if metric.kind is Kind.COUNTER:
        counter = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in counters.get(metric.name, ()):
            counter.add_metric(labels, value)
        return counter
    gauge = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in GAUGES[metric.name](snapshot):
        gauge.add_metric(labels, value)
    return gauge


def _buckets(distribution: Distribution) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    """Cumulative, as the format wants them."""
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for index, (bound, count) in enumerate(zip(_BOUNDS, accumulate(distribution.counts), strict=True)):
        newest = distribution.exemplars.get(index)
        if newest is None:
            buckets.append((bound, count))
        else:
            exemplar = Exemplar({"run_id": newest.run_id}, newest.value, newest.at.timestamp())
            buckets.append((bound, count, exemplar))
    return buckets


def _place(latest: Latest) -> tuple[str, ...]:
    """The values of `core.metrics.ANSWER`."""
    return (latest.pipeline, latest.hop, latest.probe, latest.variant)


def _ratio(snapshot: Snapshot) -> Iterator[Sample]:
    for latest in snapshot.latest:
        share = reasoning_share(latest.measurement)
        if share is not None:
            yield _place(latest), share


def reasoning_share(measurement: Measurement) -> float | None:
    """None too where we broke off: what was to become visible had not come yet."""
    if isinstance(measurement.end, StoppedByUs | Interrupted):
        return None
    return measurement.reasoning_to_output_ratio


def _silence(snapshot: Snapshot) -> Iterator[Sample]:
    """A gap that was still open counts: it is a lower bound, and the one that hurts."""
    for latest in snapshot.latest:
        if isinstance(latest.measurement.end, ConnectFailed | Interrupted):
            continue
        for clock in Clock:
            yield (*_place(latest), clock.value), getattr(latest.measurement.silence, clock.value).longest_s


def _headroom(snapshot: Snapshot) -> Iterator[Sample]:
    for latest in snapshot.latest:
        for verdict in latest.verdicts:
            share = headroom(verdict)
            if share is not None:
                yield (*_place(latest), verdict.subject or ""), share


def headroom(verdict: Verdict) -> float | None:
    """The share of a timeout's limit that was left, or None where the verdict does not tell."""
    if verdict.check != "idle_timeout" or verdict.observed is None or not verdict.limit:
        return None
    return 1.0 - verdict.observed / verdict.limit


def _check_status(snapshot: Snapshot) -> Iterator[Sample]:
    for latest in snapshot.latest:
        by_check: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in latest.verdicts:
            by_check[verdict.check].append(verdict)
        for check, verdicts in by_check.items():
            yield (*_place(latest), check), names.STATUS_VALUES[worst(verdicts)]


def _incidents(snapshot: Snapshot) -> Iterator[Sample]:
    firing = [incident.severity for incident in snapshot.incidents if incident.state in _FIRES]
    for severity in Severity:
        yield (severity.value,), firing.count(severity)


def _last_run(snapshot: Snapshot) -> Iterator[Sample]:
    for run, at in snapshot.last_runs.items():
        yield run, at.timestamp()


def _reload_at(snapshot: Snapshot) -> Iterator[Sample]:
    if snapshot.last_reload_at is not None:
        yield (), snapshot.last_reload_at.timestamp()


def _day_share(snapshot: Snapshot) -> Iterator[Sample]:
    for pipeline in snapshot.plan.pipelines:
        if pipeline.tokens_per_day:
            yield (pipeline.name,), snapshot.tokens_today.get(pipeline.name, 0) / pipeline.tokens_per_day


def _one(value: Callable[[Snapshot], float]) -> Callable[[Snapshot], Iterable[Sample]]:
    return lambda snapshot: [((), value(snapshot))]


GAUGES: Mapping[str, Callable[[Snapshot], Iterable[Sample]]] = MappingProxyType(
    {
        names.RATIO: _ratio,
        names.LONGEST_SILENCE: _silence,
        names.HEADROOM: _headroom,
        names.CHECK_STATUS: _check_status,
        names.INCIDENTS_FIRING: _incidents,
        names.LAST_RUN: _last_run,
        names.SCHEDULE_LAG: _one(lambda snapshot: snapshot.schedule_lag_s),
        names.LOOP_LAG: _one(lambda snapshot: snapshot.loop_lag_s),
        names.RELOAD_OK: _one(lambda snapshot: snapshot.last_reload_ok),
        names.RELOAD_AT: _reload_at,
        names.DAY_SHARE: _day_share,
        names.OUTBOX: _one(lambda snapshot: snapshot.waiting),
        names.DEAD_LETTERS: _one(lambda snapshot: snapshot.dead_letters),
        names.STORE_UP: _one(lambda snapshot: snapshot.store_up),
        names.READY: _one(lambda snapshot: not snapshot.readiness.problems),
        names.BUILD_INFO: lambda _: [((__version__,), 1.0)],
    }
)
