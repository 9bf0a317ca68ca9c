"""The same of a PostgreSQL server: gone, locked, full of rules; and it works again afterwards."""

import asyncio

import asyncpg
import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import StoreError, StoreTrouble, open_store
from tests.fakes.postgresql import postgresql
from tests.fakes.stored import NOTHING, run_of

pytestmark = pytest.mark.real


def storage_of(url):
    return Storage(url=Secret(url))


async def ids(store):
    return sorted([row.id for row in await store.runs()])


async def test_a_server_that_restarts():
    with postgresql() as server:
        async with open_store(storage_of(server.url(server.new_database()))) as store:
            await store.save_run(run_of("before"), NOTHING, quiet=True)
            await asyncio.to_thread(server.stop)
            for asked in (store.save_run(run_of("r"), NOTHING, quiet=True), store.runs()):
                with pytest.raises(StoreError, match="cannot be reached") as caught:
                    await asked
                assert caught.value.kind is StoreTrouble.UNREACHABLE
                assert server.password not in str(caught.value)
            await asyncio.to_thread(server.start)
            await store.save_run(run_of("after"), NOTHING, quiet=True)
            assert await ids(store) == ["after", "before"]


async def test_connections_that_the_server_closes(server):
    name = server.new_database()
    async with open_store(storage_of(server.url(name))) as store:
        await store.save_run(run_of("before"), NOTHING, quiet=True)
        await ids(store)
        closing = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        await asyncio.to_thread(server.sql, closing)
        await store.save_run(run_of("after"), NOTHING, quiet=True)
        assert await ids(store) == ["after", "before"]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param(lambda url: url.replace("canary:", "canary:x"), StoreTrouble.REFUSED, id="wrong password"),
        pytest.param(lambda url: url.rpartition("/")[0] + "/nowhere", StoreTrouble.REFUSED, id="no such database"),
        pytest.param(
            lambda url: url.replace("127.0.0.1", "nowhere.invalid"), StoreTrouble.UNREACHABLE, id="no such host"
        ),
        pytest.param(lambda url: url + "?sslmode=require", StoreTrouble.UNREACHABLE, id="no TLS there"),
        pytest.param(
            lambda url: url + "?sslmode=verify-full&sslrootcert=/nowhere.pem",
            StoreTrouble.UNREACHABLE,
            id="no such file",
        ),
        pytest.param(lambda url: url + "?sslmode=bogus", StoreTrouble.OTHER, id="no such mode"),
        pytest.param(lambda url: url + "?colour=blue", StoreTrouble.OTHER, id="no such option"),
    ],
)
async def test_a_server_that_does_not_let_us_in(server, change, kind):
    with pytest.raises(StoreError) as caught:
        async with open_store(storage_of(change(server.url(server.new_database())))):
            pytest.fail("opened")
    assert caught.value.kind is kind
    assert server.password not in str(caught.value)


async def test_a_table_that_is_locked(server):
    url = server.url(server.new_database())
    async with open_store(storage_of(url), lock_timeout_s=0.1) as store:
        other = await asyncpg.connect(url)
        await other.execute("BEGIN; LOCK TABLE runs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreError, match="is locked by somebody else") as caught:
            await store.save_run(run_of("r"), NOTHING, quiet=True)
        assert caught.value.kind is StoreTrouble.LOCKED
        await other.execute("ROLLBACK")
        await other.close()
        await store.save_run(run_of("r"), NOTHING, quiet=True)
        assert await ids(store) == ["r"]


async def test_a_server_that_is_read_only(server):
    name = server.new_database()
    server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(StoreError, match="cannot be written to") as caught:
        async with open_store(storage_of(server.url(name))):
            pytest.fail("opened")
    assert caught.value.kind is StoreTrouble.READ_ONLY


async def test_nothing_is_made_by_reading(server):
    url = server.url(server.new_database())
    with pytest.raises(StoreError, match="has no tables yet") as caught:
        async with open_store(storage_of(url), read_only=True):
            pytest.fail("opened")
    assert caught.value.kind is StoreTrouble.MISSING
