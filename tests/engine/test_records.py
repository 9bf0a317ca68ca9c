import pytest

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.span import RANGES
from canary.engine.records import records_of
from canary.store import open_store
from canary.web.records import AwayError
from tests.fakes.stored import NOON, conclusion_of, run_of

ASKED = {
    "days": lambda records: records.days(["chat"], NOON),
    "spans": lambda records: records.spans("chat", "heavy", RANGES["24h"], NOON),
    "pages": lambda records: records.pages("chat", NOON),
    "runs": lambda records: records.runs("chat", 5),
    "deploys": lambda records: records.deploys(NOON),
    "run": lambda records: records.run("r1"),
    "case": lambda records: records.case("p1"),
}


@pytest.fixture
def storage(tmp_path):
    return Storage(url=Secret(f"sqlite:///{tmp_path}/c.db"))


async def test_what_the_store_has(storage):
    async with open_store(storage) as store:
        await store.save_run(run_of("r1"), conclusion_of("r1"), quiet=True)
        records = records_of(store)
        assert (await ASKED["run"](records)).row.id == "r1"
        assert (await ASKED["case"](records)).page.id == "p1"
        assert [run.id for run in await ASKED["runs"](records)] == ["r1"]


async def test_an_id_that_could_be_two_runs_is_none(storage):
    async with open_store(storage) as store:
        for name in ("r1", "r2"):
            await store.save_run(run_of(name), conclusion_of(name), quiet=True)
        assert await records_of(store).run("r") is None


@pytest.mark.parametrize("name", ASKED)
async def test_a_store_that_is_away(storage, tmp_path, name):
    async with open_store(storage) as store:
        await store.database.writer.dispose()
        (tmp_path / "c.db").write_bytes(b"no database " * 1000)
        with pytest.raises(AwayError):
            await ASKED[name](records_of(store))
