"""Connections: one that writes, a few that read.

One connection writes, for both databases: what is saved first is there first, and SQLite never meets itself at the
lock. Readers never wait for it: SQLite's WAL and PostgreSQL's row versions see to that.

SQLite is told to be durable (`synchronous=FULL`, one fsync a run, in a thread): a page that somebody was told of, an
acknowledgement, a silence must not be forgotten when the power fails, and a run a second is nothing to a disk.
`auto_vacuum=INCREMENTAL` lets pruned pages be given back. The WAL starts anew every 1000 pages, which is SQLite's
default and works because no reader stays long, and is cut down to `journal_size_limit` then. Python's sqlite3 module
would begin transactions by itself, and too late: it is told not to, and `BEGIN IMMEDIATE` takes the lock for writing
at once, so that a transaction waits at its start or never.

A file that is deleted or replaced while it is open takes all that is written, and nobody will ever read it. So after
each transaction it is compared with what has its name now.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiosqlite
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from canary.store.claim import KEEPALIVES, FileClaim, claim_sessions
from canary.store.errors import StoreError, StoreTrouble, place, translated
from canary.store.file import OpenFile

_READERS = 3
_CONNECT_TIMEOUT_S = 10.0
_WAL_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    url: URL
    writer: AsyncEngine
    reader: AsyncEngine
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    file: OpenFile | None = None
    claim: FileClaim | None = None

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end, in the order of asking (a pool keeps none). Raises StoreError."""
        async with self.turn:
            with translated(self.url):
                async with self.writer.begin() as connection:
                    yield connection
            if self.file is not None and await asyncio.to_thread(self.file.is_another):
                await self.leave()
                msg = f"{place(self.url)} was deleted or replaced while it was in use"
                raise StoreError(StoreTrouble.MISSING, msg)

    async def enter(self) -> None:
        """Where it is a file: its folder is there, and it is ours alone if it has to be. Raises StoreError."""
        with translated(self.url):
            if self.file is not None:
                await asyncio.to_thread(self.file.path.parent.mkdir, parents=True, exist_ok=True)
            if self.claim is not None:
                await asyncio.to_thread(self.claim.take)

    async def leave(self) -> None:
        """Closes all connections; the next transaction opens new ones."""
        if self.file is not None:
            self.file.forget()
        await self.reader.dispose()
        await self.writer.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """One consistent view. Raises StoreError."""
        with translated(self.url):
            async with self.reader.begin() as connection:
                yield connection

    async def close(self) -> None:
        await self.leave()
        if self.claim is not None:
            self.claim.release()


def url_of(text: str) -> URL:
    """Raises StoreError for what is no URL of a database that we know; it does not repeat what may hold a password."""
    try:
        url = _parsed(text)
    except (ArgumentError, ValueError):
        msg = "the storage URL cannot be read; expected sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"
        raise StoreError(StoreTrouble.OTHER, msg) from None
    backend = url.drivername.partition("+")[0]
    if backend == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise StoreError(StoreTrouble.OTHER, "a database in memory forgets; expected sqlite:///PATH")
        if url.query:
            msg = f"sqlite:///{url.database} takes no options after a question mark"
            raise StoreError(StoreTrouble.OTHER, msg)
        return url.set(drivername="sqlite+aiosqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+asyncpg")
    msg = f"the storage URL begins with {backend}; expected sqlite or postgresql"
    raise StoreError(StoreTrouble.OTHER, msg)


def _parsed(text: str) -> URL:
    """Raises ArgumentError, and ValueError also for what no path and no server takes: NUL, half a surrogate pair."""
    if "\0" in text:
        msg = "NUL in a URL"
        raise ValueError(msg)
    text.encode()
    return make_url(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`read_only`: nothing is made or changed. `alone`: by one daemon at a time, see claim.py."""

    lock_timeout_s: float = 5.0
    read_only: bool = False
    alone: bool = False


def database(url: URL, access: Access) -> Database:
    """Makes nothing and connects to nothing yet. Raises StoreError where the driver is not installed."""
    make = _sqlite if url.get_backend_name() == "sqlite" else _server
    try:
        return make(url, access)
    except ModuleNotFoundError as error:
        msg = f"{place(url)} needs {error.name}; install reasoning-canary[postgres]"
        raise StoreError(StoreTrouble.OTHER, msg) from None


def _sqlite(url: URL, access: Access) -> Database:
    path = str(url.database)
    file = f"file:{quote(path)}?mode=ro" if access.read_only else path
    opened = partial(_opened, file, uri=access.read_only, timeout=access.lock_timeout_s)
    common: dict[str, Any] = {"hide_parameters": True, "async_creator": opened, "max_overflow": 0, "pool_timeout": 60.0}
    writer = create_async_engine(url, pool_size=1, **common)
    reader = create_async_engine(url, pool_size=_READERS, **common)
    _prepare(reader, begin="BEGIN", pragmas=("PRAGMA query_only=ON",))
    first = () if access.read_only else ("PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL")  # in that order
    pragmas = ("PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", f"PRAGMA journal_size_limit={_WAL_BYTES}")
    _prepare(writer, begin="BEGIN IMMEDIATE", pragmas=(*first, *pragmas))
    claim = FileClaim(url=url) if access.alone else None
    return Database(url=url, writer=writer, reader=reader, file=OpenFile(Path(path)), claim=claim)


async def _opened(file: str, **options: Any) -> aiosqlite.Connection:
    """Waits for the thread of a connection that fails: it has a last word for our loop, which may be closed soon."""
    connection = aiosqlite.connect(file, **options)
    connection._thread.daemon = True  # noqa: SLF001  # as SQLAlchemy does: nothing else waits for it at the end
    try:
        return await connection
    except BaseException:
        await asyncio.to_thread(connection._thread.join)  # noqa: SLF001
        raise


def _prepare(engine: AsyncEngine, *, begin: str, pragmas: tuple[str, ...]) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        try:
            for pragma in pragmas:
                cursor.execute(pragma)
        finally:
            cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


def _server(url: URL, access: Access) -> Database:
    """Asyncpg reads the URL itself, as libpq does: `sslmode`, `sslrootcert`, `target_session_attrs` …"""
    settings = {"lock_timeout": f"{round(access.lock_timeout_s * 1000)}", "application_name": "canary", **KEEPALIVES}
    common: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True, "max_overflow": 0, "pool_timeout": 60.0}
    dsn = url.set(drivername="postgresql").render_as_string(hide_password=False)
    arguments = {"dsn": dsn, "timeout": _CONNECT_TIMEOUT_S, "command_timeout": 60.0}
    plain = URL.create("postgresql+asyncpg")
    writer = create_async_engine(plain, pool_size=1, connect_args={**arguments, "server_settings": settings}, **common)
    if access.alone:
        claim_sessions(writer, url)
    read = {**settings, "default_transaction_read_only": "on"}
    reads = {**arguments, "server_settings": read}
    reader = create_async_engine(plain, pool_size=_READERS, connect_args=reads, **common)
    return Database(url=url, writer=writer, reader=reader)


def is_there(url: URL) -> bool:
    return Path(str(url.database)).exists()
