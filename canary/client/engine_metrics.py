"""What an engine says of itself, from its metrics page, read just before and just after a request.

Its fault is never ours: a page that is not there, slow, huge or no metrics at all is None, and the request goes out all
the same. A page may take 2 s before the request, which is measured from the moment it is sent and so is not delayed
by it. Only the lines that are needed are parsed: a page of thousands would hold up the loop.

The request's credentials go to the metrics page only where it has the same origin as the hop itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from ssl import SSLContext
from types import MappingProxyType

import aiohttp
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from yarl import URL

from canary.client.redact import revealed
from canary.client.target import Target, ssl_context
from canary.core.engine_load import EngineLoad

_TIMEOUT_S = 2.0
_MOST_BYTES = 4 * 1024 * 1024
_MOST = 1e15  # no engine counts as far; a sum of larger ones may be no number any more
_MODEL_LABELS = ("model_name", "model", "requested_model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What an engine calls its numbers; the first of several names that is on the page counts. Times are seconds.

    `running`, `waiting`, `kv_cache_use` are gauges, `queue`, `first_token` histograms.
    """

    running: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    kv_cache_use: tuple[str, ...] = ()
    queue: tuple[str, ...] = ()
    first_token: tuple[str, ...] = ()
    source: str


ENGINES: Mapping[str, Names] = MappingProxyType(
    {
        "vllm": Names(
            running=("vllm:num_requests_running",),
            waiting=("vllm:num_requests_waiting",),
            kv_cache_use=("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),  # the second before 0.10
            queue=("vllm:request_queue_time_seconds",),  # counts when a request is finished
            first_token=("vllm:time_to_first_token_seconds",),
            source="vllm 0.32.0, vllm/v1/metrics/loggers.py; https://docs.vllm.ai/en/latest/design/metrics.html",
        ),
        "sglang": Names(
            running=("sglang:num_running_reqs",),
            waiting=("sglang:num_queue_reqs",),
            kv_cache_use=("sglang:token_usage",),
            queue=("sglang:queue_time_seconds",),
            first_token=("sglang:time_to_first_token_seconds",),
            source="https://docs.sglang.io/references/production_metrics.html",
        ),
        "litellm": Names(
            running=("litellm_in_flight_requests",),
            queue=("litellm_request_queue_time_seconds",),  # from arrival at the proxy to its first own work
            first_token=("litellm_llm_api_time_to_first_token_metric",),  # of the hop below it; streams only
            source="litellm 1.108.7, integrations/prometheus.py and proxy/middleware/in_flight_requests_middleware.py",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """A histogram's totals since the engine started, of all its series."""

    total: float
    count: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The numbers of one metrics page at one moment."""

    running: float | None = None
    waiting: float | None = None
    kv_cache_use: float | None = None
    queue: Histogram | None = None
    first_token: Histogram | None = None


async def read_page(url: str, target: Target, *, model: str | None = None) -> Page | None:
    """The page at `url` beside the hop at `target`; None where it cannot be read within 2 s, or holds none of these.

    Raises OSError where a TLS file cannot be loaded.
    """
    tls = ssl_context(target.tls) if target.tls else True
    try:
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S), cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
        ) as session:
            text = await _text(session, URL(url), target, tls)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    return parse(text, model=model) if text is not None else None


async def _text(session: aiohttp.ClientSession, url: URL, target: Target, tls: SSLContext | bool) -> str | None:
    """One redirect is followed, to the same path with a slash: where the page is an app of its own, it has one."""
    slashed = url.with_path(f"{url.path}/", keep_query=True)
    ours = revealed(target.headers) if url.origin() == URL(target.url).origin() else {}
    headers = {**ours, "Accept-Encoding": "identity"}
    for address in (url, slashed):
        async with session.get(
            address, headers=headers, ssl=tls, proxy=target.proxy, allow_redirects=False
        ) as response:
            if response.status == HTTPStatus.OK:
                return await _body(response.content)
            if URL(response.headers.get("Location", "")).path != slashed.path:
                return None
    return None


async def _body(content: aiohttp.StreamReader) -> str | None:
    body = b""
    async for piece in content.iter_any():
        body += piece
        if len(body) > _MOST_BYTES:
            return None
    return body.decode(errors="replace")


def parse(text: str, *, model: str | None = None) -> Page | None:
    """A page in Prometheus' text format. Series of other models are left out where `model` is on it by its name.

    None where it is not in that format, or holds nothing that we know.
    """
    lines = [line for line in text.split("\n") if _NAME.split(line, maxsplit=1)[0] in _WANTED]
    try:
        families = text_string_to_metric_families("\n".join(lines))
        samples = [sample for family in families for sample in family.samples]
    except (ValueError, IndexError):  # what the parser raises on lines that are no samples
        return None
    pages = (_page(names, samples, model) for names in ENGINES.values())
    return next((page for page in pages if page != Page()), None)


_NAME = re.compile(r"[{\s]")
_WANTED = frozenset(
    name
    for names in ENGINES.values()
    for name in (
        *(*names.running, *names.waiting, *names.kv_cache_use),
        *(f"{name}_{part}" for name in (*names.queue, *names.first_token) for part in ("sum", "count")),
    )
)


def _page(names: Names, samples: Iterable[Sample], model: str | None) -> Page:
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    values = {name: _values(found, model) for name, found in by_name.items()}
    cache = _first(names.kv_cache_use, values)
    return Page(
        running=_sum(_first(names.running, values)),
        waiting=_sum(_first(names.waiting, values)),
        kv_cache_use=max(cache) if cache else None,
        queue=_histogram(names.queue, values),
        first_token=_histogram(names.first_token, values),
    )


def _values(samples: Iterable[Sample], model: str | None) -> list[float]:
    """Of every series, or of those of this model if there are any. What cannot be an amount is left out."""
    amounts = [sample for sample in samples if 0 <= sample.value <= _MOST]
    ours = [sample for sample in amounts if model in [sample.labels.get(label) for label in _MODEL_LABELS]]
    return [sample.value for sample in (ours if model is not None and ours else amounts)]


def _first(names: Iterable[str], values: Mapping[str, list[float]]) -> list[float]:
    return next((values[name] for name in names if values.get(name)), [])


def _sum(values: list[float]) -> float | None:
    return sum(values) if values else None


def _histogram(names: tuple[str, ...], values: Mapping[str, list[float]]) -> Histogram | None:
    total = _sum(_first([f"{name}_sum" for name in names], values))
    count = _sum(_first([f"{name}_count" for name in names], values))
    return Histogram(total=total, count=count) if total is not None and count is not None else None


def load_between(before: Page | None, after: Page | None) -> EngineLoad | None:
    """What two pages say together; None without any page. A counter that went back (a restart) has no mean."""
    pages = [page for page in (before, after) if page is not None]
    if not pages:
        return None
    first, last = before or Page(), after or Page()
    queue, first_token = _mean(first.queue, last.queue), _mean(first.first_token, last.first_token)
    return EngineLoad(
        running=_higher(page.running for page in pages),
        waiting=_higher(page.waiting for page in pages),
        kv_cache_use=_higher(page.kv_cache_use for page in pages),
        queue_s=queue[0] if queue else None,
        first_token_s=first_token[0] if first_token else None,
        requests=first_token[1] if first_token else None,
    )


def _higher(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean(before: Histogram | None, after: Histogram | None) -> tuple[float, int] | None:
    """The mean of what came in between, and how much that was."""
    if before is None or after is None:
        return None
    total, count = after.total - before.total, after.count - before.count
    return (total / count, round(count)) if count > 0 and total >= 0 else None
