import asyncio
import json
from dataclasses import dataclass

import pytest

from canary.cli import main
from tests.fakes.stored_runs import demo_runs, filled, storage_at


@dataclass(frozen=True)
class Said:
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def canary(capsys):
    """The command line, in this process, as the console script calls it."""

    def run(*arguments: object) -> Said:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Said(code=code, out=printed.out, err=printed.err)

    return run


@pytest.fixture(scope="session")
def made_runs():
    """Real runs over the demo's servers, good and bad."""
    return asyncio.run(demo_runs())


@pytest.fixture(scope="session")
def daemon_store(made_runs, tmp_path_factory):
    """The URL of a store that holds these runs; only for looking."""
    storage = storage_at(tmp_path_factory.mktemp("stored") / "canary.db")

    async def fill():
        async with filled(storage, made_runs):
            pass

    asyncio.run(fill())
    return storage.url.reveal()
