"""Which storage URLs are understood, and what SQLite is told."""

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import StoreError, open_store
from canary.store.database import url_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("sqlite:///canary-data/canary.db", "sqlite+aiosqlite:///canary-data/canary.db", id="sqlite"),
        pytest.param("sqlite:////data/c.db", "sqlite+aiosqlite:////data/c.db", id="absolute"),
        pytest.param("postgresql://u:p@h/db", "postgresql+asyncpg://u:p@h/db", id="postgresql"),
        pytest.param("postgres://u:p@h:1/db", "postgresql+asyncpg://u:p@h:1/db", id="as many write it"),
        pytest.param("postgresql+psycopg://h/db", "postgresql+asyncpg://h/db", id="another driver"),
        pytest.param("postgresql://h/db?sslmode=require", "postgresql+asyncpg://h/db?sslmode=require", id="as libpq"),
    ],
)
def test_a_url_names_our_driver(text, expected):
    assert url_of(text).render_as_string(hide_password=False) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("sqlite://", "a database in memory forgets", id="memory"),
        pytest.param("sqlite:///:memory:", "a database in memory forgets", id="memory by name"),
        pytest.param("sqlite:///c.db?mode=ro", "sqlite:///c.db takes no options", id="options"),
        pytest.param("mysql://root:hunter2@h/db", "begins with mysql; expected sqlite or postgresql", id="another"),
        pytest.param("hunter2", "the storage URL cannot be read", id="no URL"),
        pytest.param("", "the storage URL cannot be read", id="nothing"),
        pytest.param("postgresql://u:hunter2@[::1/db", "the storage URL cannot be read", id="half a bracket"),
        pytest.param("postgresql://u:hunter2@h:x/db", "the storage URL cannot be read", id="a port in letters"),
        pytest.param("sqlite:///a\0b.db", "the storage URL cannot be read", id="NUL"),
        pytest.param("sqlite:///\udcff.db", "the storage URL cannot be read", id="half a surrogate pair"),
    ],
)
def test_what_is_no_storage_is_refused_without_repeating_it(text, message):
    with pytest.raises(StoreError, match=message) as caught:
        url_of(text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("journal_mode", "wal"),
        ("auto_vacuum", 2),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("journal_size_limit", 2**26),
    ],
)
async def test_the_writing_connection_is_told(sqlite, pragma, expected):
    async with open_store(sqlite) as store, store.database.writing() as connection:
        assert (await connection.exec_driver_sql(f"PRAGMA {pragma}")).scalar() == expected


async def test_readers_cannot_write(store):
    async def write():
        async with store.database.reading() as connection:
            await connection.exec_driver_sql("DELETE FROM runs")

    with pytest.raises(StoreError):
        await write()


@pytest.mark.parametrize("name", ["a b#c.db", "한국.db", "a&mode=ro.db"], ids=["signs", "script", "option"])
async def test_any_path_will_do(tmp_path, name):
    folder = tmp_path / "deep" / "er"
    storage = Storage(url=Secret(f"sqlite:///{folder}/{name}"))
    async with open_store(storage):
        assert (folder / name).exists()
    async with open_store(storage, read_only=True) as store:
        assert await store.runs() == ()
