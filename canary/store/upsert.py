"""INSERT … ON CONFLICT, which both databases spell alike and SQLAlchemy keeps in two places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

Row: TypeAlias = dict[str, Any]  # column: value, what SQLAlchemy takes
Insert: TypeAlias = "sqlite.Insert | postgresql.Insert"


def insert(connection: AsyncConnection, table: Table) -> Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


async def insert_new(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> int:
    """Leaves those alone that are there already. How many were new."""
    if not rows:
        return 0
    done = await connection.execute(insert(connection, table).on_conflict_do_nothing(), rows)
    return done.rowcount


async def replace_all(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> None:
    """By primary key: new ones are added, known ones get all their columns anew."""
    if not rows:
        return
    new, keys = insert(connection, table), list(table.primary_key.columns)
    others = {column.name: new.excluded[column.name] for column in table.columns if column not in keys}
    await connection.execute(new.on_conflict_do_update(index_elements=keys, set_=others), rows)
