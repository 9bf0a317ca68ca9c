"""What is wrong with a config: all of it at once, each problem with its place and what was expected there.

A person fixes a file by its lines, so a problem names file, line and path, quotes what it found, and says what would
have been right. What was found may be a secret that somebody typed in plain text: `shown` is the one place that decides
how much of a value is repeated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from canary.core.observation import Json

Path = tuple[str | int, ...]  # where a value stands in a document: ("pipelines", 0, "name")

_SECRET_PARTS = frozenset({"auth", "headers", "receivers", "token", "password"})
_SECRET_PLACES = frozenset({("heartbeat",), ("heartbeat", "url"), ("listen",)})
_URL = re.compile(r"[\w+.-]*://")
_REFERENCE_ALONE = re.compile(r"\$\{[^}]*\}")
_LONGEST_QUOTE = 60
_PLAIN_KEY = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to fix. `line` and `column` count from 1; None where no line is to blame, like a missing file."""

    file: str
    found: str
    expected: str
    line: int | None = None
    column: int | None = None
    path: Path = field(default=())
    suggestion: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        path = f" {dotted(self.path)}:" if self.path else ""
        hint = f" ({self.suggestion})" if self.suggestion else ""
        return f"{place}:{path} found {self.found}, expected {self.expected}{hint}"


class ConfigError(Exception):
    """Every problem of a config, in the order of its files and lines. Its text is one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(path: Path) -> str:
    """`pipelines[0].hops[2].url`; a key that is no plain word stands in quotes: `body["a.b"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{quoted(part)}]"
    return text


def quoted(text: str) -> str:
    """In double quotes, on one line, cut where it is long. Whatever would move a terminal's cursor is escaped."""
    short = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
    return '"' + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short) + '"'


def one_of(choices: Sequence[str], last: str = "or") -> str:
    """`a, b or c`."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} {last} {choices[-1]}"


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.strip().lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {quoted(by_lower[near[0]])}?" if near else None


def shown(path: Path, value: Json) -> str:
    """What was found, in words. Text where secrets stand is never repeated; of a URL, no user info or query."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number" if _secret(path) else str(value)
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case _:
            return _shown_text(path, str(value))


def _shown_text(path: Path, text: str) -> str:
    if not text.strip():
        return "empty text"
    if _secret(path) and not _REFERENCE_ALONE.fullmatch(text):
        return "plain text"
    if _URL.match(text):
        return quoted(re.sub(r"\?.*", "?…", re.sub(r"//[^?]*@", "//…@", text), flags=re.DOTALL))
    return quoted(text)


def _secret(path: Path) -> bool:
    return path in _SECRET_PLACES or not _SECRET_PARTS.isdisjoint(path)
