"""An old database becomes a new one when it is opened, in one transaction; a newer one is refused.

A database that was only written by a newer program may hold what this one cannot read, so it is left alone. Readers
(`canary history`) neither make nor change tables: they may run as somebody else, at any time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, text

from canary.store.errors import StoreError, StoreTrouble, place
from canary.store.tables import METADATA

_SCRIPTS = ScriptDirectory(str(Path(__file__).parent / "migrations"))
_LOCK = 0x63616E617279  # any number that no other program on the same server takes


def migrate(connection: Connection, url: URL) -> None:
    """To the newest revision, in the connection's transaction. Raises StoreError for one that is not known."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if revision_of(connection, url) == newest():
        return
    with EnvironmentContext(Config(), _SCRIPTS, fn=_upgrade) as environment:
        environment.configure(connection=connection, target_metadata=METADATA, transactional_ddl=True)
        environment.run_migrations()


def _upgrade(here: Any, _context: object) -> Any:
    """What alembic's own `upgrade` command does, without its files and streams."""
    return _SCRIPTS._upgrade_revs("head", here)  # noqa: SLF001


def revision_of(connection: Connection, url: URL) -> str | None:
    """None: there are no tables yet. Raises StoreError for a revision that is not known."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in _known():
        msg = f"{place(url)} was written by a newer version of canary (revision {found}; this one knows {newest()})"
        raise StoreError(StoreTrouble.TOO_NEW, msg)
    return found


def newest() -> str:
    return str(_SCRIPTS.get_current_head())


def _known() -> set[str]:
    return {script.revision for script in _SCRIPTS.walk_revisions()}
