"""Any HTTP endpoint. The body is described by `webhook.schema.json` beside this file.

Signed as Standard Webhooks 1.0 say (https://www.standardwebhooks.com), so that libraries in most languages verify it:
`webhook-signature: v1,BASE64(HMAC-SHA256(key, "{webhook-id}.{webhook-timestamp}.{body}"))`. The timestamp is that of
the attempt: who refuses what is older than five minutes cannot be fed an old message. `webhook-id` stays the same over
attempts: who remembers it takes each message once. A secret that begins with `whsec_` is Base64 after that; any other
is taken as it is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from canary.core.jsonable import as_json
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.notify.http import NO_HEADERS, TIMEOUT_S, HttpRequest, over_http
from canary.notify.kind import Errand
from canary.notify.text import plain

VERSION = 1
_PREFIX = "whsec_"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """`secret` signs; without one the request says nothing of who sent it, unless a header does."""

    url: Secret
    secret: Secret | None = None
    headers: Mapping[str, str | Secret] = field(default_factory=lambda: NO_HEADERS)
    timeout_s: float = TIMEOUT_S


def render(errand: Errand, options: WebhookOptions) -> HttpRequest:
    body = json.dumps(payload(errand), ensure_ascii=False).encode()
    return HttpRequest(
        url=options.url,
        body=body,
        headers={"Content-Type": "application/json", **options.headers, **_signature(errand, options, body)},
    )


send = over_http(render)


def payload(errand: Errand) -> dict[str, Json]:
    notification = errand.notification
    return {
        "version": VERSION,
        "type": f"page.{notification.reason.value}",
        "timestamp": notification.at.isoformat(),
        "data": {
            "id": notification.id,
            "page_id": notification.page_id,
            "receiver": notification.receiver,
            "reason": notification.reason.value,
            "text": plain(notification),
            "message": as_json(notification.message),
        },
    }


def signature(body: bytes, *, key: Secret, identity: str, timestamp: int) -> str:
    signed = f"{identity}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(_key(key), signed, hashlib.sha256).digest()).decode()


def _signature(errand: Errand, options: WebhookOptions, body: bytes) -> dict[str, str]:
    identity, timestamp = errand.notification.id, int(errand.now.timestamp())
    headers = {"webhook-id": identity, "webhook-timestamp": str(timestamp)}
    if options.secret is not None:
        headers["webhook-signature"] = signature(body, key=options.secret, identity=identity, timestamp=timestamp)
    return headers


def _key(secret: Secret) -> bytes:
    text = secret.reveal()
    if text.startswith(_PREFIX):
        try:
            return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass  # whoever made it up will have given the receiver the same text
    return text.encode()
