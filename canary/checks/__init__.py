"""From evidence to verdicts. Pure.

A check is one function and one row here: config validation, docs and contract tests read this dict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from canary.checks import (
    answer,
    baseline,
    complete,
    first_visible,
    idle_timeout,
    protocol,
    reachable,
    reasoning_leak,
    saturation,
    served_model,
    streaming,
    usage,
    visible_content,
)
from canary.checks.evidence import Evidence
from canary.core.verdict import Verdict

Check: TypeAlias = Callable[[Evidence], list[Verdict]]

CHECKS: Mapping[str, Check] = {
    "reachable": reachable.check,
    "complete": complete.check,
    "protocol": protocol.check,
    "visible_content": visible_content.check,
    "idle_timeout": idle_timeout.check,
    "first_visible": first_visible.check,
    "streaming": streaming.check,
    "reasoning_leak": reasoning_leak.check,
    "answer": answer.check,
    "usage": usage.check,
    "served_model": served_model.check,
    "saturation": saturation.check,
    "baseline": baseline.check,
}


def judge(evidence: Evidence, *, only: Collection[str] | None = None) -> tuple[Verdict, ...]:
    """Every check's verdicts, or those of `only`, in the order of the table."""
    chosen = (check for name, check in CHECKS.items() if only is None or name in only)
    return tuple(verdict for check in chosen for verdict in check(evidence))
