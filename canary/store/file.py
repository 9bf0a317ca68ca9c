"""Which file a path stands for, as opposed to what the path is called."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Identity: TypeAlias = tuple[int, int]  # device and inode


def identity(file: Path | int) -> Identity | None:
    """Of a path or an open file; None where there is nothing (any more), or nothing can be said."""
    try:
        found = os.stat(file)  # noqa: PTH116  # of an open file, too
    except OSError:
        return None
    return found.st_dev, found.st_ino


@dataclass(slots=True)
class OpenFile:
    """The file that was found when it was first looked for."""

    path: Path
    seen: Identity | None = None

    def is_another(self) -> bool:
        """Whether the path stands for nothing, or for another file than before."""
        now = identity(self.path)
        self.seen = self.seen or now
        return now is None or now != self.seen

    def forget(self) -> None:
        self.seen = None
