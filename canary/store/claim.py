"""One daemon a database. Two would probe twice, and each would page by its own memory of what people were told.

The claim is a lock that dies with its holder, however that ends: no file has to be removed by hand after a kill -9.

- SQLite: `flock` on a file beside the database. Not on the database itself: SQLite has locks of its own on that.
- PostgreSQL: an advisory lock of the session that writes. A new session, after the server was away, claims anew; the
  server is told to look every few seconds whether the one before is still there, or our own ghost would keep us out.

Commands beside the daemon (`canary silence`, `canary history`) claim nothing.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL
from sqlalchemy.event import listens_for
from sqlalchemy.ext.asyncio import AsyncEngine

from canary.store.errors import StoreError, StoreTrouble, place
from canary.store.file import identity

_LOCK = 0x63616E61727931  # any number that no other program on the same server takes
_LOCK_TIMED_OUT = "55P03"
# In seconds: within a minute the server finds that our end of a connection is gone.
KEEPALIVES = {"tcp_keepalives_idle": "20", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"}


def _taken(url: URL, whose: str = "") -> StoreError:
    return StoreError(StoreTrouble.TAKEN, f"{place(url)} is in use by another canary{whose}; each needs one of its own")


@dataclass(slots=True, kw_only=True)
class FileClaim:
    """On `PATH.lock` beside a SQLite file."""

    url: URL
    handle: int | None = None

    @property
    def path(self) -> Path:
        return Path(f"{self.url.database}.lock")

    def take(self) -> None:
        """Also again, where somebody deleted the file. Raises StoreError where another holds it, and OSError."""
        if self.handle is not None and identity(self.path) == identity(self.handle):
            return
        self.release()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(handle, 20).decode("ascii", "replace").strip()
            os.close(handle)
            raise _taken(self.url, f" (process {who})" if who.isdecimal() else "") from None
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        self.handle = handle

    def release(self) -> None:
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


def claim_sessions(writer: AsyncEngine, url: URL) -> None:
    """Every session of this engine holds the claim on a PostgreSQL database; whoever cannot, does not come about."""

    @listens_for(writer.sync_engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        try:
            cursor.execute(f"SELECT pg_advisory_lock({_LOCK})")  # waits for `lock_timeout`
        except Exception as error:
            connection.close()
            if getattr(error, "sqlstate", None) == _LOCK_TIMED_OUT:
                raise _taken(url) from None
            raise
        cursor.close()
