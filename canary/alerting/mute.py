"""Whether somebody asked for quiet. Mutes withhold messages, never measuring, counting or the news that it is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from canary.alerting.calendar import open_until
from canary.alerting.routing import fits, labels_of
from canary.alerting.rules import Rules
from canary.core.incident import Incident
from canary.core.notification import Reason

_MOST_IN_A_ROW = 50  # windows that follow one another without a gap; nobody plans more, and some crons never end


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """`reason` is SILENCED or MAINTENANCE; `by` says whose, for people."""

    reason: Reason
    until: datetime
    by: str


def mute_of(incident: Incident, rules: Rules, now: datetime) -> Mute | None:
    """What mutes the incident now; `until` is when the last of those that follow one another is over."""
    first = longest = _longest(incident, rules, now)
    for _ in range(_MOST_IN_A_ROW):
        following = _longest(incident, rules, longest.until) if longest else None
        if following is None:
            break
        longest = following
    if first is None or longest is None:
        return None
    return Mute(reason=first.reason, until=longest.until, by=first.by)


def _longest(incident: Incident, rules: Rules, at: datetime) -> Mute | None:
    return max(_active(incident, rules, at), key=lambda mute: mute.until, default=None)


def _active(incident: Incident, rules: Rules, at: datetime) -> Iterator[Mute]:
    labels = labels_of(rules, incident.key.pipeline)
    for silence in rules.silences:
        if silence.starts_at <= at < silence.ends_at and fits(silence.match, incident.key, incident.severity, labels):
            said = f": {silence.comment}" if silence.comment else ""
            yield Mute(reason=Reason.SILENCED, until=silence.ends_at, by=f"a silence of {silence.author}{said}")
    for planned in rules.maintenance:
        if not fits(planned.match, incident.key, incident.severity, labels):
            continue
        if until := open_until(planned.window, at):
            yield Mute(reason=Reason.MAINTENANCE, until=until, by=f"the maintenance window {planned.name}")
