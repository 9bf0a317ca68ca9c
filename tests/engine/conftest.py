import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import open_store
from tests.fakes.away import Away
from tests.fakes.clocks import Time


@pytest.fixture
def storage(tmp_path):
    return Storage(url=Secret(f"sqlite:///{tmp_path}/canary.db"))


@pytest.fixture
async def store(storage):
    """A real one in a file, which can be made to be away."""
    async with open_store(storage) as opened:
        yield Away(opened)


@pytest.fixture
def time():
    return Time()
