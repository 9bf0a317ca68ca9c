"""Is the engine busier than it can serve? Judged only where a hop shows its own numbers; never worse than WARN.

A request that waits in the engine's queue is slow at every hop, and no hop on the path is at fault for it. So a finding
about slowness takes this verdict's words along, whatever the verdict is: "14 requests wait", or that the engine counts
0.3 s to its first token while people waited for 31 s.

Saturated is an engine in whose queue requests stayed for a second, or in which three wait at once: under continuous
batching a request waits for one step, so that a gauge that reads one or two says nothing. It does not matter whether
there was a usable answer: there may be none because of it.
"""

from __future__ import annotations

from canary.checks.evidence import Evidence
from canary.core.engine_load import EngineLoad
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

NAME = "saturation"
MANY_WAITING = 3
LONG_QUEUE_S = 1.0
_FULL = 0.9  # of the KV cache: worth a word


def check(evidence: Evidence) -> list[Verdict]:
    """No verdict where the hop does not say how many wait, nor for how long."""
    load = evidence.load
    if load is None or (load.waiting is None and load.queue_s is None):
        return []
    queued = load.queue_s is not None and load.queue_s >= LONG_QUEUE_S
    many = load.waiting is not None and load.waiting >= MANY_WAITING
    if load.waiting is not None and (many or not queued):
        observed, limit, unit = load.waiting, float(MANY_WAITING), "requests"
    else:
        observed, limit, unit = load.queue_s or 0.0, LONG_QUEUE_S, "s"
    return [
        Verdict(
            check=NAME,
            status=Status.WARN if queued or many else Status.PASS,
            reason="saturated" if queued or many else "room",
            message=_words(load),
            observed=observed,
            limit=limit,
            unit=unit,
        )
    ]


def _words(load: EngineLoad) -> str:
    waiting = round(load.waiting) if load.waiting is not None else None
    words = [
        f"{plural(waiting, 'request')} {'waits' if waiting == 1 else 'wait'}" if waiting is not None else None,
        f"{round(load.running)} run" if load.running is not None else None,
        f"{format_duration(load.queue_s)} in the queue on average" if load.queue_s is not None else None,
        f"{format_duration(load.first_token_s)} to the first token" if load.first_token_s is not None else None,
        f"the KV cache is {load.kv_cache_use:.0%} full" if (load.kv_cache_use or 0.0) >= _FULL else None,
    ]
    return ", ".join(word for word in words if word is not None)
