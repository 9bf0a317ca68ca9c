"""A Slack that refuses what the real one refuses: tokens, channels, Block Kit limits, sizes, rates.

Limits: https://docs.slack.dev/reference/block-kit/blocks, https://docs.slack.dev/reference/methods/chat.postMessage; on
all blocks together: https://github.com/slackapi/bolt-js/issues/2509. Lengths count UTF-16 units, as JavaScript
does, which is never fewer than characters.
"""

import asyncio
import json
import re
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.fakes.served import served

TOKEN = "xoxb-1111-2222-s3cr3tSl4ckT0k3n"
CHANNELS = {"#llm-oncall": "C0ONCALL", "C0ONCALL": "C0ONCALL"}
UNUSABLE = {"#archived": "is_archived", "#private": "not_in_channel", "#locked": "restricted_action"}
MOST_BLOCKS_JSON = 13_000
POWERFUL = re.compile(r"<(?!https?://[^<>|]+\|[^<>|]*>|!date\^\d+\^[^<>]*>)")
_LABEL = re.compile(r"[a-z0-9_]+")


def size(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass
class Posted:
    channel: str
    ts: str
    body: dict
    edits: list = field(default_factory=list)
    thread: list = field(default_factory=list)
    files: list = field(default_factory=list)

    @property
    def now(self):
        return self.edits[-1] if self.edits else self.body


class SlackServer:
    def __init__(self):
        self.posted: list[Posted] = []
        self.calls: list[str] = []
        self.token = TOKEN
        self.answers = deque()  # (status, body, headers) or None for "as usual", one for each next call
        self.lost = 0  # so many next posts are taken, and their replies lost
        self.uploads: dict[str, bytes] = {}
        self.scopes = {"chat:write", "files:write"}
        self.full = False  # no room for files
        self.url = ""
        self.heard = asyncio.Event()  # the first message is there

    @asynccontextmanager
    async def running(self):
        app = web.Application(client_max_size=32 * 1024**2)
        app.router.add_post("/api/{method}", self.answer)
        app.router.add_post("/upload/{file}", self.take_file)
        async with served(app) as self.url:
            yield self

    @property
    def api_url(self):
        return f"{self.url}/api/"

    async def answer(self, request):
        method = request.match_info["method"]
        self.calls.append(method)
        scripted = self.answers.popleft() if self.answers else None
        if scripted is not None:
            status, body, headers = scripted
            return web.Response(status=status, text=body, headers=headers)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return refuse("invalid_auth" if "Authorization" in request.headers else "not_authed")
        return await getattr(self, method.replace(".", "_"))(request)

    async def chat_postMessage(self, request):  # noqa: N802  # Slack's name
        body = await request.json()
        channel = body.get("channel", "")
        if wrong := UNUSABLE.get(channel) or (None if channel in CHANNELS else "channel_not_found") or flaw(body):
            return refuse(wrong)
        message = Posted(channel=CHANNELS[channel], ts=f"17000000{len(self.calls):02}.000100", body=body)
        if thread := body.get("thread_ts"):
            root = self.find(message.channel, thread)
            if root is None:
                return refuse("thread_not_found")
            root.thread.append(message)
        else:
            self.posted.append(message)
            self.heard.set()
        if self.lost:
            self.lost -= 1
            request.transport.abort()
        return agree(channel=message.channel, ts=message.ts, message=body)

    async def chat_update(self, request):
        body = await request.json()
        root = self.find(body.get("channel"), body.get("ts"))
        if root is None:
            return refuse("message_not_found" if body.get("channel") in CHANNELS.values() else "channel_not_found")
        if wrong := flaw(body):
            return refuse(wrong)
        root.edits.append(body)
        return agree(channel=root.channel, ts=root.ts)

    async def files_getUploadURLExternal(self, request):  # noqa: N802
        if "files:write" not in self.scopes:
            return refuse("missing_scope")
        asked = request.query
        if not asked.get("filename") or not asked.get("length", "").isdigit():
            return refuse("invalid_arguments")
        name = f"F{len(self.uploads)}"
        self.uploads[name] = b""
        return agree(upload_url=f"{self.url}/upload/{name}", file_id=name)

    async def take_file(self, request):
        self.uploads[request.match_info["file"]] = await request.read()
        if self.full:
            return web.Response(status=507)
        return web.Response(text="OK - 123")

    async def files_completeUploadExternal(self, request):  # noqa: N802
        form = {**request.query, **(await request.post())}
        files = json.loads(form["files"])
        root = self.find(form.get("channel_id"), form.get("thread_ts"))
        if root is None:
            return refuse("channel_not_found")
        root.files += [self.uploads[each["id"]] for each in files]
        return agree(files=files)

    def find(self, channel, ts):
        return next((each for each in self.posted if (each.channel, each.ts) == (channel, ts)), None)


def agree(**more):
    return web.json_response({"ok": True, **more})


def refuse(error):
    return web.json_response({"ok": False, "error": error})


def flaw(body):
    """Slack's word for what is wrong with a message."""
    text, blocks = body.get("text", ""), body.get("blocks") or []
    if not text and not blocks:
        return "no_text"
    if size(text) > 40_000:
        return "msg_too_long"
    if not isinstance(blocks, list) or len(blocks) > 50 or any(block_flaw(block) for block in blocks):
        return "invalid_blocks"
    if len(json.dumps(blocks, ensure_ascii=False).encode("utf-8", "surrogatepass")) > MOST_BLOCKS_JSON:
        return "msg_blocks_too_long"
    metadata = body.get("metadata")
    if metadata and not (_LABEL.fullmatch(metadata["event_type"]) and isinstance(metadata["event_payload"], dict)):
        return "invalid_metadata_schema"
    return None


def block_flaw(block):
    match block.get("type"):
        case "header":
            return text_flaw(block["text"], kinds={"plain_text"}, most=150)
        case "section":
            fields = block.get("fields", [])
            wrong = [text_flaw(each, kinds={"mrkdwn", "plain_text"}, most=2000) for each in fields]
            if len(fields) > 10 or ("text" not in block and not fields):
                return "fields"
            if "text" in block:
                wrong.append(text_flaw(block["text"], kinds={"mrkdwn", "plain_text"}, most=3000))
            return next(filter(None, wrong), None)
        case "context":
            elements = block.get("elements", [])
            wrong = [text_flaw(each, kinds={"mrkdwn", "plain_text"}, most=2000) for each in elements]
            return "elements" if not 1 <= len(elements) <= 10 else next(filter(None, wrong), None)
        case _:
            return "type"


def text_flaw(text, *, kinds, most):
    if text.get("type") not in kinds or not 1 <= size(text.get("text", "")) <= most:
        return "text"
    if ("emoji" if text["type"] == "mrkdwn" else "verbatim") in text:
        return "of the other kind"
    return None


def mentions(body):
    """Markup in a message that would do something: mention people, or link to where we did not want to."""
    return [
        found for text in [body.get("text", ""), *mrkdwn(body.get("blocks", []))] for found in POWERFUL.findall(text)
    ]


def mrkdwn(value):
    """Every text that Slack reads markup in; in plain_text it does not."""
    if isinstance(value, list):
        return [text for each in value for text in mrkdwn(each)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "mrkdwn":
        return [value["text"]]
    return [text for each in value.values() for text in mrkdwn(each)]
