"""PagerDuty, Events API v2. https://developer.pagerduty.com/docs/events-api-v2-overview

Its incident is joined to our page by the `dedup_key`, which is the page's id: a message that comes twice changes
nothing. Whatever leaves the page open is a `trigger` (PagerDuty adds it to the incident's log and calls nobody again),
so a lost first trigger is made good by the next one. Its clock, its escalation and its acknowledgement are its own.

An event of more than 512 kB is refused, and counted are bytes: what `tidy` leaves stays below that, in UTF-8.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from canary.core.finding import Severity
from canary.core.notification import Reason
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.notify.http import TIMEOUT_S, HttpRequest, over_http
from canary.notify.kind import Errand
from canary.notify.text import facts, felt, headline, hop_table, links
from canary.notify.tidy import cut

_MOST_SUMMARY = 1024
_MOST_KEY = 255
_SEVERITIES = {Severity.CRITICAL: "critical", Severity.WARNING: "warning"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyOptions:
    """`routing_key`: a service's integration key. `url` for accounts in the EU: events.eu.pagerduty.com."""

    routing_key: Secret
    url: str = "https://events.pagerduty.com/v2/enqueue"
    timeout_s: float = TIMEOUT_S


def render(errand: Errand, options: PagerDutyOptions) -> HttpRequest:
    """202: taken. 400: this event is wrong and will always be. 429 and 5xx: later."""
    action = _action(errand)
    event: dict[str, Json] = {
        "routing_key": options.routing_key.reveal(),
        "event_action": action,
        "dedup_key": errand.notification.page_id[:_MOST_KEY],
    }
    if action == "trigger":
        event |= _details(errand)
    body = json.dumps(event, ensure_ascii=False).encode()
    return HttpRequest(url=options.url, body=body, headers={"Content-Type": "application/json"})


send = over_http(render)


def _action(errand: Errand) -> str:
    reason, firing = errand.notification.reason, errand.notification.message.firing
    if reason is Reason.RESOLVED or not firing:
        return "resolve"
    return "acknowledge" if reason is Reason.ACKNOWLEDGED else "trigger"


def _details(errand: Errand) -> dict[str, Json]:
    notification = errand.notification
    message = notification.message
    test = notification.reason is Reason.TEST
    custom = dict(facts(message)) | {
        "Users feel": felt(message),
        "Cause": message.cause,
        "Changed": list(message.changed),
        "Hops": hop_table(message.hops),
        "Notes": list(message.notes),
        "Repeat it": message.repeat,
        "Content": message.content,
        "Notification": notification.id,
    }
    return {
        "payload": {
            "summary": cut(headline(notification), _MOST_SUMMARY),
            "source": message.where or "reasoning-canary",
            "severity": "info" if test else _SEVERITIES[message.severity],
            "timestamp": message.since.isoformat(),
            "component": message.where,
            "group": cut(", ".join(message.pipelines), _MOST_SUMMARY),
            "class": message.check,
            "custom_details": {name: value for name, value in custom.items() if value},
        },
        "client": "reasoning-canary",
        "links": [{"href": url, "text": name} for name, url in links(message)],
    } | ({"client_url": message.page_url} if message.page_url else {})
