"""An aiohttp application on a free port of the loopback, for as long as a block lasts."""

from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def served(app):
    """Its base URL."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
