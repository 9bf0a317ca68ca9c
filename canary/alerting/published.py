"""Pages as people outside may read of them: an incident in plain words, without hosts, prompts, answers or errors.

- A page is shown once it has lasted for a while: what went by in seconds was no outage, and a page that cries wolf is
  not read. Only the time in which something failed counts. What a person wrote or said about is shown at once.
- A page that comes and goes is one entry, from its first beginning to its last end: alerting keeps it one page.
- While the last checks pass and nobody knows yet whether it stays so, it is `monitoring`. It is `identified` once
  somebody has acknowledged it.
- What a person says outranks what was measured, for as long as it was said to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from canary.alerting.ids import id_of
from canary.alerting.incidents import BLIND
from canary.alerting.standing import IMPACTS, page_level
from canary.core.incident import Incident, Page, State
from canary.core.status import Level, Note, Override

LONGEST = 1000  # characters of one text


class Phase(StrEnum):
    """Of an incident, in the words of Statuspage."""

    INVESTIGATING = "investigating"
    IDENTIFIED = "identified"
    MONITORING = "monitoring"
    RESOLVED = "resolved"


class Turn(StrEnum):
    """What an update tells."""

    BEGAN = "began"
    BACK = "back"
    TAKEN = "taken"
    CALM = "calm"
    OVER = "over"
    NOTE = "note"  # in a person's own words


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One language. `checks`: what people may read of a finding, by its check; `otherwise`: of any other.

    `turns`: what the updates say that neither open nor are a person's; `seen_at` has a place for `{hops}`.
    """

    checks: Mapping[str, str]
    otherwise: str
    seen_at: str
    turns: Mapping[Turn, str]


