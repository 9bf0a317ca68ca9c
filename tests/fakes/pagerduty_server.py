"""A PagerDuty Events API v2 that refuses what the real one refuses. https://developer.pagerduty.com/docs/send-alert-event"""

import json
from contextlib import asynccontextmanager
from datetime import datetime

from aiohttp import web

from tests.fakes.served import served

ROUTING_KEY = "s3cr3t0123456789abcdef0123456789"
MOST_BYTES = 512 * 1024


class PagerDutyServer:
    def __init__(self):
        self.events = []
        self.incidents = {}  # dedup_key -> triggered | acknowledged | resolved
        self.url = ""

    @asynccontextmanager
    async def running(self):
        app = web.Application(client_max_size=32 * 1024**2)
        app.router.add_post("/v2/enqueue", self.enqueue)
        async with served(app) as base:
            self.url = f"{base}/v2/enqueue"
            yield self

    async def enqueue(self, request):
        raw = await request.read()
        wrong = flaws(raw)
        if wrong:
            answer = {"status": "invalid event", "message": "Event object is invalid", "errors": wrong}
            return web.json_response(answer, status=413 if "size" in wrong else 400)
        event = json.loads(raw)
        self.events.append(event)
        key, action = event["dedup_key"], event["event_action"]
        before = self.incidents.get(key)
        if action == "trigger":
            self.incidents[key] = before if before == "acknowledged" else "triggered"
        elif before in ("triggered", "acknowledged"):
            self.incidents[key] = {"acknowledge": "acknowledged", "resolve": "resolved"}[action]
        return web.json_response({"status": "success", "message": "Event processed", "dedup_key": key}, status=202)


def flaws(raw):
    if len(raw) > MOST_BYTES:
        return ["size"]
    event = json.loads(raw)
    found = []
    if event.get("routing_key") != ROUTING_KEY:
        found.append("'routing_key' is invalid")
    if event.get("event_action") not in ("trigger", "acknowledge", "resolve"):
        found.append("'event_action' is invalid")
    if not 1 <= len(event.get("dedup_key", "")) <= 255:
        found.append("'dedup_key' is invalid")
    return found + (trigger_flaws(event) if event.get("event_action") == "trigger" else [])


def trigger_flaws(event):
    payload = event.get("payload", {})
    found = [f"'payload.{name}' is missing" for name in ("summary", "source", "severity") if not payload.get(name)]
    if len(payload.get("summary", "")) > 1024:
        found.append("'payload.summary' is too long")
    if payload.get("severity") not in ("critical", "error", "warning", "info"):
        found.append("'payload.severity' is invalid")
    if datetime.fromisoformat(payload["timestamp"]).tzinfo is None:
        found.append("'payload.timestamp' is invalid")
    return found + ["'links' is invalid" for link in event.get("links", []) if not link.get("href")]
