"""Whether a point in Markdown text lies inside code.

An answer about chat templates may well contain `</think>`; inside back ticks or a fence it is text like any other.
CommonMark is followed as far as a stream allows without looking ahead: fences of three or more back ticks or tildes at
the start of a line, closed by as many; spans of back ticks on one line. A span that is never closed ends with its line.
"""

from __future__ import annotations

import re

_PIECES = re.compile(r"\n|`+|~+|[^\n`~]+")
_MAX_INDENT = 3  # four spaces are an indented code block, not a fence


class CodeSpans:
    """Fed the text of one message in order, in pieces of any size."""

    def __init__(self) -> None:
        self._fence = ""  # the run that opened a fence
        self._fence_on_this_line = False
        self._span = 0  # back ticks that opened a span on this line
        self._run = ""  # back ticks or tildes at the very end, which may go on
        self._indent = 0  # spaces since the line began; -1 = something else stood there
        self.line_start = True

    @property
    def inside(self) -> bool:
        """Asked only where the next character is neither a back tick nor a tilde."""
        self._end_run()
        return bool(self._fence or self._span)

    def feed(self, text: str) -> None:
        for match in _PIECES.finditer(text):
            piece = match.group()
            if piece[0] in "`~":
                self._grow_run(piece)
                continue
            self._end_run()
            if piece == "\n":
                self._span = self._indent = 0
                self._fence_on_this_line = False
            elif self._indent >= 0:
                self._indent = self._indent + len(piece) if piece.isspace() else -1
        if text:
            self.line_start = text.endswith("\n")

    def _grow_run(self, piece: str) -> None:
        if self._run and self._run[0] != piece[0]:
            self._end_run()
        self._run += piece

    def _end_run(self) -> None:
        run, self._run = self._run, ""
        if not run:
            return
        at_line_start = 0 <= self._indent <= _MAX_INDENT
        self._indent = -1
        if at_line_start and len(run) >= 3:
            self._take_fence(run)
        elif run[0] == "`":
            self._take_span(len(run))

    def _take_fence(self, run: str) -> None:
        if not self._fence:
            self._fence, self._fence_on_this_line = run, True
        elif run[0] == self._fence[0] and len(run) >= len(self._fence):
            self._fence = ""

    def _take_span(self, length: int) -> None:
        if self._fence_on_this_line and self._fence.startswith("`"):
            self._span, self._fence = len(self._fence), ""  # a second run on the line: it was a span, not a fence
        if self._fence:
            return
        if not self._span:
            self._span = length
        elif self._span == length:
            self._span = 0
