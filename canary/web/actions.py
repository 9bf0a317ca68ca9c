"""What a person or a pipeline may ask of the running daemon. The daemon gives the functions, the routes call them.

An action answers with what it did or with why it did not; it never raises for what a caller can get wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from canary.core.route import Match
from canary.core.status import Level


class Refusal(StrEnum):
    """Why an action was not done; `app.STATUS_OF` gives each its HTTP status."""

    NOT_FOUND = "not_found"  # no such pipeline, probe, page, silence
    CONFLICT = "conflict"  # already running, acknowledged, over
    INVALID = "invalid"  # a config that does not load, a silence that fits nothing
    UNAVAILABLE = "unavailable"  # the store is away, or we are shutting down


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """`message` is a sentence; `ids` are of what came to be: runs, a silence."""

    message: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """`message` is a sentence; `details` its parts where there are several, like the errors of a config."""

    why: Refusal
    message: str
    details: tuple[str, ...] = ()


Answer: TypeAlias = Done | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """Something was rolled out now; `pipeline` None concerns all."""

    text: str
    pipeline: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hush:
    """A silence to begin now."""

    match: Match
    duration_s: float
    author: str
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A person's word, to hold from now on: of a page or of a pipeline, one of both."""

    level: Level
    duration_s: float
    author: str
    page_id: str | None = None
    pipeline: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """`probe`: names of the pipeline and the probe, None = all its probes; it returns once the runs are queued.

    `acknowledge`: a page's id and who does it. `unsilence`: a silence's id.
    `note`: a page's id, the text and who says it. `unoverride`: an override's id.
    """

    reload: Callable[[], Awaitable[Answer]]
    probe: Callable[[str, str | None], Awaitable[Answer]]
    deploy: Callable[[Deploy], Awaitable[Answer]]
    acknowledge: Callable[[str, str], Awaitable[Answer]]
    silence: Callable[[Hush], Awaitable[Answer]]
    unsilence: Callable[[str], Awaitable[Answer]]
    note: Callable[[str, str, str], Awaitable[Answer]]
    override: Callable[[Word], Awaitable[Answer]]
    unoverride: Callable[[str], Awaitable[Answer]]
