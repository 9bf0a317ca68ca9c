"""A new database, one of each earlier revision, one of a later version; and what reading never does."""

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import StoreError, StoreTrouble, open_store
from canary.store.migrate import newest
from canary.store.tables import METADATA
from canary.wire.transcript import loads
from tests.fakes.exchanges import recorded
from tests.fakes.stored import GOOD, NOON, NOTHING, after, conclusion_of, result_of, run_of

REVISIONS = sorted(Path(__file__).parent.joinpath("revisions").glob("*.sql"))


def path_of(storage):
    return Path(storage.url.reveal().removeprefix("sqlite:///"))


async def test_a_new_database_has_the_tables_that_we_write_to(store):
    def differences(connection):
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), METADATA)

    async with store.database.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_opening_again_changes_nothing(sqlite):
    async with open_store(sqlite) as store:
        await store.save_run(run_of("r1"), conclusion_of(), quiet=True)
    async with open_store(sqlite) as store:
        assert [row.id for row in await store.runs()] == ["r1"]
        assert await store.incidents() == conclusion_of().incidents


def test_there_is_a_database_of_every_revision():
    assert [path.stem for path in REVISIONS][-1] == newest(), "make one: see tests/store/make_revision.py"


@pytest.mark.parametrize("dump", REVISIONS, ids=lambda path: path.stem)
async def test_a_database_of_an_earlier_revision(sqlite, dump):
    """What it was made of stands in make_revision.py, and is the same for all."""
    path_of(sqlite).parent.mkdir()
    with sqlite3.connect(path_of(sqlite)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    async with open_store(sqlite) as store:
        found = await store.run("r1")
        assert found.results[0].measurement == result_of(GOOD).measurement
        assert loads(found.results[0].transcript, source="stored") == recorded(GOOD)
        (place, pasts), *_ = (await store.history("chat", "heavy")).items()
        assert (place, [past.at for past in pasts]) == (("vllm", "plain"), [NOON, after(minutes=1)])
        assert [each.id for each in await store.incidents()] == ["i1"]
        assert [queued.notification.id for queued in await store.due(NOON, 9)] == ["n1"]
        await store.save_run(run_of("new", after(minutes=2)), NOTHING, quiet=True)


async def test_one_of_a_later_version_is_left_alone(sqlite):
    async with open_store(sqlite):
        pass
    with sqlite3.connect(path_of(sqlite)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    before = list(connection.iterdump())
    connection.close()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"written by a newer version of canary \(revision 9999;") as caught:
            async with open_store(sqlite, read_only=read_only):
                pytest.fail("opened")
        assert caught.value.kind is StoreTrouble.TOO_NEW
    connection = sqlite3.connect(path_of(sqlite))
    assert list(connection.iterdump()) == before
    connection.close()


async def test_reading_makes_nothing(sqlite):
    with pytest.raises(StoreError, match="is not there") as caught:
        async with open_store(sqlite, read_only=True):
            pytest.fail("opened")
    assert caught.value.kind is StoreTrouble.MISSING
    assert not path_of(sqlite).parent.exists()


async def test_reading_a_file_without_tables(sqlite):
    path_of(sqlite).parent.mkdir()
    path_of(sqlite).touch()
    with pytest.raises(StoreError, match="has no tables yet") as caught:
        async with open_store(sqlite, read_only=True):
            pytest.fail("opened")
    assert caught.value.kind is StoreTrouble.MISSING
    assert path_of(sqlite).stat().st_size == 0


async def test_reading_beside_a_daemon_that_writes(sqlite):
    async with open_store(sqlite) as daemon, open_store(sqlite, read_only=True) as reader:
        for n in range(3):
            await daemon.save_run(run_of(f"r{n}", after(seconds=n)), NOTHING, quiet=True)
            assert len(await reader.runs()) == n + 1
        with pytest.raises(StoreError):
            await reader.save_run(run_of("x"), NOTHING, quiet=True)


async def test_a_file_that_was_left_empty_becomes_a_database(tmp_path):
    (tmp_path / "c.db").touch()
    async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}/c.db"))) as store:
        assert await store.runs() == ()
