"""Rows that cannot be read: damaged, or written by another version of this program. None of them hides the others.

Such a row is left out of what is read, left as it is where it lies, and noted here by its table and key, with the
reason: whoever holds the store says it, once. An unsent notification is more than left out, or it would hold up for
ever what comes after it: whoever holds the store gives it up (`unsent`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Row as Found
from sqlalchemy import Table

from canary.store.codec import CodecError
from canary.store.rows import Unreadable
from canary.store.tables import OUTBOX

T = TypeVar("T")
_MOST = 1000  # a database full of them is one trouble, not many


@dataclass(frozen=True, slots=True)
class Aside:
    """Filled by the threads that read, too: one dict, to which each adds one key at a time."""

    rows: dict[Unreadable, None] = field(default_factory=dict)

    def readable(self, table: Table, rows: Iterable[Found[Any]], make: Callable[[Found[Any]], T]) -> tuple[T, ...]:
        """What `make` makes of each; it raises CodecError."""
        found: list[T] = []
        key = OUTBOX.c.notification_id.name if table is OUTBOX else "id"
        for row in rows:
            try:
                found.append(make(row))
            except CodecError as error:
                unsent = table is OUTBOX and row.state != "sent"
                self.note(table, str(getattr(row, key)), error, unsent=unsent)
        return tuple(found)

    def note(self, table: Table, key: str, error: CodecError, *, unsent: bool = False) -> None:
        if len(self.rows) < _MOST:
            self.rows.setdefault(Unreadable(table=table.name, key=key, why=str(error), unsent=unsent))
