"""One daemon a database, and what one does whose database is deleted under it."""

import asyncio
import os

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import StoreError, StoreTrouble, open_store
from tests.fakes.stored import NOTHING, after, conclusion_of, run_of

QUICKLY_S = 0.2


@pytest.fixture
def storage(url):
    return Storage(url=Secret(url))


async def ids(store):
    return sorted([row.id for row in await store.runs()])


async def test_a_second_one_is_refused_until_the_first_is_gone(storage):
    async with open_store(storage, alone=True) as first:
        await first.save_run(run_of("r1"), NOTHING, quiet=True)
        with pytest.raises(StoreError, match="is in use by another canary") as caught:
            async with open_store(storage, alone=True, lock_timeout_s=QUICKLY_S):
                pytest.fail("opened")
        assert caught.value.kind is StoreTrouble.TAKEN
        await first.save_run(run_of("r2", after(minutes=1)), NOTHING, quiet=True)
    async with open_store(storage, alone=True) as heir:
        assert await ids(heir) == ["r1", "r2"]


async def test_commands_beside_it_need_no_claim(storage):
    async with open_store(storage, alone=True) as daemon:
        async with open_store(storage) as command:
            await command.save_run(run_of("r1"), NOTHING, quiet=True)
        async with open_store(storage, read_only=True) as command:
            assert await ids(command) == ["r1"]
        await daemon.save_run(run_of("r2", after(minutes=1)), NOTHING, quiet=True)


async def test_whoever_holds_it_is_named(sqlite):
    async with open_store(sqlite, alone=True):
        with pytest.raises(StoreError, match=rf"another canary \(process {os.getpid()}\); each needs one of its own"):
            async with open_store(sqlite, alone=True):
                pytest.fail("opened")


async def test_a_lock_file_that_was_left_behind_keeps_nobody_out(sqlite, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/canary.db.lock").write_text("4194304000\n")
    async with open_store(sqlite, alone=True):
        assert (tmp_path / "data/canary.db.lock").read_text() == f"{os.getpid()}\n"


async def test_what_goes_into_a_file_without_a_name_is_not_stored(sqlite, tmp_path):
    async with open_store(sqlite, alone=True) as store:
        await store.save_run(run_of("before"), conclusion_of("before"), quiet=True)
        for file in (tmp_path / "data").iterdir():
            file.unlink()
        (tmp_path / "data").rmdir()
        with pytest.raises(StoreError, match="was deleted or replaced while it was in use") as caught:
            await store.save_run(run_of("r1"), NOTHING, quiet=True)
        assert caught.value.kind is StoreTrouble.MISSING
        with pytest.raises(StoreError, match="cannot be opened"):
            await store.save_run(run_of("r1"), NOTHING, quiet=True)
        await store.mend()
        await store.save_run(run_of("r1"), NOTHING, quiet=True)
        assert await ids(store) == ["r1"]
        with pytest.raises(StoreError, match="is in use by another canary"):
            async with open_store(sqlite, alone=True):
                pytest.fail("opened: the claim went with the file")


async def test_a_place_that_another_one_took_meanwhile_is_not_ours(sqlite, tmp_path):
    """Its folder was moved away, and a second daemon began in a new one."""
    async with open_store(sqlite, alone=True) as first:
        (tmp_path / "data").rename(tmp_path / "moved")
        async with open_store(sqlite, alone=True) as second:
            await second.save_run(run_of("theirs"), NOTHING, quiet=True)
            with pytest.raises(StoreError, match="was deleted or replaced"):
                await first.save_run(run_of("ours"), NOTHING, quiet=True)
            with pytest.raises(StoreError, match="is in use by another canary"):
                await first.mend()
            assert await ids(second) == ["theirs"]


@pytest.mark.real
async def test_a_session_that_the_server_closed_is_claimed_anew(server):
    name = server.new_database()
    storage = Storage(url=Secret(server.url(name)))
    async with open_store(storage, alone=True) as store:
        closing = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        await asyncio.to_thread(server.sql, closing)
        await store.save_run(run_of("r1"), NOTHING, quiet=True)
        with pytest.raises(StoreError, match="is in use by another canary"):
            async with open_store(storage, alone=True, lock_timeout_s=QUICKLY_S):
                pytest.fail("opened")