WORDS: Mapping[str, str] = MappingProxyType(
    {
        "reachable": "Requests are not answered",
        "complete": "Answers break off",
        "protocol": "Answers come in a broken form",
        "visible_content": "Answers are empty",
        "idle_timeout": "Answers pause for so long that connections time out",
        "first_visible": "Answers begin late",
        "budget": "Limits on thinking time are not kept",
        "streaming": "Answers do not arrive bit by bit",
        "reasoning_leak": "Answers contain text that is not part of them",
        "answer": "Answers are wrong",
        "usage": "Usage is not reported correctly",
        "served_model": "Another model answers than the one asked for",
        "saturation": "There are more requests than can be served at once",
        "baseline": "Answers are slower or different than usual",
        BLIND: "The monitoring cannot tell how well it works",
    }
)
ENGLISH = Wording(
    checks=WORDS,
    otherwise="It does not work as expected",
    seen_at="Seen at: {hops}.",
    turns=MappingProxyType(
        {
            Turn.BACK: "It has come back.",
            Turn.TAKEN: "Somebody is working on it.",
            Turn.CALM: "The latest checks pass. It is watched until that is certain.",
            Turn.OVER: "It is over.",
        }
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """`detail`: a person's words, or the finding's own sentence where the config shows it."""

    id: str
    phase: Phase
    at: datetime
    turn: Turn
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicIncident:
    """`updates`: oldest first, at least one. `places`: (pipeline, hop) that it touches, where the plan has them.

    `check`: what speaks for it, None where that is not known; `hops`: where it was seen.
    """

    id: str
    check: str | None
    pipelines: tuple[str, ...]
    hops: tuple[str, ...]
    phase: Phase
    level: Level
    began_at: datetime
    resolved_at: datetime | None
    updates: tuple[Update, ...]
    places: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        return self.title_in(ENGLISH)

    def title_in(self, wording: Wording) -> str:
        what = self._what(wording)
        return spoken(f"{what}: {', '.join(self.pipelines)}" if self.pipelines else what)

    def text(self, update: Update, wording: Wording = ENGLISH) -> str:
        """Of one of its own updates."""
        if update.turn is Turn.NOTE:
            return spoken(update.detail)
        if update.turn is not Turn.BEGAN:
            return wording.turns[update.turn]
        where = wording.seen_at.format(hops=", ".join(self.hops)) if self.hops else ""
        return spoken(" ".join(part for part in (f"{self._what(wording)}.", where, update.detail) if part))

    def _what(self, wording: Wording) -> str:
        return wording.checks.get(self.check or "", wording.otherwise)

    @property
    def impact(self) -> str:
        return IMPACTS[self.level]

    @property
    def updated_at(self) -> datetime:
        return self.updates[-1].at


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What people said of one page. `overrides`: those that hold now."""

    notes: Sequence[Note] = ()
    overrides: Sequence[Override] = ()


def shows(page: Page, said: Said, min_age_s: float, now: datetime) -> bool:
    return bool(said.notes or said.overrides) or failing_for(page, now) >= timedelta(seconds=min_age_s)


def failing_for(page: Page, now: datetime) -> timedelta:
    """How long something failed, as far as is known: of what opens and closes only the last hour's changes are kept."""
    began = page.began_at or page.opened_at
    if not page.changes:
        return (page.resolved_at or now) - began
    failing = bool(page.members) and page.resolved_at is None
    edges = [*page.changes, now] if failing else [*page.changes]
    if len(edges) % 2:  # the first change that is still known is a closing
        edges.insert(0, min(began, edges[0]))
    return sum((edges[i + 1] - edges[i] for i in range(0, len(edges), 2)), timedelta())


def published(page: Page, incidents: Iterable[Incident], said: Said, *, content: bool) -> PublicIncident:
    """`incidents`: all that are not over. `content`: the finding's own sentence, too."""
    members = [each for each in incidents if each.id in page.members]
    updates = _updates(page, _calm_since(page, members), said.notes, content=content)
    return PublicIncident(
        id=page.id,
        check=page.lead.finding.check if page.lead else None,
        pipelines=page.pipelines,
        hops=tuple(dict.fromkeys([*page.affected, *([page.lead.key.origin] if page.lead else [])])),
        phase=updates[-1].phase,
        level=page_level(page, said.overrides),
        began_at=page.began_at or page.opened_at,
        resolved_at=page.resolved_at,
        updates=updates,
        places=_places(page, members),
    )


def spoken(text: str) -> str:
    """One line of limited length; what has no shape, directs text or controls a terminal becomes a mark."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: LONGEST + 1])
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _calm_since(page: Page, members: Sequence[Incident]) -> datetime | None:
    """Since when all that failed passes, while it is not over yet."""
    if page.resolved_at is not None:
        return None
    if not page.members:
        return page.changes[-1] if page.changes else None
    if members and all(member.state is State.RECOVERING for member in members):
        return max(member.since for member in members)
    return None


def _updates(page: Page, calm: datetime | None, notes: Sequence[Note], *, content: bool) -> tuple[Update, ...]:
    """In the order of time. A note has the phase in which it was written."""
    began = page.began_at or page.opened_at
    sentence = page.lead.finding.message if content and page.lead else ""
    found: list[tuple[datetime, Phase | None, Turn, str]] = [(began, Phase.INVESTIGATING, Turn.BEGAN, sentence)]
    if page.opened_at > began:
        found.append((page.opened_at, Phase.INVESTIGATING, Turn.BACK, ""))
    if page.acked_at is not None:
        found.append((page.acked_at, Phase.IDENTIFIED, Turn.TAKEN, ""))
    if calm is not None:
        found.append((calm, Phase.MONITORING, Turn.CALM, ""))
    if page.resolved_at is not None:
        found.append((page.resolved_at, Phase.RESOLVED, Turn.OVER, ""))
    found += [(max(note.at, began), None, Turn.NOTE, note.text) for note in notes]
    updates, phase = [], Phase.INVESTIGATING
    for at, entered, turn, detail in sorted(found, key=lambda each: (each[0], each[1] is None)):
        phase = entered or phase
        update_id = id_of("update", page.id, str(at), entered or f"note {detail}")
        updates.append(Update(id=update_id, phase=phase, at=at, turn=turn, detail=detail))
    return tuple(updates)


def _places(page: Page, members: Sequence[Incident]) -> tuple[tuple[str, str], ...]:
    """Of what fires; where that is over, of all that had seen it."""
    found = {
        (member.key.pipeline, hop): None for member in members for hop in (member.key.origin, *member.finding.affected)
    }
    if page.lead:
        hops = (page.lead.key.origin, *page.lead.finding.affected, *page.affected)
        found |= {(pipeline, hop): None for pipeline in page.pipelines for hop in hops}
    return tuple(found)
