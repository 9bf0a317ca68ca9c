"""Where foreign exceptions of databases become ours, and nowhere else.

What a caller can do about it decides the kinds: wait (LOCKED, UNREACHABLE), make room (FULL), call somebody. What may
end while a daemon waits is `PASSING`: it keeps none from starting. An error of a database driver is always the world's
fault to us; any other exception is our own bug and passes through.
"""

from __future__ import annotations

import errno
import sqlite3
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class StoreTrouble(StrEnum):
    FULL = "full"
    READ_ONLY = "read_only"
    LOCKED = "locked"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it does not let us in, there is no such database, or the file cannot be opened
    CORRUPT = "corrupt"
    MISSING = "missing"  # nothing is there: opened to be read only, or deleted while it was open
    TAKEN = "taken"  # by another daemon
    TOO_OLD = "too_old"  # opened to be read only, and its tables are of an earlier version
    TOO_NEW = "too_new"
    OTHER = "other"


PASSING = frozenset({StoreTrouble.FULL, StoreTrouble.LOCKED, StoreTrouble.UNREACHABLE, StoreTrouble.MISSING})


class StoreError(Exception):
    """`str()` is one sentence that names the database, without its password."""

    def __init__(self, kind: StoreTrouble, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class AmbiguousIdError(LookupError):
    """Several runs have ids that begin like this; `ids` are the first of them."""

    def __init__(self, prefix: str, ids: tuple[str, ...]) -> None:
        super().__init__(f"{prefix!r} is not unique: {', '.join(ids)}")
        self.ids = ids


_WORDS: Mapping[StoreTrouble, str] = {
    StoreTrouble.FULL: "has no room left",
    StoreTrouble.READ_ONLY: "cannot be written to",
    StoreTrouble.LOCKED: "is locked by somebody else",
    StoreTrouble.UNREACHABLE: "cannot be reached",
    StoreTrouble.REFUSED: "cannot be opened",
    StoreTrouble.CORRUPT: "is damaged",
    StoreTrouble.OTHER: "answers with an error",
}

# Primary result codes, https://www.sqlite.org/rescode.html; an extended code begins with its primary one.
_SQLITE: Mapping[str, StoreTrouble] = {
    "SQLITE_FULL": StoreTrouble.FULL,
    "SQLITE_IOERR_WRITE": StoreTrouble.READ_ONLY,  # a file size limit, or a disk that takes nothing any more
    "SQLITE_READONLY": StoreTrouble.READ_ONLY,
    "SQLITE_PERM": StoreTrouble.READ_ONLY,
    "SQLITE_BUSY": StoreTrouble.LOCKED,
    "SQLITE_LOCKED": StoreTrouble.LOCKED,
    "SQLITE_CANTOPEN": StoreTrouble.REFUSED,
    "SQLITE_IOERR": StoreTrouble.UNREACHABLE,
    "SQLITE_CORRUPT": StoreTrouble.CORRUPT,
    "SQLITE_NOTADB": StoreTrouble.CORRUPT,
}

# Codes and classes of SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL: Mapping[str, StoreTrouble] = {
    "53100": StoreTrouble.FULL,
    "25006": StoreTrouble.READ_ONLY,
    "42501": StoreTrouble.READ_ONLY,  # insufficient privilege
    "55P03": StoreTrouble.LOCKED,
    "57014": StoreTrouble.LOCKED,  # a statement or lock timeout
    "40P01": StoreTrouble.LOCKED,
    "08": StoreTrouble.UNREACHABLE,
    "28": StoreTrouble.REFUSED,  # it does not let us in
    "3D": StoreTrouble.REFUSED,  # no such database
    "53": StoreTrouble.UNREACHABLE,  # too many connections, out of memory
    "57P": StoreTrouble.UNREACHABLE,  # it is starting or stopping
    "XX001": StoreTrouble.CORRUPT,
    "XX002": StoreTrouble.CORRUPT,
}

# Of the file system and of sockets. ENOENT is not among them: the socket of a server that has not started yet.
_ERRNO: Mapping[int, StoreTrouble] = {
    errno.ENOSPC: StoreTrouble.FULL,
    errno.EDQUOT: StoreTrouble.FULL,
    errno.EROFS: StoreTrouble.READ_ONLY,
    errno.EACCES: StoreTrouble.REFUSED,
    errno.EPERM: StoreTrouble.REFUSED,
    errno.EEXIST: StoreTrouble.REFUSED,
    errno.EISDIR: StoreTrouble.REFUSED,
    errno.ENOTDIR: StoreTrouble.REFUSED,
    errno.ENAMETOOLONG: StoreTrouble.REFUSED,
}


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Raises StoreError for whatever the driver raises."""
    try:
        yield
    except DBAPIError as error:
        raise _error(url, _kind(error.orig, disconnected=error.connection_invalidated), _said(error.orig)) from error
    except PoolTimeoutError as error:
        raise _error(url, StoreTrouble.LOCKED, "no connection became free") from error
    except (
        OSError,
        sqlite3.Error,
    ) as error:  # before there is a connection, drivers are not wrapped; timeouts are OSError
        raise _error(url, _kind(error, disconnected=True), _said(error)) from error
    except Exception as error:
        if not hasattr(error, "sqlstate"):
            raise
        raise _error(url, _kind(error, disconnected=True), _said(error)) from error


def place(url: URL) -> str:
    """How a database is named to people: no user, no password, no options."""
    if url.get_backend_name() == "sqlite":
        return f"the database {url.database}"
    port = f":{url.port}" if url.port else ""
    return f"the database {url.get_backend_name()}://{url.host or ''}{port}/{url.database or ''}"


def _error(url: URL, kind: StoreTrouble, said: str) -> StoreError:
    return StoreError(kind, f"{place(url)} {_WORDS[kind]}: {said}")


def _kind(error: BaseException | None, *, disconnected: bool) -> StoreTrouble:
    found = _longest(_SQLITE, getattr(error, "sqlite_errorname", None))
    found = found or _longest(_POSTGRESQL, getattr(error, "sqlstate", None)) or _of_system(error)
    return found or (StoreTrouble.UNREACHABLE if disconnected else StoreTrouble.OTHER)


def _of_system(error: BaseException | None) -> StoreTrouble | None:
    """An error of TLS is an OSError whose number is none of the system's."""
    if isinstance(error, ssl.SSLError):
        return StoreTrouble.REFUSED if isinstance(error, ssl.SSLCertVerificationError) else None
    return _ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None


def _longest(kinds: Mapping[str, StoreTrouble], code: str | None) -> StoreTrouble | None:
    fitting = [known for known in kinds if code and code.startswith(known)]
    return kinds[max(fitting, key=len)] if fitting else None


def _said(error: BaseException | None) -> str:
    """The driver's own words on one line; its type where it has none, as a timeout."""
    return " ".join(str(error).split()) or type(error).__name__
