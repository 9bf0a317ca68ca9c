"""Who takes our webhooks as a careful receiver does: right signature, fresh, and each id once."""

import base64
import hashlib
import hmac
import json
from contextlib import asynccontextmanager

from aiohttp import web

from tests.fakes.served import served

SECRET = "whsec_" + base64.b64encode(b"s3cr3t-s3cr3t-s3cr3t-s3c").decode()
TOLERANCE_S = 300


class WebhookReceiver:
    def __init__(self, *, now, key=b"s3cr3t-s3cr3t-s3cr3t-s3c"):
        self.now, self.key = now, key
        self.taken = {}  # webhook-id -> body
        self.headers = []
        self.url = ""

    @asynccontextmanager
    async def running(self):
        app = web.Application(client_max_size=32 * 1024**2)
        app.router.add_post("/hook/{token}", self.take)
        async with served(app) as base:
            self.url = f"{base}/hook/s3cr3t-path-token"
            yield self

    async def take(self, request):
        body = await request.read()
        self.headers.append(dict(request.headers))
        identity, timestamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        signed = hmac.new(self.key, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        given = request.headers.get("webhook-signature", "").removeprefix("v1,")
        if not hmac.compare_digest(base64.b64decode(given), signed):
            return web.Response(status=401, text="bad signature")
        if abs(self.now.timestamp() - int(timestamp)) > TOLERANCE_S:
            return web.Response(status=401, text="too old")
        self.taken.setdefault(identity, json.loads(body))
        return web.Response(status=204)
