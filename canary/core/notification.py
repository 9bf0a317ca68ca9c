"""What to tell whom and why, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from canary.core.finding import Severity


class Reason(StrEnum):
    """Why somebody is told, or is not. The same word stands in the log, the metric, on the page and in the test."""

    OPENED = "opened"
    WORSE = "worse"  # severity went up, or more hops are affected
    BETTER = "better"
    CHANGED = "changed"  # another reason than was told; for those who can edit what they were told
    REMINDER = "reminder"
    ESCALATED = "escalated"
    ACKNOWLEDGED = "acknowledged"
    FLAPPING = "flapping"
    RESOLVED = "resolved"
    TEST = "test"  # a person asked whether messages arrive
    # not told:
    NOTHING_NEW = "nothing_new"
    NOT_ENOUGH_FAILURES = "not_enough_failures"
    NO_ROUTE = "no_route"
    SILENCED = "silenced"
    MAINTENANCE = "maintenance"
    SETTLING = "settling"  # flapping was said; quiet until it settles
    NEVER_ANNOUNCED = "never_announced"  # nobody was told that it began, so nobody is told that it is over


@dataclass(frozen=True, slots=True, kw_only=True)
class HopRow:
    """One line of a message's table: what a hop did in the run that showed the finding. Seconds; None: never."""

    hop: str
    status: str
    first_token_s: float | None = None
    first_visible_s: float | None = None
    longest_silence_s: float | None = None
    reasoning_share: float | None = None
    said: str = ""  # the worst verdict's reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The facts of a message, the same for every receiver; each notifier puts them into its own form.

    No prompt, answer or secret is in it, unless the config asks for `content`. `ended`: why it is over for us although
    no run has shown that it is over.
    """

    title: str
    users_feel: str
    where: str
    cause: str
    severity: Severity
    firing: bool
    since: datetime
    pipelines: tuple[str, ...]
    probes: tuple[str, ...]
    check: str
    reason: str
    observed: float | None = None
    limit: float | None = None
    unit: str | None = None
    changed: tuple[str, ...] = ()  # "vLLM 0.22.1 -> 0.23.0"
    hops: tuple[HopRow, ...] = ()
    repeat: str = ""  # a curl command without secrets
    run_id: str | None = None
    run_url: str | None = None
    page_url: str | None = None
    notes: tuple[str, ...] = ()
    content: str | None = None
    ended: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One row of the outbox. `id` is stable over retries: what is sent twice can be told to be the same."""

    id: str
    page_id: str
    receiver: str
    reason: Reason
    at: datetime
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Somebody could have been told and was not; `until` where time decides."""

    page_id: str
    receiver: str | None
    reason: Reason
    at: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """`handle`: what the notifier needs to change or follow up its message (Slack: channel and ts); its own affair.

    `note`: what did not work although the message arrived, like a picture.
    """

    handle: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLater:
    why: str
    after_s: float | None = None  # what the receiver asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """It will never be taken as it is: a revoked token, a channel that is not there."""

    why: str


Delivery: TypeAlias = Sent | RetryLater | Rejected
