"""One run of a probe through every hop of a pipeline.

Hops are asked from the engine up, one after another, so that they do not disturb each other's timing; a failed lower
hop does not stop the upper ones. All hops of a run get the same question under different nonces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.client.observe import observe
from canary.client.target import Limits
from canary.core.run import HopResult, Run
from canary.core.spec import Assignment, Hop, Pipeline
from canary.core.timeout import Timeout
from canary.engine.request import build_request
from canary.prompts.compose import compose

PLAIN = "plain"
MAX_BYTES = 64 * 1024 * 1024
CONNECT_TIMEOUT_S = 30.0


def timers_above(hops: tuple[Hop, ...], index: int) -> tuple[Timeout, ...]:
    """The timers that watch the stream of hop `index`: all that the hops above it hold, from the user down."""
    return tuple(replace(timer, hop=timer.hop or hop.name) for hop in hops[:index] for timer in hop.timeouts)
