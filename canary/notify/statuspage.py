"""Statuspage: the state of components on a page of an account. https://developer.statuspage.io/#tag/components

It has no use for our messages: what it is told is how the components fare at this moment, from all pages that are open
when it is told, since a component may stand on several. So whichever message comes last leaves the truth behind, also
one that was late. Only components that the notification's pipelines touch are set.

60 requests a minute are taken; beyond that it answers 420 or 429 and the rest waits. Setting a state twice is no harm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType
from urllib.parse import quote

import aiohttp

from canary.alerting.standing import standing
from canary.core.notification import Delivery, Reason, Rejected, RetryLater, Sent
from canary.core.secret import Secret
from canary.core.status import Level
from canary.notify.http import TIMEOUT_S, Headers, HttpReply, HttpRequest, attempted, by_status, post, retry_after_s
from canary.notify.kind import Errand

ComponentId = NewType("ComponentId", str)
_CALM = 420  # "enhance your calm": beyond the rate
_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatuspageOptions:
    """`components`: ids there, by the pipeline or `pipeline/hop` here. `timeout_s`: of each request."""

    api_key: Secret
    page_id: str
    components: Mapping[str, ComponentId]
    url: str = "https://api.statuspage.io/v1"
    timeout_s: float = TIMEOUT_S


async def send(errand: Errand, options: StatuspageOptions, session: aiohttp.ClientSession) -> Delivery:
    """One request a component, until one is refused; the next attempt sets all of them again.

    Raises nothing for what the other side does. A test asks for the page and changes nothing that people see.
    """
    for request in requests(errand, options):
        delivery = await attempted(post(request, session, classify=_by_status), timeout_s=options.timeout_s)
        if not isinstance(delivery, Sent):
            return delivery
    return Sent()


def requests(errand: Errand, options: StatuspageOptions) -> tuple[HttpRequest, ...]:
    page = f"{options.url.rstrip('/')}/pages/{quote(options.page_id, safe='')}"
    headers: Headers = {
        "Authorization": Secret(f"OAuth {options.api_key.reveal()}"),
        "Content-Type": "application/json",
    }
    if errand.notification.reason is Reason.TEST:
        return (HttpRequest(url=page, headers=headers, method="GET"),)
    return tuple(
        HttpRequest(
            url=f"{page}/components/{quote(component, safe='')}",
            body=json.dumps({"component": {"status": level.value}}).encode(),
            headers=headers,
            method="PATCH",
        )
        for component, level in levels(errand, options).items()
    )


def levels(errand: Errand, options: StatuspageOptions) -> Mapping[str, Level]:
    """By component there, of those that the notification is about; in the order of the config."""
    now = standing(errand.beside.pages, errand.beside.incidents)
    found: dict[str, Level] = {}
    for name, component in options.components.items():
        pipeline, slash, hop = name.partition("/")
        if pipeline in errand.notification.message.pipelines:
            found[component] = now.get((pipeline, hop if slash else None), Level.OPERATIONAL)
    return found


def _by_status(reply: HttpReply) -> Delivery:
    if reply.status == _CALM:
        return RetryLater(why="HTTP 420, beyond its rate", after_s=retry_after_s(reply.headers) or _WINDOW_S)
    delivery = by_status(reply)
    if reply.status == 429 and isinstance(delivery, RetryLater) and delivery.after_s is None:
        return RetryLater(why=delivery.why, after_s=_WINDOW_S)
    if reply.status == 401 and isinstance(delivery, Rejected):
        return Rejected(why=f"{delivery.why} (the API key is not taken)")
    return delivery
