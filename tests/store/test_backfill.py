"""Spans that a migration makes out of runs are those that the same runs would have made while they were saved."""

from dataclasses import replace
from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from sqlalchemy import select
from sqlalchemy.ext.asyncio import create_async_engine

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.span import RANGES
from canary.core.verdict import Status
from canary.store import migrate as migrating
from canary.store import open_store
from canary.store.database import url_of
from canary.store.record import record
from canary.store.tables import METADATA, RESULTS, RUNS, SERIES
from canary.store.transcripts import Keep
from tests.fakes.stored import BAD, NOON, NOTHING, after, result_of, run_of

RUNS_MADE = (
    run_of("a", results=(result_of(), result_of(variant="budget=64", status=Status.FAIL))),
    run_of("b", after(minutes=20), results=(result_of(BAD), result_of(hop="litellm"))),
    run_of("c", after(hours=9), probe="tiny", hops=("vllm",)),
    run_of("old", after(days=-40), hops=("vllm",)),
    run_of("much too old", after(days=-100), hops=("vllm",)),
)


def first_tables(connection):
    def upgrade(here, _context):
        return migrating._SCRIPTS._upgrade_revs("0001", here)

    with EnvironmentContext(Config(), migrating._SCRIPTS, fn=upgrade) as environment:
        environment.configure(connection=connection, target_metadata=METADATA, transactional_ddl=True)
        environment.run_migrations()


async def before(url):
    """A database of the first revision that holds these runs."""
    engine = create_async_engine(url_of(url))
    async with engine.begin() as connection:
        await connection.run_sync(first_tables)
        for run in RUNS_MADE:
            made = record(run, quiet=True, keep=Keep(most_bytes=0, passed_every=10**9))
            await connection.execute(RUNS.insert(), [made.run])
            for (hop, variant), row in made.results:
                place = {"pipeline": run.pipeline, "probe": run.probe, "hop": hop, "variant": variant}
                known = select(SERIES.c.id).where(*(SERIES.c[name] == value for name, value in place.items()))
                if await connection.scalar(known) is None:
                    await connection.execute(SERIES.insert(), [place])
                await connection.execute(RESULTS.insert(), [row | {"series_id": await connection.scalar(known)}])
    await engine.dispose()


async def told(store):
    spans = {
        (name, probe, each.hop, each.at): replace(each, fingerprint=None)
        for name, span in RANGES.items()
        for probe in ("heavy", "tiny")
        for each in await store.spans("chat", probe, span.grain, NOON - span.length)
    }
    return spans, sorted(await store.days(["chat"], after(days=-90)), key=lambda day: (day.at, day.hop))


async def test_the_same_as_if_they_had_been_saved(url, tmp_path):
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir()
    await before(url)
    async with open_store(Storage(url=Secret(url))) as store:
        migrated = await told(store)
    async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}/other.db"))) as store:
        for run in RUNS_MADE:
            await store.save_run(run, NOTHING, quiet=True)
        saved = await told(store)
    assert migrated == saved
    assert len(saved[0]) > 10
