"""What pages look up in the store: it may be away, and then the pages say so; measuring does not care either way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from canary.core.kept import StoredRun
from canary.store import AmbiguousIdError, Store, StoreError
from canary.web.records import AwayError, Records

T = TypeVar("T")
_WITHIN_S = 10.0  # a person waits no longer


def records_of(store: Store) -> Records:
    return Records(
        days=lambda pipelines, since: _asked(store.days(pipelines, since)),
        spans=lambda pipeline, probe, span, since: _asked(store.spans(pipeline, probe, span.grain, since)),
        pages=lambda pipeline, since: _asked(store.recent_pages(since, pipeline=pipeline)),
        runs=lambda pipeline, most: _asked(store.runs(pipeline=pipeline, most=most)),
        deploys=lambda since: _asked(store.deploys(since)),
        run=lambda run_id: _asked(_run(store, run_id)),
        case=lambda page_id: _asked(store.case(page_id)),
    )


async def _run(store: Store, run_id: str) -> StoredRun | None:
    try:
        return await store.run(run_id)
    except AmbiguousIdError:
        return None


async def _asked(asking: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await asking
    except StoreError as error:
        raise AwayError(str(error)) from None
    except TimeoutError:
        msg = f"the store did not answer within {_WITHIN_S:.0f} s"
        raise AwayError(msg) from None
