"""The one door to the database. Each method is one transaction; what is slow to make or read is done in a thread.

Making JSON, compressing and reading them back take milliseconds, in which our event loop would stamp nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.history import Answer, Past
from canary.core.incident import Incident, Page, Transition
from canary.core.kept import Case, Delivered, Held, RunRow, StoredRun
from canary.core.notification import Sent
from canary.core.route import Silence
from canary.core.run import Run
from canary.core.service import Storage
from canary.core.snapshot import Latest
from canary.core.span import Day, Span
from canary.core.status import Note, Override
from canary.core.verdict import Status
from canary.store import cases, conclusions, history, marks, notes, outbox, retention, runs, spans
from canary.store.aside import Aside
from canary.store.codec import decode
from canary.store.database import Access, Database, database, is_there, url_of
from canary.store.errors import StoreError, StoreTrouble, place
from canary.store.migrate import migrate, newest, revision_of
from canary.store.record import Place, record
from canary.store.rows import Pruned, Queued
from canary.store.tables import INCIDENTS, PAGES, RUNS
from canary.store.transcripts import Keep

_FLAPPING = timedelta(hours=1)  # how far back alerting looks at a resolved page


@asynccontextmanager
async def open_store(
    storage: Storage, *, read_only: bool = False, alone: bool = False, lock_timeout_s: float = 5.0
) -> AsyncIterator[Store]:
    """Makes folder and tables, or brings old tables up to date, and so proves that it can write. Raises StoreError.

    `read_only`: makes and changes nothing, works beside a running daemon, and wants the tables as they are now.
    `alone`: as that daemon, of which a database has one.
    """
    access = Access(lock_timeout_s=lock_timeout_s, read_only=read_only, alone=alone)
    async with store_at(storage, access) as store:
        await (_look(store.database) if read_only else store.mend())
        yield store


@asynccontextmanager
async def store_at(storage: Storage, access: Access = Access(alone=True)) -> AsyncIterator[Store]:  # noqa: B008  # frozen
    """A store that connects to nothing and makes nothing before `mend`: it may be away. Raises StoreError."""
    db = database(url_of(storage.url.reveal()), access)
    try:
        yield Store(database=db, storage=storage)
    finally:
        await db.close()


async def _prepare(db: Database) -> None:
    await db.enter()
    async with db.writing() as connection:
        await connection.run_sync(migrate, db.url)


async def _look(db: Database) -> None:
    if db.is_sqlite and not is_there(db.url):
        raise StoreError(StoreTrouble.MISSING, f"{place(db.url)} is not there; `canary run` makes it")
    async with db.reading() as connection:
        found = await connection.run_sync(revision_of, db.url)
    if found is None:
        raise StoreError(StoreTrouble.MISSING, f"{place(db.url)} has no tables yet; `canary run` makes them")
    if found != newest():
        msg = f"{place(db.url)} was written by an earlier version of canary; `canary run` brings it up to date"
        raise StoreError(StoreTrouble.TOO_OLD, msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Every method raises StoreError where the database fails; nothing is half done then.

    What gives several rows leaves out those that cannot be read, and says which in `aside`.
    """

    database: Database
    storage: Storage
    aside: Aside = field(default_factory=Aside)

    async def mend(self) -> None:
        """As at the start, for a database that was away and may have come back as a new one."""
        await _prepare(self.database)

    # What a run or time changed

    async def save_run(self, run: Run, conclusion: Conclusion, *, quiet: bool) -> None:
        """All of it or nothing; a run that is stored already changes nothing. `quiet`: see analysis.remember."""
        keep = Keep(most_bytes=self.storage.transcript_bytes, passed_every=self.storage.passed_transcript_every)
        made = await asyncio.to_thread(record, run, quiet=quiet, keep=keep)
        rows = await asyncio.to_thread(conclusions.rows_of, conclusion)
        async with self.database.writing() as connection:
            if await runs.save(connection, made):
                await conclusions.save(connection, rows)

    async def save_conclusion(self, conclusion: Conclusion) -> None:
        rows = await asyncio.to_thread(conclusions.rows_of, conclusion)
        async with self.database.writing() as connection:
            await conclusions.save(connection, rows)

    # Incidents and pages

    async def incidents(self, *, since: datetime | None = None) -> tuple[Incident, ...]:
        """Those that are not OK; with `since` also those that became so since then."""
        async with self.database.reading() as connection:
            found = await conclusions.incidents(connection, since)
        return await asyncio.to_thread(conclusions.incidents_of, found, self.aside)

    async def pages(self, *, since: datetime | None = None) -> tuple[Page, ...]:
        """Those that are not resolved, and those resolved since then; None: an hour ago."""
        back_to = datetime.now(UTC) - _FLAPPING if since is None else since  # noqa: TID251  # a layer with I/O
        async with self.database.reading() as connection:
            found = await conclusions.pages(connection, back_to)
        return await asyncio.to_thread(conclusions.pages_of, found, self.aside)

    async def incident(self, incident_id: str) -> Incident | None:
        async with self.database.reading() as connection:
            found = await conclusions.body_of(connection, INCIDENTS, incident_id)
        return decode(Incident, found) if found else None

    async def page(self, page_id: str) -> Page | None:
        async with self.database.reading() as connection:
            found = await conclusions.body_of(connection, PAGES, page_id)
        return decode(Page, found) if found else None

    async def transitions(
        self,
        since: datetime | None = None,
        *,
        pipeline: str | None = None,
        incident_id: str | None = None,
        most: int = 1000,
    ) -> tuple[Transition, ...]:
        """The newest `most` of them, newest last."""
        which = conclusions.Changes(since=since, pipeline=pipeline, incident_id=incident_id)
        async with self.database.reading() as connection:
            found = await conclusions.transitions(connection, which, most)
        return await asyncio.to_thread(conclusions.transitions_of, found, self.aside)

    async def withheld(self, page_id: str) -> tuple[Held, ...]:
        """Who was not told of a page, and why; the latest last."""
        async with self.database.reading() as connection:
            return await conclusions.held(connection, page_id, self.aside)

    async def deliveries(self, page_id: str) -> tuple[Delivered, ...]:
        """All notifications of a page, and what became of them, in order."""
        async with self.database.reading() as connection:
            return await outbox.of_page(connection, page_id, self.aside)

    async def case(self, page_id: str) -> Case | None:
        """The page and all that belongs to it; the newest few hundred of each."""
        async with self.database.reading() as connection:
            return await cases.case(connection, page_id, self.aside)

    async def recent_pages(self, since: datetime, *, pipeline: str | None = None, most: int = 50) -> tuple[Page, ...]:
        """Those that were open at some time since then, newest first."""
        which = cases.Which(since=since, pipeline=pipeline)
        async with self.database.reading() as connection:
            found = await cases.recent(connection, which, most)
        return await asyncio.to_thread(cases.pages_of, found, which, self.aside)

    # History

    async def days(self, pipelines: Collection[str], since: datetime) -> tuple[Day, ...]:
        """All hops, and the runs as a whole; a day without a run is left out."""
        async with self.database.reading() as connection:
            found = await spans.days(connection, pipelines, since)
        return await asyncio.to_thread(spans.days_of, found)

    async def spans(self, pipeline: str, probe: str, grain: timedelta, since: datetime) -> tuple[Span, ...]:
        """Oldest first; `grain`: one of `core.span.RANGES`."""
        async with self.database.reading() as connection:
            found = await spans.spans(connection, pipeline, probe, grain, since)
        return await asyncio.to_thread(spans.spans_of, found, self.aside)

    async def history(self, pipeline: str, probe: str, *, most: int = 200) -> Mapping[Place, tuple[Past, ...]]:
        """By (hop, variant), newest last: the newest `most`, and older clean ones until there are `most` of these."""
        async with self.database.reading() as connection:
            series = await history.series_of(connection, pipeline, probe)
            found = [((row.hop, row.variant), await history.newest(connection, row.id, most)) for row in series]
        return await asyncio.to_thread(history.pasts_of, found, self.aside)

    async def latest(self) -> tuple[Latest, ...]:
        """The answers of each probe's newest run: as the daemon shows it, a run that was cut short is none."""
        async with self.database.reading() as connection:
            results, bodies = await history.latest(connection)
        return await asyncio.to_thread(history.latest_of, results, bodies, self.aside)

    async def answers(
        self, since: datetime, until: datetime, *, pipeline: str | None = None, probe: str | None = None
    ) -> AsyncIterator[Answer]:
        """Series by series, oldest first within each; a few hundred in memory at a time."""
        span = history.Span(since=since, until=until)
        async with self.database.reading() as connection:
            all_series = await history.series_of(connection, pipeline, probe)
        for series in all_series:
            last = None
            while True:
                async with self.database.reading() as connection:
                    rows = await history.batch(connection, series.id, span, last)
                if not rows:
                    break
                last = rows[-1]
                for answer in await asyncio.to_thread(history.answers_of, series, rows, self.aside):
                    yield answer

    async def runs(
        self,
        *,
        pipeline: str | None = None,
        probe: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        status: Status | None = None,
        most: int = 50,
    ) -> tuple[RunRow, ...]:
        """Newest first."""
        which = runs.Which(pipeline=pipeline, probe=probe, since=since, until=until, status=status)
        async with self.database.reading() as connection:
            found = await runs.lines(connection, which, most)
        return await asyncio.to_thread(self.aside.readable, RUNS, found, runs.line_of)

    async def run(self, run_id: str) -> StoredRun | None:
        """By its id or the beginning of it. Raises AmbiguousIdError where several ids begin so."""
        async with self.database.reading() as connection:
            found = await runs.whole(connection, run_id)
        return await asyncio.to_thread(found.run) if found else None

    async def tokens_spent(self, pipeline: str, since: datetime) -> int:
        """In and out, by all requests of runs that began since then; estimated where nobody reported them."""
        async with self.database.reading() as connection:
            return await runs.tokens_spent(connection, pipeline, since)

    # The outbox

    async def due(self, now: datetime, most: int = 100) -> tuple[Queued, ...]:
        """In the order of decision; of each page and receiver only the first that is not done."""
        async with self.database.reading() as connection:
            found = await outbox.due(connection, now, most)
        return await asyncio.to_thread(outbox.queued_of, found, self.aside)

    async def next_due(self) -> datetime | None:
        """When something is due next, now or later; None: nothing waits."""
        async with self.database.reading() as connection:
            return await outbox.next_due(connection)

    async def queue_depth(self) -> int:
        async with self.database.reading() as connection:
            return await outbox.depth(connection)

    async def sent(self, notification_id: str, at: datetime, sent: Sent) -> None:
        mark = outbox.marked(notification_id).values(state="sent", done_at=at, handle=sent.handle)
        async with self.database.writing() as connection:
            await connection.execute(mark)

    async def postponed(self, notification_id: str, until: datetime, why: str) -> None:
        async with self.database.writing() as connection:
            await connection.execute(outbox.marked(notification_id).values(due_at=until, why=why))

    async def dead(self, notification_id: str, at: datetime, why: str) -> None:
        """Given up: later ones of its page go on."""
        async with self.database.writing() as connection:
            await connection.execute(outbox.marked(notification_id).values(state="dead", done_at=at, why=why))

    async def dead_letters(self, since: datetime | None = None) -> tuple[Delivered, ...]:
        async with self.database.reading() as connection:
            return await outbox.dead(connection, since, self.aside)

    # What people put beside

    async def silences(self, now: datetime) -> tuple[Silence, ...]:
        """Those that are not over; some may only begin later."""
        async with self.database.reading() as connection:
            return await marks.silences(connection, now, self.aside)

    async def add_silence(self, silence: Silence) -> None:
        async with self.database.writing() as connection:
            await marks.add_silence(connection, silence)

    async def end_silence(self, silence_id: str, at: datetime) -> Silence | None:
        """The silence as it is now; None: there is none with that id."""
        async with self.database.writing() as connection:
            return await marks.end_silence(connection, silence_id, at)

    async def add_deploy(self, deploy: Deploy) -> None:
        async with self.database.writing() as connection:
            await marks.add_deploy(connection, deploy)

    async def deploys(self, since: datetime) -> tuple[Deploy, ...]:
        async with self.database.reading() as connection:
            return await marks.deploys(connection, since, self.aside)

    async def notes(self, page_ids: Collection[str]) -> tuple[Note, ...]:
        """Of these pages, oldest first; the newest few hundred."""
        async with self.database.reading() as connection:
            return await notes.notes(connection, page_ids, self.aside)

    async def add_note(self, note: Note) -> None:
        async with self.database.writing() as connection:
            await notes.add_note(connection, note)

    async def overrides(self, since: datetime) -> tuple[Override, ...]:
        """Those that were not over by then."""
        async with self.database.reading() as connection:
            return await notes.overrides(connection, since, self.aside)

    async def add_override(self, override: Override) -> None:
        async with self.database.writing() as connection:
            await notes.add_override(connection, override)

    async def end_override(self, override_id: str, at: datetime) -> Override | None:
        """The override as it is now; None: there is none with that id."""
        async with self.database.writing() as connection:
            return await notes.end_override(connection, override_id, at)

    # Growing old

    async def prune(self, now: datetime) -> Pruned:
        """Once an hour is enough; see retention for what goes."""
        return await retention.prune(self.database, self.storage, now)
