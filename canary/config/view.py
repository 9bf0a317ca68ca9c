"""A document's values, seen through their places, for rules that hold between several of them.

Rules run over every document, also over one that the schema refuses: all problems come at once. So nothing here relies
on a shape; what has not the shape that a rule looks for is the schema's business and passes unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from canary.config.errors import Path, Problem
from canary.config.fields import opened
from canary.config.source import Document
from canary.core.observation import Json
from canary.core.secret import Secret


@dataclass(frozen=True, slots=True)
class View:
    """The value at `path`. `data` has a `Secret` where the document has a reference."""

    document: Document
    data: Json
    path: Path = ()

    def names(self) -> tuple[str, ...]:
        """Of a mapping, those that are set to something."""
        return tuple(k for k, v in self.data.items() if v is not None) if isinstance(self.data, dict) else ()

    def has(self, key: str) -> bool:
        return key in self.names()

    def at(self, key: str) -> View:
        value = self.data.get(key) if isinstance(self.data, dict) else None
        return View(self.document, value, (*self.path, key))

    def items(self) -> Iterator[View]:
        """The mappings of a list."""
        for index, item in enumerate(self.data if isinstance(self.data, list) else ()):
            if isinstance(item, dict):
                yield View(self.document, item, (*self.path, index))

    def text(self, key: str) -> str | None:
        """References opened: never put it into a problem; `shown` of the document's own value is for that."""
        value = opened(self.at(key).data)
        return value if isinstance(value, str) and value.strip() else None

    @property
    def refers(self) -> bool:
        """Does a reference stand here?"""
        return isinstance(self.data, Secret)

    def written(self) -> Json:
        """As it stands in the file."""
        return self.document.value_at(self.path)

    def problem(self, found: str, expected: str, suggestion: str | None = None) -> Problem:
        line = self.document.key_lines.get(self.path) or self.document.line_of(self.path)
        return Problem(
            file=self.document.file,
            line=line,
            path=self.path,
            found=found,
            expected=expected,
            suggestion=suggestion,
        )


def repeated(places: Iterable[tuple[View, object]], found: str, expected: str) -> Iterator[Problem]:
    """A problem at each place whose value stood before. Values of None do not count."""
    seen = set()
    for place, value in places:
        if value in seen:
            yield place.problem(found, expected)
        if value is not None:
            seen.add(value)
