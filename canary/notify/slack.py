"""Slack as a bot: one message per page, edited so that it always says how things stand; its thread is the history.

An edit notifies nobody, so what people must see now goes to the thread *and* to the channel (`reply_broadcast`); what
merely got better or was acknowledged stays in the thread, and another reason is an edit alone. A message that says that
it is over is left at that: a page that opens again gets a new one, where people look, and not an edit of one that they
have scrolled past.

Steps of a change, each safe to be made again after a failure in a later one:
1 edit the message; 2 reply in its thread. What Slack will never take there (the message or its channel is gone, threads
are not allowed) is posted anew and has a new handle: if nothing can be posted, that says so by itself.
Steps of a first message: 1 post it; 2 what is nice to have (picture, content) into the thread, once: from then on the
page is told, so what fails there is a note and no failure.
A message whose form is refused, by a limit that is documented nowhere, is posted as plain text: a page is not lost for
its looks.

A post whose reply got lost may have been taken. `client_msg_id` is the same in each attempt; Slack's own clients use it
to say "this is that message again", but it is not documented for bots, so a second message is possible. The
notification's id stands in the message's metadata: two with the same id are one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient

from canary.core.notification import Delivery, Notification, Reason, Rejected, RetryLater, Sent
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.notify.http import TIMEOUT_S, attempted, retry_after_s
from canary.notify.kind import Errand
from canary.notify.picture import picture_of
from canary.notify.slack_blocks import FORM_REFUSED, blocks, fallback, fenced, section, update

QUIET = frozenset({Reason.BETTER, Reason.ACKNOWLEDGED})
_TIME_HEALS = frozenset(
    {
        "accesslimited",
        "external_channel_migrating",
        "fatal_error",
        "internal_error",
        "rate_limited",
        "ratelimited",
        "message_limit_exceeded",
        "org_login_required",  # while a workspace moves into an enterprise
        "request_timeout",
        "rollup_error",
        "service_unavailable",
        "team_added_to_org",
        "update_failed",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackOptions:
    """`channel`: a name with # or an id; the bot must be in it. Scopes: chat:write, and files:write for the picture."""

    token: Secret
    channel: str
    api_url: str = "https://slack.com/api/"
    timeout_s: float = TIMEOUT_S  # of each call; a message takes up to five


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Where our message of a page stands. `asked`: the channel as the config had it then. `over`: so it says."""

    asked: str
    channel: str
    ts: str
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """What one errand works with."""

    client: AsyncWebClient
    options: SlackOptions
    errand: Errand

    async def ask(self, call: Awaitable[Any]) -> Mapping[str, Json] | RetryLater | Rejected:
        return await attempted(_answer(call), timeout_s=self.options.timeout_s)


async def send(errand: Errand, options: SlackOptions, session: aiohttp.ClientSession) -> Delivery:
    client = AsyncWebClient(
        token=options.token.reveal(),
        base_url=options.api_url,
        session=session,
        retry_handlers=[],  # it would try again, and sleep, on its own
    )
    bot = Bot(client=client, options=options, errand=errand)
    post = _post_of(errand.handle)
    outcome: Delivery | None = None
    if post is not None and post.asked == options.channel and not post.over:
        outcome = await _change(bot, post)
    if outcome is None or isinstance(outcome, Rejected):
        outcome = await _begin(bot, _body(errand.notification))
    if isinstance(outcome, Rejected) and outcome.why in FORM_REFUSED:
        return await _begin(bot, {"text": fallback(errand.notification)}, note=f"as plain text, since {outcome.why}")
    return outcome


async def _change(bot: Bot, post: Post) -> Delivery:
    notification = bot.errand.notification
    edited = await bot.ask(bot.client.chat_update(channel=post.channel, ts=post.ts, **_body(notification)))
    if not isinstance(edited, Mapping):
        return edited
    if notification.reason is Reason.CHANGED:
        return Sent(handle=_handle(post, notification))
    replied = await bot.ask(
        bot.client.chat_postMessage(
            channel=post.channel,
            thread_ts=post.ts,
            reply_broadcast=notification.reason not in QUIET,
            unfurl_links=False,
            unfurl_media=False,
            client_msg_id=_identity(notification),
            **_body(notification) | {"blocks": update(notification)},
        )
    )
    return Sent(handle=_handle(post, notification)) if isinstance(replied, Mapping) else replied


async def _begin(bot: Bot, body: Mapping[str, Json], *, note: str = "") -> Delivery:
    notification = bot.errand.notification
    posted = await bot.ask(
        bot.client.chat_postMessage(
            channel=bot.options.channel,
            unfurl_links=False,
            unfurl_media=False,
            client_msg_id=_identity(notification),
            **body,
        )
    )
    if not isinstance(posted, Mapping):
        return posted
    post = Post(asked=bot.options.channel, channel=str(posted.get("channel", "")), ts=str(posted.get("ts", "")))
    failed = [note, await _attach_picture(bot, post), await _reply_content(bot, post)]
    return Sent(handle=_handle(post, notification), note="; ".join(filter(None, failed)))


async def _attach_picture(bot: Bot, post: Post) -> str:
    """What went wrong."""
    run = bot.errand.beside.run
    png = await picture_of(run) if run is not None else None
    if run is None or png is None:
        return ""
    name = f"run-{run.id}"
    outcome = await bot.ask(
        bot.client.files_upload_v2(
            channel=post.channel, thread_ts=post.ts, content=png, filename=f"{name}.png", title=name, alt_txt=name
        )
    )
    return "" if isinstance(outcome, Mapping) else f"the picture was not attached: {outcome.why}"


async def _reply_content(bot: Bot, post: Post) -> str:
    content = bot.errand.notification.message.content
    if not content:
        return ""
    outcome = await bot.ask(
        bot.client.chat_postMessage(
            channel=post.channel, thread_ts=post.ts, text="Content", blocks=[section(fenced(content))]
        )
    )
    return "" if isinstance(outcome, Mapping) else f"the content was not posted: {outcome.why}"


def _body(notification: Notification) -> dict[str, Json]:
    return {
        "text": fallback(notification),
        "blocks": blocks(notification),
        "metadata": {
            "event_type": "reasoning_canary_notification",
            "event_payload": {"id": notification.id, "page": notification.page_id, "reason": notification.reason.value},
        },
    }


def _identity(notification: Notification) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"reasoning-canary:{notification.id}"))


def _handle(post: Post, notification: Notification) -> str:
    over = not notification.message.firing
    return json.dumps({"asked": post.asked, "channel": post.channel, "ts": post.ts, "over": over})


def _post_of(handle: str | None) -> Post | None:
    return Post(**json.loads(handle)) if handle else None


async def _answer(call: Awaitable[Any]) -> Mapping[str, Json] | RetryLater | Rejected:
    """Slack's own reply, or what its refusal means."""
    try:
        reply = await call
    except SlackApiError as error:
        return classify(*_refusal(error.response))
    except SlackRequestError:
        return RetryLater(why="the file could not be uploaded")
    except (AttributeError, ValueError, RecursionError):
        # slack-sdk takes every reply for an object, and for JSON within reason; what stands in between answers anything
        return RetryLater(why="the answer is not Slack's")
    return dict(reply.data)


def classify(status: int, error: str, headers: Mapping[str, Any]) -> RetryLater | Rejected:
    """`error` as Slack calls it; without one somebody else answered. https://docs.slack.dev/reference/methods"""
    if status == 429 or status >= 500 or error in _TIME_HEALS or not error:
        return RetryLater(why=error or f"HTTP {status}", after_s=retry_after_s(headers))
    return Rejected(why=error)


def _refusal(response: Any) -> tuple[int, str, Mapping[str, Any]]:
    """slack-sdk gives its own response, or aiohttp's where the body was no JSON."""
    status = getattr(response, "status_code", None) or response.status
    data = getattr(response, "data", None)
    error = data.get("error", "") if isinstance(data, Mapping) else ""
    return status, str(error), {name.lower(): value for name, value in response.headers.items()}
