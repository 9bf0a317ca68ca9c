"""Slack by an incoming webhook. It can neither edit nor thread, so each change is a message of its own.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: errors are HTTP statuses with a word as body.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from canary.core.secret import Secret
from canary.notify.http import TIMEOUT_S, HttpRequest, over_http
from canary.notify.kind import Errand
from canary.notify.slack_blocks import blocks, fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackWebhookOptions:
    """`url` is the credential."""

    url: Secret
    timeout_s: float = TIMEOUT_S


def render(errand: Errand, options: SlackWebhookOptions) -> HttpRequest:
    body = {
        "text": fallback(errand.notification),
        "blocks": blocks(errand.notification),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return HttpRequest(url=options.url, body=json.dumps(body).encode(), headers={"Content-Type": "application/json"})


send = over_http(render)
