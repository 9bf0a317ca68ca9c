"""Model text, error texts and names end up in chat rooms: what a message holds is made harmless here, once.

Three things are taken out for every receiver alike, so that no notifier has to think of them: characters that no
terminal, chat or JSON parser agrees on (controls, NUL, lone surrogates, signs that turn the reading direction and with
it the meaning of a line), sizes without an end, and lists without an end. How text is *escaped* is each notifier's own
business, because each has its own markup.
"""

from __future__ import annotations

import re
from dataclasses import replace

from canary.core.notification import HopRow, Message

_MOST_LINE = 1000
_MOST_TITLE = 300
_MOST_REPEAT = 12_000
_MOST_CONTENT = 4000
_MOST_NAME = 200
_MOST_ITEMS = 50  # of names, or of hops
_MOST_SENTENCES = 20
_HARMFUL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def tidy(message: Message) -> Message:
    return replace(
        message,
        title=line(message.title, most=_MOST_TITLE),
        users_feel=line(message.users_feel),
        where=line(message.where),
        cause=line(message.cause),
        check=line(message.check),
        reason=line(message.reason),
        unit=None if message.unit is None else line(message.unit),
        pipelines=_lines(message.pipelines, most=_MOST_ITEMS, each=_MOST_NAME),
        probes=_lines(message.probes, most=_MOST_ITEMS, each=_MOST_NAME),
        changed=_lines(message.changed, most=_MOST_SENTENCES, each=_MOST_LINE),
        notes=_lines(message.notes, most=_MOST_SENTENCES, each=_MOST_LINE),
        hops=tuple(map(_row, message.hops[:_MOST_ITEMS])),
        repeat=block(message.repeat, most=_MOST_REPEAT),
        run_id=None if message.run_id is None else line(message.run_id),
        run_url=_url(message.run_url),
        page_url=_url(message.page_url),
        content=None if message.content is None else block(message.content, most=_MOST_CONTENT),
    )


def line(text: str, *, most: int = _MOST_LINE) -> str:
    """On one line."""
    return cut(" ".join(_HARMFUL.sub(" ", text[: 4 * most]).split()), most)


def block(text: str, *, most: int) -> str:
    """Its line breaks are kept."""
    return cut(_HARMFUL.sub(" ", text.replace("\r\n", "\n")[: 4 * most]), most)


def cut(text: str, most: int) -> str:
    """At most that many characters; what was cut says so."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _lines(texts: tuple[str, ...], *, most: int, each: int) -> tuple[str, ...]:
    more = len(texts) - most
    return tuple(line(text, most=each) for text in texts[:most]) + ((f"and {more} more",) if more > 0 else ())


def _row(row: HopRow) -> HopRow:
    return replace(row, hop=line(row.hop), status=line(row.status), said=line(row.said))


def _url(text: str | None) -> str | None:
    """Only what a browser opens; a cut URL leads nowhere."""
    whole = text is not None and text.startswith(("http://", "https://")) and len(text) <= _MOST_LINE
    return line(text) if whole and text else None
