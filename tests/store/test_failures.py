"""A database that fails says so clearly, loses nothing that was stored, and works again afterwards."""

import asyncio
import os
import sqlite3
import stat
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.verdict import Status
from canary.store import PASSING, StoreError, StoreTrouble, open_store
from tests.fakes.stored import NOON, NOTHING, after, conclusion_of, run_of

NOBODY = 65534


def path_of(storage):
    return Path(storage.url.reveal().removeprefix("sqlite:///"))


async def ids(store):
    return sorted([row.id for row in await store.runs(most=10_000)])


async def limit_pages(store, more):
    """SQLite's own disk: as many pages as there are now, and so many more."""
    async with store.database.writing() as connection:
        pages = (await connection.exec_driver_sql("PRAGMA page_count")).scalar()
        await connection.exec_driver_sql(f"PRAGMA max_page_count={pages + more}")


async def save_many(store, count):
    for n in range(count):
        await store.save_run(run_of(f"r{n:02}", status=Status.FAIL), conclusion_of(), quiet=True)


async def test_no_room(sqlite):
    async with open_store(sqlite) as store:
        await store.save_run(run_of("before"), NOTHING, quiet=True)
        await limit_pages(store, 2)
        with pytest.raises(StoreError, match=r"canary\.db has no room left: ") as caught:
            await save_many(store, 99)
        assert caught.value.kind is StoreTrouble.FULL
        stored = await ids(store)
        assert stored == ["before", *(f"r{n:02}" for n in range(len(stored) - 1))]
        assert all([(await store.run(name)).results for name in stored])
        await limit_pages(store, 10_000)
        await store.save_run(run_of("after"), NOTHING, quiet=True)
        assert "after" in await ids(store)


async def test_locked_by_another_process(sqlite):
    async with open_store(sqlite, lock_timeout_s=0.05) as store:
        await store.save_run(run_of("before"), NOTHING, quiet=True)
        other = sqlite3.connect(path_of(sqlite), isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"canary\.db is locked by somebody else: ") as caught:
            await store.save_run(run_of("meanwhile"), NOTHING, quiet=True)
        assert caught.value.kind is StoreTrouble.LOCKED
        assert await ids(store) == ["before"], "readers do not wait"
        other.close()
        await store.save_run(run_of("meanwhile"), NOTHING, quiet=True)
        assert await ids(store) == ["before", "meanwhile"]


async def test_locked_from_the_start(sqlite):
    async with open_store(sqlite):
        pass
    other = sqlite3.connect(path_of(sqlite), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="is locked by somebody else"):
        async with open_store(sqlite, lock_timeout_s=0.05):
            pytest.fail("opened")
    other.close()
    async with open_store(sqlite) as store:
        assert await ids(store) == []


@contextmanager
def as_nobody():
    """Nothing is read only to root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder(tmp_path):
    """A folder that everybody may enter, as pytest's own are not."""
    for folder in (tmp_path, *tmp_path.parents):
        mode = folder.stat().st_mode
        if folder.owner() == Path.home().owner() and not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)
    return tmp_path


async def test_a_folder_that_cannot_be_written_to(open_folder):
    folder = open_folder / "data"
    storage = Storage(url=Secret(f"sqlite:///{folder}/canary.db"))
    async with open_store(storage) as store:
        await store.save_run(run_of("before"), NOTHING, quiet=True)
    folder.chmod(0o555)
    (folder / "canary.db").chmod(0o444)
    with as_nobody(), pytest.raises(StoreError) as caught:
        async with open_store(storage):
            pytest.fail("opened")
    assert caught.value.kind in (StoreTrouble.READ_ONLY, StoreTrouble.REFUSED)
    assert str(caught.value).startswith(f"the database {folder}/canary.db cannot be ")
    folder.chmod(0o755)
    (folder / "canary.db").chmod(0o644)
    async with open_store(storage) as store:
        assert await ids(store) == ["before"]


async def test_a_folder_that_cannot_be_made(open_folder):
    open_folder.chmod(0o555)
    with as_nobody(), pytest.raises(StoreError, match="cannot be ") as caught:
        async with open_store(Storage(url=Secret(f"sqlite:///{open_folder}/data/canary.db"))):
            pytest.fail("opened")
    assert caught.value.kind in (StoreTrouble.READ_ONLY, StoreTrouble.REFUSED)


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        pytest.param(lambda path: path.write_bytes(b"no database" * 999), {StoreTrouble.CORRUPT}, id="another file"),
        pytest.param(
            lambda path: path.mkdir(), {StoreTrouble.REFUSED, StoreTrouble.UNREACHABLE}, id="a folder, and to read it"
        ),
    ],
)
async def test_what_is_no_database_is_left_alone(sqlite, make, kinds):
    path = path_of(sqlite)
    path.parent.mkdir()
    make(path)
    before = path.stat()
    seen = set()
    for read_only in (False, True):
        with pytest.raises(StoreError) as caught:
            async with open_store(sqlite, read_only=read_only):
                pytest.fail("opened")
        seen.add(caught.value.kind)
        assert read_only or caught.value.kind not in PASSING
    assert seen == kinds
    assert path.stat().st_size == before.st_size


def test_what_cannot_be_opened_leaves_no_thread_behind(tmp_path):
    """It would speak to a loop that is closed, and say so on stderr."""

    async def opened():
        async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}"))):
            pytest.fail("opened")

    with pytest.raises(StoreError, match="cannot be opened"):
        asyncio.run(opened())
    assert [thread.name for thread in threading.enumerate() if "_connection_worker_thread" in thread.name] == []


async def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(StoreError, match="cannot be opened"):
        async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}/data/canary.db"))):
            pytest.fail("opened")


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_a_save_that_is_cancelled_is_whole_or_not_at_all(store, steps):
    """After any number of turns of the loop; the connection goes back in order."""
    saving = asyncio.create_task(store.save_run(run_of("r1", status=Status.FAIL), conclusion_of(), quiet=True))
    for _ in range(steps):
        await asyncio.sleep(0)
    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)

    stored = await ids(store)
    assert len(await store.incidents()) == len(stored)
    assert sum(map(len, (await store.history("chat", "heavy")).values())) == 2 * len(stored)
    await store.save_run(run_of("r1", status=Status.FAIL), conclusion_of(), quiet=True)
    await store.save_run(run_of("r2", after(minutes=1)), NOTHING, quiet=True)
    assert await ids(store) == ["r1", "r2"]
    assert await store.queue_depth() == 1


async def test_a_failed_save_leaves_nothing_and_can_be_made_again(store):
    """The conclusion is what fails, after the run was written."""
    broken = replace(conclusion_of(), incidents=(replace(conclusion_of().incidents[0], run_id=None),))
    with pytest.raises(StoreError):
        await store.save_run(run_of("r1"), broken, quiet=True)
    assert await ids(store) == []
    assert await store.queue_depth() == 0
    await store.save_run(run_of("r1"), conclusion_of(), quiet=True)
    assert await ids(store) == ["r1"]


async def test_two_that_open_a_new_database_at_once(url):
    async def opened(name):
        async with open_store(Storage(url=Secret(url)), lock_timeout_s=60.0) as store:
            await store.save_run(run_of(name, NOON), NOTHING, quiet=True)
            return await ids(store)

    found = await asyncio.gather(*(opened(f"r{n}") for n in range(4)))
    assert max(found, key=len) == ["r0", "r1", "r2", "r3"]
