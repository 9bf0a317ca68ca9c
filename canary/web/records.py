"""What pages ask of the store. The daemon gives the functions, the pages call them; what is not there is None."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from canary.core.deploy import Deploy
from canary.core.incident import Page
from canary.core.kept import Case, RunRow, StoredRun
from canary.core.span import Day, Range, Span


class AwayError(Exception):
    """The store cannot be asked now. What is known without it is shown all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Each raises AwayError. `spans`: of a pipeline and a probe; `pages`: of a pipeline, that were open since then;
    `runs`: the newest so many of a pipeline; `deploys`: since then.
    """

    days: Callable[[Collection[str], datetime], Awaitable[tuple[Day, ...]]]
    spans: Callable[[str, str, Range, datetime], Awaitable[tuple[Span, ...]]]
    pages: Callable[[str, datetime], Awaitable[tuple[Page, ...]]]
    runs: Callable[[str, int], Awaitable[tuple[RunRow, ...]]]
    deploys: Callable[[datetime], Awaitable[tuple[Deploy, ...]]]
    run: Callable[[str], Awaitable[StoredRun | None]]
    case: Callable[[str], Awaitable[Case | None]]


async def _nothing(*_: object) -> NoReturn:
    raise AwayError("no history is kept")


NO_RECORDS = Records(
    days=_nothing, spans=_nothing, pages=_nothing, runs=_nothing, deploys=_nothing, run=_nothing, case=_nothing
)
