"""The listening socket: opened on entry, closed gracefully on exit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from canary.core.service import Listen, bind_refusal


class ListenError(Exception):
    """The address cannot or must not be listened at. The message says which and why."""


@asynccontextmanager
async def serve(application: web.Application, listen: Listen, *, grace_s: float = 5.0) -> AsyncIterator[str]:
    """Yields the base URL with the port that was bound, `http://127.0.0.1:9469`. Raises ListenError.

    On exit no new connection is taken, and requests under way have `grace_s` to finish.
    """
    if why := bind_refusal(listen):
        raise ListenError(why)
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=grace_s)
    await runner.setup()
    try:
        site = web.TCPSite(runner, listen.host or None, listen.port)
        try:
            await site.start()
        except (OSError, ValueError, OverflowError) as error:  # no address, no name of a host, no port
            said = error.strerror if isinstance(error, OSError) else None
            msg = f"cannot listen at {listen.host}:{listen.port}: {said or error}"
            raise ListenError(msg) from error
        host, port = runner.addresses[0][:2]
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        await runner.cleanup()
