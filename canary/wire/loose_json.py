"""JSON of strangers: any key may be missing, null or of the wrong type, and text may not even be text.

Every look into a document goes through these functions. They answer None for whatever is not what was asked for, so
that a decoder cannot raise. Half a surrogate pair, legal as a JSON escape and in no encoding, becomes U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

from canary.core.observation import Json

Object: TypeAlias = Mapping[str, Json]

EXCERPT_CHARS = 500
_MAX_COUNT = 10**12  # no token count is larger; what is, is garbage
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()


class NotJsonError(ValueError):
    """Text that is no JSON, or JSON beyond reason: nested too deeply, a number of thousands of digits."""


def parse(text: str) -> Json:
    """The value of a whole JSON text. Raises NotJsonError."""
    value, rest = parse_first(text)
    if rest:
        msg = f"text after the value: {excerpt(rest)}"
        raise NotJsonError(msg)
    return value


def parse_first(text: str) -> tuple[Json, str]:
    """The first JSON value of a text and what follows it, stripped. Raises NotJsonError."""
    stripped = text.strip()
    try:
        value, end = _DECODER.raw_decode(stripped)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    return value, stripped[end:].strip()


def text_of(value: Json) -> str:
    """The value if it is text, else ""."""
    return value if isinstance(value, str) else ""


def whole_text_of(value: Json) -> str:
    """Like `text_of`, with every half of a surrogate pair made whole or replaced."""
    return whole(text_of(value))


def whole(text: str) -> str:
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def object_of(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def objects_of(value: Json) -> list[Object]:
    """The objects among the items of a list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count_of(value: Json) -> int | None:
    """A whole number from 0 up, also one written as 12.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_COUNT:
        return None
    return int(value) if value == int(value) else None


def excerpt(text: str) -> str:
    """The beginning of a text on one line, for people."""
    line = " ".join(whole(text[: 2 * EXCERPT_CHARS]).split())
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"


class PairJoiner:
    """Text in pieces, where a surrogate pair may be cut between two of them: half a pair waits for the other half."""

    def __init__(self) -> None:
        self._half = ""

    def join(self, piece: str) -> str:
        text, self._half = self._half + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)
