"""What people say to everybody, and the chronicle of pages that it is said about.

The store is read once in a while, however many ask, and again after each word. Where it cannot be read, what was read
last is shown: a status page that is down says less than one that is a minute old.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from canary.alerting.board import Chronicle
from canary.core.status import Note, Override
from canary.engine.archive import Archive
from canary.engine.schedule import Clocks
from canary.engine.state import Known
from canary.store import StoreError
from canary.web.actions import Answer, Done, Refusal, Refused, Word

READ_EVERY_S = 10.0
BACK = timedelta(days=90)
MOST_PAGES = 200  # of which those that lasted are shown, up to 50


@dataclass(slots=True, kw_only=True)
class Statements:
    known: Known
    archive: Archive
    clocks: Clocks
    read: Chronicle = Chronicle()  # noqa: RUF009  # it is frozen
    read_at_s: float | None = None

    async def chronicle(self) -> Chronicle:
        now_s = self.clocks.steady()
        if self.read_at_s is None or now_s - self.read_at_s >= READ_EVERY_S:
            self.read_at_s = now_s  # before it is read: who asks meanwhile gets the last one
            try:
                found = await self.archive.answered(self._found)
            except StoreError:
                return self.read
            if found != self.read:
                self.read = found
        return self.read

    async def note(self, page_id: str, text: str, author: str) -> Answer:
        async def add() -> Answer:
            if await self.archive.store.page(page_id) is None:
                return Refused(why=Refusal.NOT_FOUND, message=f"there is no page {page_id!r}")
            await self.archive.store.add_note(Note(page_id=page_id, at=self.clocks.wall(), text=text, author=author))
            return Done(message="noted")

        return await self._said(add)

    async def override(self, word: Word) -> Answer:
        async def add() -> Answer:
            if word.pipeline is not None and not any(each.name == word.pipeline for each in self.known.plan.pipelines):
                return Refused(why=Refusal.NOT_FOUND, message=f"there is no pipeline {word.pipeline!r}")
            if word.page_id is not None and await self.archive.store.page(word.page_id) is None:
                return Refused(why=Refusal.NOT_FOUND, message=f"there is no page {word.page_id!r}")
            now = self.clocks.wall()
            made = Override(
                id=secrets.token_hex(6),
                level=word.level,
                at=now,
                ends_at=now + timedelta(seconds=word.duration_s),
                author=word.author,
                page_id=word.page_id,
                pipeline=word.pipeline,
            )
            await self.archive.store.add_override(made)
            return Done(message=f"{word.level.value} until {made.ends_at:%Y-%m-%d %H:%M} UTC", ids=(made.id,))

        return await self._said(add)

    async def end(self, override_id: str) -> Answer:
        async def end() -> Answer:
            if await self.archive.store.end_override(override_id, self.clocks.wall()) is None:
                return Refused(why=Refusal.NOT_FOUND, message=f"there is no override {override_id!r}")
            return Done(message="the override is over", ids=(override_id,))

        return await self._said(end)

    async def _said(self, say: Callable[[], Awaitable[Answer]]) -> Answer:
        try:
            answer = await self.archive.answered(say)
        except StoreError as error:
            return Refused(why=Refusal.UNAVAILABLE, message=str(error))
        self.read_at_s = None
        return answer

    async def _found(self) -> Chronicle:
        since = self.clocks.wall() - BACK
        pages = await self.archive.store.recent_pages(since, most=MOST_PAGES)
        open_ones = await self.archive.store.pages(since=self.clocks.wall())
        ids = [page.id for page in (*open_ones, *pages)]
        return Chronicle(
            pages=pages, notes=await self.archive.store.notes(ids), overrides=await self.archive.store.overrides(since)
        )
