"""A webhook receiver on loopback that takes whatever it is told: somebody to tell, where there is nobody yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

_MOST_BYTES = 2**20


@asynccontextmanager
async def receiver() -> AsyncIterator[str]:
    """Its URL."""

    async def take(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=204)

    app = web.Application(client_max_size=_MOST_BYTES)
    app.router.add_post("/", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()
