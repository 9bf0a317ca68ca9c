"""Which trouble a driver's exception is, and how a database is named to people."""

import errno
import socket
import sqlite3
import ssl

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from canary.store.errors import StoreError, StoreTrouble, place, translated

FILE = make_url("sqlite+aiosqlite:////data/canary.db")
SERVER = make_url("postgresql+asyncpg://canary:hunter2@db.example:5433/history?ssl=require")


def from_sqlite(name, said="it said so"):
    error = sqlite3.OperationalError(said)
    error.sqlite_errorname = name
    return OperationalError("SELECT 'prompt'", ("secret",), error)


def from_server(code):
    error = RuntimeError("it said so")
    error.sqlstate = code
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(from_sqlite("SQLITE_FULL"), StoreTrouble.FULL, id="full"),
        pytest.param(from_sqlite("SQLITE_IOERR_WRITE"), StoreTrouble.READ_ONLY, id="a file size limit"),
        pytest.param(from_sqlite("SQLITE_IOERR_FSYNC"), StoreTrouble.UNREACHABLE, id="a disk that fails"),
        pytest.param(from_sqlite("SQLITE_READONLY_DIRECTORY"), StoreTrouble.READ_ONLY, id="an extended code"),
        pytest.param(from_sqlite("SQLITE_BUSY_SNAPSHOT"), StoreTrouble.LOCKED, id="busy"),
        pytest.param(from_sqlite("SQLITE_CANTOPEN"), StoreTrouble.REFUSED, id="no such folder"),
        pytest.param(from_sqlite("SQLITE_NOTADB"), StoreTrouble.CORRUPT, id="no database"),
        pytest.param(from_sqlite("SQLITE_ERROR"), StoreTrouble.OTHER, id="another"),
        pytest.param(from_server("53100"), StoreTrouble.FULL, id="server full"),
        pytest.param(from_server("53300"), StoreTrouble.UNREACHABLE, id="too many connections"),
        pytest.param(from_server("25006"), StoreTrouble.READ_ONLY, id="server read only"),
        pytest.param(from_server("55P03"), StoreTrouble.LOCKED, id="server locked"),
        pytest.param(from_server("57P03"), StoreTrouble.UNREACHABLE, id="server starting"),
        pytest.param(from_server("28P01"), StoreTrouble.REFUSED, id="wrong password"),
        pytest.param(from_server("XX001"), StoreTrouble.CORRUPT, id="server damaged"),
        pytest.param(ConnectionRefusedError("it said so"), StoreTrouble.UNREACHABLE, id="refused"),
        pytest.param(from_server("3D000"), StoreTrouble.REFUSED, id="no such database"),
        pytest.param(OSError(errno.EACCES, "it said so"), StoreTrouble.REFUSED, id="no right to enter"),
        pytest.param(OSError(errno.ENOTDIR, "it said so"), StoreTrouble.REFUSED, id="a file for a folder"),
        pytest.param(OSError(errno.EROFS, "it said so"), StoreTrouble.READ_ONLY, id="a read-only file system"),
        pytest.param(OSError(errno.ENOSPC, "it said so"), StoreTrouble.FULL, id="no room for a folder"),
        pytest.param(OSError(errno.EHOSTUNREACH, "it said so"), StoreTrouble.UNREACHABLE, id="no way there"),
        pytest.param(FileNotFoundError(errno.ENOENT, "it said so"), StoreTrouble.UNREACHABLE, id="no socket yet"),
        pytest.param(socket.gaierror(socket.EAI_AGAIN, "it said so"), StoreTrouble.UNREACHABLE, id="no DNS"),
        pytest.param(ssl.SSLCertVerificationError("it said so"), StoreTrouble.REFUSED, id="another certificate"),
        pytest.param(ssl.SSLError(ssl.SSL_ERROR_SSL, "it said so"), StoreTrouble.UNREACHABLE, id="TLS broken off"),
        pytest.param(TimeoutError(), StoreTrouble.UNREACHABLE, id="no answer"),
        pytest.param(PoolTimeoutError("it said so"), StoreTrouble.LOCKED, id="no connection free"),
    ],
)
def test_the_kind_of_trouble(error, expected):
    with pytest.raises(StoreError) as caught, translated(SERVER):
        raise error
    assert caught.value.kind is expected
    assert str(caught.value).startswith("the database postgresql://db.example:5433/history ")
    assert not any(word in str(caught.value) for word in ("hunter2", "prompt", "secret"))


@pytest.mark.parametrize("error", [ValueError("ours"), KeyError("ours"), LookupError("ours")], ids=repr)
def test_a_bug_of_ours_passes_through(error):
    with pytest.raises(type(error), match="ours"), translated(FILE):
        raise error


def test_a_message_is_one_line_and_says_what_was_said():
    with pytest.raises(StoreError) as caught, translated(FILE):
        raise from_sqlite("SQLITE_BUSY", "database\n  is locked")
    assert str(caught.value) == "the database /data/canary.db is locked by somebody else: database is locked"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(FILE, "the database /data/canary.db", id="file"),
        pytest.param(SERVER, "the database postgresql://db.example:5433/history", id="server"),
        pytest.param(make_url("postgresql:///history"), "the database postgresql:///history", id="socket"),
    ],
)
def test_a_place_has_no_user_password_or_options(url, expected):
    assert place(url) == expected
