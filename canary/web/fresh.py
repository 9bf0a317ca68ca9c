"""Answers that may be asked for again and again: with an ETag, a time of change, and 304 for who has them already."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256

from aiohttp import hdrs, web

_SECOND = timedelta(seconds=1)
MAX_AGE_S = 30


@dataclass(slots=True)
class Changes:
    """When each answer last became another one, in whole seconds, as a header says it.

    What changes twice in one second gets the next one: two answers never share a time, or the second would stay unseen.
    """

    seen: dict[str, tuple[str, datetime]] = field(default_factory=dict)

    def note(self, path: str, etag: str, now: datetime) -> datetime:
        at = now.replace(microsecond=0)
        before = self.seen.get(path)
        if before and before[0] == etag:
            return before[1]
        if before:
            at = max(at, before[1] + _SECOND)
        self.seen[path] = (etag, at)
        return at


def etag_of(body: bytes) -> str:
    return sha256(body).hexdigest()[:24]


def unchanged(request: web.BaseRequest, etag: str, changed_at: datetime) -> bool:
    """Whether who asks has it. Where an ETag is named the time does not count (RFC 9110, 13.2.2)."""
    named = request.if_none_match
    if hdrs.IF_NONE_MATCH in request.headers:
        return any(each.value in (etag, "*") for each in named or ())
    since = request.if_modified_since
    return since is not None and changed_at <= since


def fresh(body: bytes, content_type: str, etag: str, changed_at: datetime, *, public: bool) -> web.Response:
    """`public`: shared caches may keep it."""
    headers = {
        hdrs.CONTENT_TYPE: content_type,
        hdrs.ETAG: f'"{etag}"',
        hdrs.LAST_MODIFIED: format_datetime(changed_at, usegmt=True),
        hdrs.CACHE_CONTROL: f"{'public' if public else 'private'}, max-age={MAX_AGE_S}",
    }
    return web.Response(body=body, headers=headers)
