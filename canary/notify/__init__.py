"""Notifiers: one row per way to reach people. Config validation, docs and contract tests read this dict.

A notifier renders (pure: facts in, payload out), sends once, and classifies the reply. It never sleeps and never tries
again: it says `RetryLater`, and whoever owns the outbox decides when. It never raises for what the other side does.
Delivery is at least once: a reply that got lost may mean a second message, which carries the same key as the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import aiohttp

from canary.core.notification import Delivery, Notification, Rejected, Sent
from canary.core.route import Receiver
from canary.notify import alertmanager, apprise, pagerduty, slack, slack_webhook, statuspage, webhook
from canary.notify.kind import NOTHING_BESIDE, Beside, Errand, NotifierKind
from canary.notify.redact import flaw_of_secrets, without_secrets
from canary.notify.sample import sample
from canary.notify.tidy import tidy

NOTIFIERS: Mapping[str, NotifierKind] = {
    "slack": NotifierKind(
        summary="Slack as a bot: one message per page, edited as it changes, its history in the thread",
        options=slack.SlackOptions,
        send=slack.send,
        edits=True,
    ),
    "slack_webhook": NotifierKind(
        summary="Slack by an incoming webhook: a new message for each change",
        options=slack_webhook.SlackWebhookOptions,
        send=slack_webhook.send,
    ),
    "pagerduty": NotifierKind(
        summary="PagerDuty Events API v2: trigger, acknowledge, resolve",
        options=pagerduty.PagerDutyOptions,
        send=pagerduty.send,
        edits=True,
    ),
    "alertmanager": NotifierKind(
        summary="Prometheus Alertmanager, API v2: one alert per page",
        options=alertmanager.AlertmanagerOptions,
        send=alertmanager.send,
        refresh_s=60.0,  # it keeps alerts in memory only: after its restart they are there again within a minute
        edits=True,
    ),
    "webhook": NotifierKind(
        summary="Any HTTP endpoint: versioned JSON, signed with HMAC-SHA256",
        options=webhook.WebhookOptions,
        send=webhook.send,
        edits=True,
    ),
    "statuspage": NotifierKind(
        summary="Statuspage: the state of components on a page of an account",
        options=statuspage.StatuspageOptions,
        send=statuspage.send,
    ),
    "apprise": NotifierKind(
        summary="Whatever apprise reaches: mail, Teams, Telegram and some hundred more",
        options=apprise.AppriseOptions,
        send=apprise.send,
        extra="apprise",
    ),
}


async def deliver(
    receiver: Receiver,
    notification: Notification,
    *,
    session: aiohttp.ClientSession,
    now: datetime,
    handle: str | None = None,
    beside: Beside = NOTHING_BESIDE,
) -> Delivery:
    """One attempt. `handle`: from the newest `Sent` of this page at this receiver that had one."""
    if flaw := flaw_of_secrets(receiver.options):
        return Rejected(why=flaw)
    errand = Errand(
        notification=replace(notification, message=tidy(notification.message)),
        now=now,
        handle=_own(handle, receiver),
        beside=beside,
    )
    outcome = await NOTIFIERS[receiver.kind].send(errand, receiver.options, session)
    if isinstance(outcome, Sent) and outcome.handle is not None:
        outcome = replace(outcome, handle=f"{receiver.kind} {outcome.handle}")
    return without_secrets(outcome, receiver.options)


def _own(handle: str | None, receiver: Receiver) -> str | None:
    """A receiver may have become one of another kind while the page was open."""
    kind, _, rest = (handle or "").partition(" ")
    return rest if kind == receiver.kind else None


async def notify_test(receiver: Receiver, *, session: aiohttp.ClientSession, now: datetime) -> Delivery:
    """Send a message that says that it is a test. PagerDuty keeps it open until a person resolves it."""
    return await deliver(receiver, sample(receiver.name, now=now), session=session, now=now)
