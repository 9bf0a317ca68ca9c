"""Prometheus Alertmanager, API v2: one alert per page.

An alert is its labels: the same labels are the same alert, other labels are another one. So they are few and rest on
the page alone. Severity is one of them, because routes ask for it; when it changes, the alert of before is ended in the
same request. That another check speaks for the page makes no other alert of it. The handle remembers the labels that
were sent, so that this holds over a restart and a changed config.

An alert that nobody repeats ends at its `endsAt`. A page must not seem over because we were restarted or cut off, so a
firing alert ends only in a year, and in truth when we say so. Alertmanager keeps alerts in memory only: after *its*
restart an open page is there again as soon as the last message is repeated (`NotifierKind.refresh_s`).

An end that is still to come by Alertmanager's clock is none: it keeps the later of the two ends that it was told, and
the alert fires on for that year (seen in 0.25 with a clock of ours that was some seconds ahead). So where its answer
shows that its clock was behind ours, what ends is said again in its own time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

import aiohttp

from canary.core.notification import Delivery, Reason, Sent
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.notify.http import NO_HEADERS, TIMEOUT_S, HttpRequest, attempted, by_status, clock_of, exchange, post
from canary.notify.kind import Errand
from canary.notify.text import plain

_LASTS = timedelta(days=365)
_TEST_LASTS = timedelta(minutes=5)
_NAME = "ReasoningCanary"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerOptions:
    """`url`: what stands before /api/v2, like http://alertmanager:9093. `labels` are added to each alert's own.

    Its own are alertname, severity, check and page; the rest stands in annotations.
    """

    url: str
    headers: Mapping[str, str | Secret] = field(default_factory=lambda: NO_HEADERS)
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timeout_s: float = TIMEOUT_S


async def send(errand: Errand, options: AlertmanagerOptions, session: aiohttp.ClientSession) -> Delivery:
    outcome = await attempted(_told(errand, options, session), timeout_s=options.timeout_s)
    return Sent(handle=json.dumps(labels_of(errand, options))) if isinstance(outcome, Sent) else outcome


async def _told(errand: Errand, options: AlertmanagerOptions, session: aiohttp.ClientSession) -> Delivery:
    reply = await exchange(render(errand, options), session)
    outcome, theirs = by_status(reply), clock_of(reply.headers)
    if not isinstance(outcome, Sent) or theirs is None or theirs >= errand.now:
        return outcome
    ends = _is_over(errand) or _before(errand, options)
    return await post(render(replace(errand, now=theirs), options), session) if ends else outcome


def render(errand: Errand, options: AlertmanagerOptions) -> HttpRequest:
    now = labels_of(errand, options)
    alerts = [_alert(errand, now, ends_at=_ends_at(errand))]
    if before := _before(errand, options):
        alerts.append(_alert(errand, before, ends_at=errand.now))
    return HttpRequest(
        url=f"{options.url.rstrip('/')}/api/v2/alerts",
        body=json.dumps(alerts).encode(),
        headers={"Content-Type": "application/json", **options.headers},
    )


def labels_of(errand: Errand, options: AlertmanagerOptions) -> dict[str, str]:
    """`options.labels` win over nothing: a page must stay told from every other."""
    message = errand.notification.message
    severity, before = message.severity.value, _sent_before(errand)
    return dict(options.labels) | {
        "alertname": _NAME,
        "severity": severity,
        "check": before.get("check", message.check) if before.get("severity") == severity else message.check,
        "page": errand.notification.page_id,
    }


def _before(errand: Errand, options: AlertmanagerOptions) -> dict[str, str] | None:
    """The labels under which the page was told of before, where they were others."""
    before = _sent_before(errand)
    return None if before == labels_of(errand, options) else before


def _sent_before(errand: Errand) -> dict[str, str]:
    """Empty where nothing was."""
    before: dict[str, str] = json.loads(errand.handle) if errand.handle else {}
    return before


def _alert(errand: Errand, labels: Mapping[str, str], *, ends_at: datetime) -> dict[str, Json]:
    message = errand.notification.message
    annotations = {
        "summary": message.title,
        "description": plain(errand.notification),
        "users_feel": message.users_feel,
        "where": message.where,
        "pipelines": ", ".join(message.pipelines),
        "probes": ", ".join(message.probes),
    }
    link = message.page_url or message.run_url
    return {
        "labels": dict(labels),
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": min(message.since, ends_at).isoformat(),  # one that ends before it starts is refused
        "endsAt": ends_at.isoformat(),
    } | ({"generatorURL": link} if link else {})


def _ends_at(errand: Errand) -> datetime:
    if errand.notification.reason is Reason.TEST:
        return errand.now + _TEST_LASTS
    return errand.now if _is_over(errand) else errand.now + _LASTS


def _is_over(errand: Errand) -> bool:
    return errand.notification.reason is Reason.RESOLVED or not errand.notification.message.firing
