"""The listening socket: opened on entry, closed gracefully on exit."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import gaierror

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from canary.core.service import Listen, bind_refusal


class ListenError(Exception):
    """The address cannot or must not be listened at. The message says which and why."""


def _own_fault(record: logging.LogRecord) -> bool:
    """Strangers who speak no HTTP are told so. In our log they would be errors with tracebacks, one for each knock."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


_LOG = logging.getLogger("canary.web")
_LOG.addFilter(_own_fault)


@asynccontextmanager
async def serve(application: web.Application, listen: Listen, *, grace_s: float = 5.0) -> AsyncIterator[str]:
    """Yields the base URL with the port that was bound, `http://127.0.0.1:9469`. Raises ListenError.

    On exit no new connection is taken, and requests under way have `grace_s` to finish.
    """
    if why := bind_refusal(listen):
        raise ListenError(why)
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=grace_s, logger=_LOG)
    await runner.setup()
    try:
        site = web.TCPSite(runner, listen.host or None, listen.port)
        try:
            await site.start()
        except (OSError, ValueError, OverflowError) as error:  # no address, no name of a host, no port
            msg = f"cannot listen at {listen.host}:{listen.port}: {_why(error)}"
            raise ListenError(msg) from error
        host, port = runner.addresses[0][:2]
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def _why(error: Exception) -> str:
    """Without the address: asyncio repeats it in the words of its own."""
    if isinstance(error, gaierror):  # its numbers are the resolver's
        return error.strerror or str(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return str(error)
