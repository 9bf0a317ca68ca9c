"""The table of `incidents.NEXT`, drawn: as text for a terminal, and as Mermaid for documents."""

from __future__ import annotations

from canary.alerting.incidents import NEXT
from canary.core.incident import Event, State


def as_text() -> str:
    """One row a state, one column an event; a dot where the event cannot happen."""
    columns = [["", *State]]
    columns += [[event, *(NEXT.get((state, event), ".") for state in State)] for event in Event]
    widths = [max(len(cell) for cell in column) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_mermaid() -> str:
    arrows = [f"    {before} --> {after}: {label}" for before, after, label in _arrows()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {State.OK}", *arrows])


def _arrows() -> list[tuple[State, State, str]]:
    """One arrow between two states, with all events that take it."""
    labels: dict[tuple[State, State], list[str]] = {}
    for (before, event), after in NEXT.items():
        labels.setdefault((before, after), []).append(event)
    return [(before, after, ", ".join(events)) for (before, after), events in labels.items()]
