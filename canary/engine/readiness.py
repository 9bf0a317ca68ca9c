"""Whether the daemon does its work, and what people should know of it. Pure.

A problem means that something that is expected of us does not happen: probing, remembering, telling. What was decided
on purpose (a token limit, a config that was refused) is a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from canary.core.snapshot import Readiness
from canary.core.units import format_duration, plural

MOST_SCHEDULE_LAG_S = 120.0
MOST_LOOP_LAG_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """`store_trouble` and `overdue_page_s`: None where all is well; `dead_letters`: of the last day."""

    schedule_lag_s: float
    loop_lag_s: float
    store_trouble: str | None = None
    dead_letters: int = 0
    untold_s: float = 0.0  # how long the oldest undelivered notification has been waiting
    reload_ok: bool = True
    set_aside: int = 0  # stored rows that cannot be read
    objections: Sequence[str] = ()
    stopping: bool = False


MOST_UNTOLD_S = 300.0


def readiness(vitals: Vitals) -> Readiness:
    return Readiness(problems=tuple(_problems(vitals)), notes=tuple(_notes(vitals)))


def _problems(vitals: Vitals) -> list[str]:
    found = []
    if vitals.stopping:
        found.append("we are shutting down")
    if vitals.schedule_lag_s > MOST_SCHEDULE_LAG_S:
        late = format_duration(vitals.schedule_lag_s)
        found.append(f"a run is {late} late; more than {format_duration(MOST_SCHEDULE_LAG_S)} is too much")
    if vitals.loop_lag_s > MOST_LOOP_LAG_S:
        found.append(f"our own event loop was {format_duration(vitals.loop_lag_s)} late within the last minute")
    if vitals.store_trouble is not None:
        found.append(f"history cannot be written: {vitals.store_trouble}")
    if vitals.dead_letters:
        found.append(f"{plural(vitals.dead_letters, 'notification')} of the last day could not be delivered")
    if vitals.untold_s > MOST_UNTOLD_S:
        found.append(f"a notification has been waiting for {format_duration(vitals.untold_s)}")
    return found


def _notes(vitals: Vitals) -> list[str]:
    refused = [] if vitals.reload_ok else ["the config was refused when it was last read; the one before is in force"]
    rows = plural(vitals.set_aside, "stored row")
    aside = [f"{rows} cannot be read and left out; the log names each"] if vitals.set_aside else []
    return [*refused, *aside, *vitals.objections]
