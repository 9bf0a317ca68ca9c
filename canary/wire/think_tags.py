"""Splits the visible channel into reasoning, answer and the marks between them, piece by piece.

Both mistakes are costly: reasoning taken for an answer hides an outage, an answer taken for reasoning invents one.
So a mark counts only where a model puts it, and is plain text everywhere else:

- An opener counts at the start of the message, directly after a closed block, after a tool call (white space aside),
  and at the start of a line in a message where a block was closed before.
- The first closer of its family closes a block, as engines do. A second opener directly inside a block is a mark too
  (a gateway wrapped what was wrapped already); any other opener in there is reasoning text.
- A closer without a block: if nothing says that reasoning came otherwise and text stands before it, all of that text
  was reasoning, opened in the prompt (`Relabelled`). Else it is a stray mark, and the text stays visible.
- Nothing in Markdown code counts outside a block.

A mark may be cut at any character, so what may still become one is held back until it is decided.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TypeAlias

from canary.core.stream import ReasoningDelta, ReasoningForm, Relabelled, TagSeen, VisibleDelta
from canary.wire.code_spans import CodeSpans
from canary.wire.tag_families import (
    DETAILS_MAX_CHARS,
    DETAILS_START,
    FAMILIES,
    GHOST_CLOSER,
    GHOST_OPENER,
    TagFamily,
    is_details_opener,
)

SplitEvent: TypeAlias = ReasoningDelta | VisibleDelta | TagSeen | Relabelled

_OPENERS = {mark: family for family in FAMILIES.values() for mark in family.openers}
_MARKUP = {mark: family for family in FAMILIES.values() for mark in family.markup}
_UNOPENED = {mark for family in FAMILIES.values() for mark in family.unopened}
_MARKS = sorted(
    {*_OPENERS, *_MARKUP, *_UNOPENED, GHOST_CLOSER, *(mark for family in FAMILIES.values() for mark in family.closers)},
    key=len,
    reverse=True,
)
_DETAILS = f"{DETAILS_START}[^<>]{{0,{DETAILS_MAX_CHARS}}}"
_ANY_MARK = re.compile("|".join([*map(re.escape, _MARKS), f"{_DETAILS}>"]))
_PREFIXES = {mark[:length] for mark in _MARKS for length in range(1, len(mark))}
_LONGEST = max(map(len, _MARKS))
_DETAILS_OPENER = FAMILIES["details"].openers[0]
_DETAILS_CUT = re.compile(f"{_DETAILS}\\Z")


class _Role(Enum):
    """What a mark does at the place where it stands."""

    OPEN = auto()
    CLOSE = auto()
    CLOSE_UNOPENED = auto()
    MARKUP = auto()


class ThinkTagSplitter:
    """The visible channel of one message, in order. `split` and `flush` return events stamped with `at`."""

    def __init__(self) -> None:
        self._held = ""
        self._family: TagFamily | None = None  # of the open block
        self._opener = ""
        self._used: set[str] = set()  # closers and markup of the families seen so far
        self._blank = True  # only white space since the start, the last mark that counted or a tool call
        self._closed = False  # a block was closed, so this message carries reasoning inline
        self._elsewhere = False  # reasoning came in a field of its own
        self._head = ""  # the first characters of the message
        self._answered = False  # visible text that is not only white space came
        self._code = CodeSpans()
        self._out: list[SplitEvent] = []
        self._text: list[str] = []

    def reasoning_came_by_field(self) -> None:
        self._elsewhere = True

    def tool_call(self) -> None:
        """A tool call was seen: an opener may stand next."""
        self._blank = True

    def split(self, text: str, at: float) -> list[SplitEvent]:
        """Events of `text`; the part of it that may still become a mark is held back."""
        return self._run(self._held + text, at, final=False)

    def flush(self, at: float) -> list[SplitEvent]:
        """The message, or its text so far, is over: what was held back is text."""
        return self._run(self._held, at, final=True)

    def _run(self, text: str, at: float, *, final: bool) -> list[SplitEvent]:
        self._out = []
        cuts = [] if final else _cut_marks(text)
        pos = 0
        while pos < len(text):
            mark = _ANY_MARK.search(text, pos)
            cut = next((start for start in cuts if start >= pos), len(text))
            start = min(mark.start(), cut) if mark else cut
            self._take_text(text[pos:start])
            pos = start
            if start == len(text) or (start == cut and self._could_count(text[start:])):
                break
            role = self._role(mark.group()) if mark and mark.start() == start else None
            if mark and role:
                self._end_text(at)
                self._take_mark(mark.group(), role, at)
                pos = mark.end()
            else:
                self._take_text(text[start : start + 1])
                pos = start + 1
        self._held = text[pos:]
        self._end_text(at)
        return self._out

    def _could_count(self, cut: str) -> bool:
        """Whether the mark that `cut` begins would count here."""
        if cut.startswith(DETAILS_START):
            return self._role(_DETAILS_OPENER) is not None
        return any(mark.startswith(cut) and self._role(mark) for mark in _MARKS)

    def _role(self, mark: str) -> _Role | None:
        """What `mark` does at this very place; None = it is text."""
        if self._family is not None:
            if mark in self._family.closers:
                return _Role.CLOSE
            return _Role.OPEN if self._blank and _opens(mark) else None
        if mark == GHOST_CLOSER:
            ghost = self._head == GHOST_OPENER and not (self._closed or self._elsewhere)
            return _Role.CLOSE_UNOPENED if ghost else None
        return None if self._code.inside else self._role_outside(mark)

    def _role_outside(self, mark: str) -> _Role | None:
        may_open = self._blank or (self._closed and self._code.line_start)
        if may_open and _opens(mark):
            return _Role.OPEN
        if mark in _MARKUP and (may_open or mark in self._used):
            return _Role.MARKUP
        return _Role.CLOSE_UNOPENED if mark in _UNOPENED or mark in self._used else None

    def _take_mark(self, mark: str, role: _Role, at: float) -> None:
        if role is _Role.CLOSE_UNOPENED:
            self._close_unopened(mark, at)
            return
        self._out.append(TagSeen(at=at, tag=_name(mark)))
        if role is _Role.OPEN and self._family is None:
            self._family = _OPENERS[_name(mark)]
            self._opener = _name(mark)
            self._used.update(self._family.closers, self._family.markup)
        elif role is _Role.CLOSE:
            self._family = None
            self._closed = True
        elif role is _Role.MARKUP:
            self._used.update(_MARKUP[mark].markup)
        self._start_afresh()

    def _close_unopened(self, mark: str, at: float) -> None:
        if self._closed or self._elsewhere or not self._answered:
            self._out.append(TagSeen(at=at, tag=mark, stray=True))
        else:
            self._out.append(Relabelled(at=at, tag=mark))
            self._start_afresh()
        self._closed = self._closed or not self._elsewhere

    def _start_afresh(self) -> None:
        """After a mark: an opener may stand next, and code that was left open does not reach over it."""
        self._blank = True
        self._code = CodeSpans()

    def _take_text(self, text: str) -> None:
        if not text:
            return
        self._text.append(text)
        self._blank = self._blank and text.isspace()
        if self._family is None:
            self._code.feed(text)
            self._answered = self._answered or not text.isspace()
            if len(self._head) < len(GHOST_OPENER):
                self._head = (self._head + text).lstrip()[: len(GHOST_OPENER)]

    def _end_text(self, at: float) -> None:
        text = "".join(self._text)
        self._text = []
        if not text:
            return
        if self._family is None:
            self._out.append(VisibleDelta(at=at, text=text))
        else:
            form = ReasoningForm.INLINE_TAGS
            self._out.append(ReasoningDelta(at=at, text=text, source=self._opener, form=form))


def _cut_marks(text: str) -> list[int]:
    """Where in `text` something begins that more text may turn into a mark, first place first."""
    starts = [start for start in range(max(0, len(text) - _LONGEST), len(text)) if text[start:] in _PREFIXES]
    details = _DETAILS_CUT.search(text, max(0, len(text) - DETAILS_MAX_CHARS - len(DETAILS_START)))
    return sorted({*starts, details.start()}) if details else starts


def _opens(mark: str) -> bool:
    return mark in _OPENERS or is_details_opener(mark)


def _name(mark: str) -> str:
    return _DETAILS_OPENER if is_details_opener(mark) else mark
