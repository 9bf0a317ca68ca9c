"""What the page of an incident shows: one line of time from its incidents, its messages and what people did. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from canary.core.incident import Incident, State
from canary.core.kept import Case, Delivered
from canary.web.pipeline_view import messages_of, speaker_of, title_of
from canary.web.sayings import felt
from canary.web.words import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`kind`: a class in the style sheet. `run_id`: what showed it."""

    at: datetime
    kind: str
    text: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentView:
    """`state`: open, recovering or over. `messages`: what the incidents' findings say, each once.

    `feels`: what people notice, "" where that is not known. `first_seen_at`: when the first request that showed the
    fault was sent, as messages say it; None where nobody wrote that down.
    """

    case: Case
    title: str
    feels: str
    state: str
    messages: tuple[str, ...]
    seen_by: tuple[str, ...]
    runs: tuple[str, ...]
    timeline: tuple[Entry, ...]
    first_seen_at: datetime | None = None


def incident_view(case: Case, t: Words) -> IncidentView:
    page = case.page
    speakers = [each for each in case.incidents if each.id in page.members] or list(case.incidents)
    speakers = speakers or ([page.lead] if page.lead else [])
    lead = speaker_of(page, speakers)
    return IncidentView(
        case=case,
        title=title_of(page, t, speakers),
        feels=felt(t, lead.finding) if lead else "",
        state=_state(case),
        messages=messages_of(speakers),
        seen_by=tuple(dict.fromkeys(f"{each.key.pipeline} / {each.key.probe}" for each in speakers)),
        runs=tuple(dict.fromkeys(each.run_id for each in speakers)),
        timeline=tuple(sorted(_timeline(case, t), key=lambda entry: entry.at)),
        first_seen_at=min((each.seen_at for each in speakers if each.seen_at is not None), default=None),
    )


def _state(case: Case) -> str:
    page = case.page
    if page.resolved_at is not None:
        return "over"
    members: list[Incident] = [each for each in case.incidents if each.id in page.members]
    return "recovering" if all(each.state is State.RECOVERING for each in members) else "open"


def _timeline(case: Case, t: Words) -> Iterator[Entry]:
    page = case.page
    for each in case.transitions:
        text = t(
            "transition",
            pipeline=each.key.pipeline,
            probe=each.key.probe,
            before=t(f"turn_{each.before}"),
            after=t(f"turn_{each.after}"),
        )
        yield Entry(at=each.at, kind=each.after.value, text=text, run_id=each.run_id)
    for told in case.deliveries:
        if (at := told.sent_at or told.dead_at) is not None:
            yield Entry(at=at, kind="dead" if told.dead_at else "sent", text=_told(told, t))
    if page.acked_at is not None and page.acked_by is not None:
        yield Entry(at=page.acked_at, kind="acked", text=t("acknowledged_by", who=page.acked_by))
    for note in case.notes:
        yield Entry(at=note.at, kind="note", text=f"{t('note')} ({note.author}): {note.text}")


def _told(told: Delivered, t: Words) -> str:
    reason = t(f"told_{told.notification.reason}")
    return f"{told.notification.receiver}: {reason}{f' ({told.why})' if told.dead_at else ''}"
