"""Slack by an incoming webhook. It can neither edit nor thread, so each change is a message of its own.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks: errors are HTTP statuses with a word as body.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from canary.core.notification import Delivery, Rejected
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.notify.http import TIMEOUT_S, HttpRequest, over_http
from canary.notify.kind import Errand
from canary.notify.slack_blocks import FORM_REFUSED, blocks, fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackWebhookOptions:
    """`url` is the credential."""

    url: Secret
    timeout_s: float = TIMEOUT_S


def render(errand: Errand, options: SlackWebhookOptions) -> HttpRequest:
    return _request(errand, options, {"blocks": blocks(errand.notification)})


def _request(errand: Errand, options: SlackWebhookOptions, form: Mapping[str, Json]) -> HttpRequest:
    body = {"text": fallback(errand.notification), "unfurl_links": False, "unfurl_media": False, **form}
    return HttpRequest(url=options.url, body=json.dumps(body).encode(), headers={"Content-Type": "application/json"})


_send = over_http(render)
_send_plain = over_http(lambda errand, options: _request(errand, options, {}))


async def send(errand: Errand, options: SlackWebhookOptions, session: aiohttp.ClientSession) -> Delivery:
    """A page is not lost for its looks: where those are refused, it is plain text."""
    outcome = await _send(errand, options, session)
    refused = isinstance(outcome, Rejected) and any(outcome.why.endswith(f": {word}") for word in FORM_REFUSED)
    return await _send_plain(errand, options, session) if refused else outcome
