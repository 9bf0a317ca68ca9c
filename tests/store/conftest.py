from contextlib import AsyncExitStack

import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import open_store
from tests.fakes.postgresql import postgresql

BOTH = [pytest.param("sqlite", id="sqlite"), pytest.param("postgresql", id="postgresql", marks=pytest.mark.real)]


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


@pytest.fixture
async def opened(url):
    """Opens the database with other options: `await opened(keep_runs=3)`."""
    async with AsyncExitStack() as stack:

        async def open_with(**options):
            storage = Storage(url=Secret(url), **options)
            return await stack.enter_async_context(open_store(storage))

        yield open_with


@pytest.fixture
async def store(opened):
    return await opened()


@pytest.fixture
def sqlite(tmp_path):
    """A storage in a file of its own."""
    return Storage(url=Secret(f"sqlite:///{tmp_path}/data/canary.db"))
