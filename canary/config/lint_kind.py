"""One remark about a plan that is legal and will not do what somebody meant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LintKind(StrEnum):
    OUTER_SHORTER = "outer_shorter"
    KEEPALIVE_TOO_SLOW = "keepalive_too_slow"
    KEEPALIVE_UNCOUNTED = "keepalive_uncounted"
    KEEPALIVE_TOO_SHORT_A_WAY = "keepalive_too_short_a_way"
    TOTAL_UNDER_DEADLINE = "total_under_deadline"
    RUNS_OVERLAP = "runs_overlap"
    OVER_TOKEN_LIMIT = "over_token_limit"  # noqa: S105  # tokens of text
    NEVER_RUN = "never_run"
    NOBODY_TOLD = "nobody_told"
    RECEIVER_UNUSED = "receiver_unused"
    ROUTE_UNREACHED = "route_unreached"
    WINDOW_OVER = "window_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """One sentence with its numbers. `where` is a hop or a probe of `pipeline`, or a thing that has no pipeline."""

    kind: LintKind
    where: str
    message: str
    pipeline: str | None = None

    def __str__(self) -> str:
        place = self.where if self.pipeline in (None, self.where) else f"{self.pipeline}, {self.where}"
        return f"{place}: {self.message}"
