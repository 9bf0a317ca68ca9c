"""A Statuspage that refuses what the real one refuses. https://developer.statuspage.io

401 without its key, 404 for what it does not have, 400 for no JSON, 422 for a state that is none, 420 beyond its rate.
"""

import json
from contextlib import asynccontextmanager

from aiohttp import web

from tests.fakes.served import served

KEY, PAGE = "s3cr3t-api-key-0123456789", "pg1"
STATES = {"operational", "degraded_performance", "partial_outage", "major_outage", "under_maintenance"}


class StatuspageServer:
    def __init__(self, *ids, rate=60):
        self.components = dict.fromkeys(ids, "operational")
        self.set = []
        self.rate = rate
        self.url = ""

    @asynccontextmanager
    async def running(self):
        app = web.Application()
        app.router.add_get("/v1/pages/{page}", self.page)
        app.router.add_patch("/v1/pages/{page}/components/{component}", self.change)
        async with served(app) as base:
            self.url = f"{base}/v1"
            yield self

    async def page(self, request):
        return self.refused(request) or web.json_response({"id": PAGE, "name": "Chat"})

    async def change(self, request):
        if refused := self.refused(request):
            return refused
        component = request.match_info["component"]
        if component not in self.components:
            return web.json_response({"error": "Component not found"}, status=404)
        try:
            state = json.loads(await request.read())["component"]["status"]
        except (ValueError, KeyError, TypeError):
            return web.json_response({"error": "bad request"}, status=400)
        if state not in STATES:
            return web.json_response({"error": ["Status is not included in the list"]}, status=422)
        self.components[component] = state
        self.set.append((component, state))
        return web.json_response({"id": component, "status": state})

    def refused(self, request):
        if request.headers.get("Authorization") != f"OAuth {KEY}":
            return web.json_response({"error": "Could not authenticate"}, status=401)
        if request.match_info["page"] != PAGE:
            return web.json_response({"error": "Not found"}, status=404)
        self.rate -= 1
        return web.json_response({"error": "Too many requests"}, status=420) if self.rate < 0 else None
