import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import open_store
from tests.fakes.postgresql import postgresql

BOTH = [pytest.param("sqlite", id="sqlite"), pytest.param("postgresql", id="postgresql", marks=pytest.mark.real)]


PATIENCE_S = 60.0  # for a lock: an fsync on a busy disk may take longer than a daemon would wait


@pytest.fixture(scope="session")
def server():
    with postgresql() as running:
        yield running


@pytest.fixture(params=BOTH)
def url(request, tmp_path):
    """Of a database that does not hold anything yet, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/canary.db"
    server = request.getfixturevalue("server")
    return server.url(server.new_database())


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    """A file with all tables and nothing in them; to copy one is quicker than to migrate."""
    path = tmp_path_factory.mktemp("store") / "empty.db"

    async def make():
        async with open_store(Storage(url=Secret(f"sqlite:///{path}"))):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
async def opened(url, empty):
    """Opens the database with other options: `await opened(keep_runs=3)`."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir()
        shutil.copy(empty, path)
    async with AsyncExitStack() as stack:

        async def open_with(**options):
            storage = Storage(url=Secret(url), **options)
            return await stack.enter_async_context(open_store(storage, lock_timeout_s=PATIENCE_S))

        yield open_with


@pytest.fixture
async def store(opened):
    return await opened()


@pytest.fixture
def sqlite(tmp_path):
    """A storage in a file of its own."""
    return Storage(url=Secret(f"sqlite:///{tmp_path}/data/canary.db"))
