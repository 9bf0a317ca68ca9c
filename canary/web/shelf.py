"""What was made for everybody, kept until it would be made otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from canary.alerting.board import Board, Chronicle
from canary.core.snapshot import Snapshot
from canary.web.fresh import Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A board, what it was made of, and the bodies that were made of it so far, by path."""

    snapshot: Snapshot
    chronicle: Chronicle
    url: str
    board: Board
    bodies: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Shelf:
    newest: Made | None = None
    changes: Changes = field(default_factory=Changes)
