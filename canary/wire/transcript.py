r"""A transcript is an exchange as text: JSON lines that `record` writes, failed runs keep and `replay` judges.

    {"canary_transcript": 1, "protocol": …, "url": …, "started_at": "…Z", "request": {…}}
    {"at": 0.0017, "status": 200, "headers": {…}}
    {"at": 0.0511, "data": "data: {…}\n\n"}        one network read; "base64" where it is no UTF-8; optional "after"
    {"at": 1.5042, "end": "complete"}

The first line may also hold `stamps`, `dns_s`, `connect_s`, `tls_s`, `loop_lag_s`. `at` is in seconds since the request
was sent and never goes back. The status line is missing where no headers came. The end line is never missing: a file
without one was not written to its end, and how that exchange ended is not known.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from canary.core.observation import Exchange, Head, Json, Read, StampSource
from canary.wire.loose_json import NotJsonError, Object, excerpt, object_of, parse
from canary.wire.transcript_end import END_NAMES, end_of, end_words

VERSION = 1

_MAX_SECONDS = 1e9  # longer than any recording; neither NaN nor infinity is within it

_TIMES = ("dns_s", "connect_s", "tls_s", "loop_lag_s")


class TranscriptError(ValueError):
    """Names the file, the line, what was found and what was expected."""


def dumps(exchange: Exchange) -> str:
    """The transcript of an exchange, with a newline at its end."""
    return "".join(f"{_line(words)}\n" for words in _all_words(exchange))


def loads(text: str, *, source: str) -> Exchange:
    """The exchange of a transcript. `source` names the file in errors. Raises TranscriptError."""
    lines = _lines(text.removeprefix("\ufeff"), source)
    if not lines or "canary_transcript" not in lines[0].words:
        found = lines[0] if lines else _Line(source=source, number=1, words={})
        found.fail('no "canary_transcript" key', 'a first line {"canary_transcript": 1, "protocol": …}')
    reader = _Reader(lines[0])
    for line in lines[1:]:
        reader.take(line)
    return reader.exchange(lines[-1])


def _all_words(exchange: Exchange) -> Iterator[dict[str, Json]]:
    first = {
        "canary_transcript": VERSION,
        "protocol": exchange.protocol,
        "url": exchange.url,
        "started_at": exchange.started_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "request": exchange.request,
        "stamps": None if exchange.stamps is StampSource.RECORDED else exchange.stamps.value,
        **{name: getattr(exchange, name) for name in _TIMES},
    }
    yield {key: value for key, value in first.items() if value is not None or key == "request"}
    if exchange.head:
        head = exchange.head
        yield {"at": head.at, "status": head.status, "headers": dict(head.headers)}
    for read in exchange.reads:
        stamps = {"at": read.at} if read.after is None else {"at": read.at, "after": read.after}
        yield {**stamps, **_data_words(read.data)}
    yield {"at": exchange.end.at, **end_words(exchange.end)}


def _data_words(data: bytes) -> dict[str, Json]:
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _line(words: dict[str, Json]) -> str:
    text = json.dumps(words, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, in a request or a detail
        return json.dumps(words)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line, with typed looks into it that raise TranscriptError."""

    source: str
    number: int
    words: Object

    def fail(self, found: str, expected: str) -> NoReturn:
        msg = f"{self.source}:{self.number}: found {found}, expected {expected}"
        raise TranscriptError(msg) from None

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self.words.get(key, default)
        if not isinstance(value, str):
            self.fail(f'"{key}": {_show(value)}', f'"{key}" to be text')
        return value

    def number_of(self, key: str) -> float:
        value = self.words.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MAX_SECONDS:
            self.fail(f'"{key}": {_show(value)}', f'"{key}" to be a number of seconds')
        return float(value)

    def optional_number(self, key: str) -> float | None:
        return None if self.words.get(key) is None else self.number_of(key)


def _lines(text: str, source: str) -> list[_Line]:
    lines = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            words = object_of(parse(raw))
        except NotJsonError as error:
            msg = f"{source}:{number}: found text that is no JSON ({error}), expected one JSON object a line"
            raise TranscriptError(msg) from None
        if words is None:
            msg = f"{source}:{number}: found {excerpt(raw)[:80]}, expected one JSON object a line"
            raise TranscriptError(msg)
        lines.append(_Line(source=source, number=number, words=words))
    return lines


class _Reader:
    """Takes the lines after the first, in order."""

    def __init__(self, first: _Line) -> None:
        if first.words["canary_transcript"] != VERSION:
            found = f'"canary_transcript": {_show(first.words["canary_transcript"])}'
            first.fail(found, f"version {VERSION}")
        self._first = first
        self._head: Head | None = None
        self._reads: list[Read] = []
        self._end: _Line | None = None
        self._at = 0.0

    def take(self, line: _Line) -> None:
        if self._end is not None:
            line.fail("a line after the end line", "nothing")
        at = line.number_of("at")
        if at < self._at:
            line.fail(f'"at": {at}, before the {self._at} of an earlier line', '"at" never to go back')
        self._at = at
        if "end" in line.words:
            self._end = line
        elif "status" in line.words:
            self._take_head(line, at)
        elif "data" in line.words or "base64" in line.words:
            self._take_read(line, at)
        else:
            line.fail(f"the keys {', '.join(line.words)}", '"status", "data", "base64" or "end"')

    def exchange(self, last: _Line) -> Exchange:
        if self._end is None:
            last.fail("no end line after this one", f'{{"at": …, "end": one of {", ".join(END_NAMES)}}}')
        name = self._end.text("end")
        end = end_of(name, at=self._at, words=self._end.words, saw_headers=self._head is not None)
        if end is None:
            self._end.fail(f'"end": {_show(name)}', f"one of {', '.join(END_NAMES)} with fields of its kind")
        if name == "complete" and self._head is None:
            self._end.fail("a complete exchange without a status line", '{"at": …, "status": …, "headers": …}')
        first = self._first
        return Exchange(
            protocol=first.text("protocol"),
            url=first.text("url"),
            started_at=_time(first),
            request=first.words.get("request"),
            end=end,
            head=self._head,
            reads=tuple(self._reads),
            stamps=_stamps(first),
            **{name: first.optional_number(name) for name in _TIMES},
        )

    def _take_head(self, line: _Line, at: float) -> None:
        if self._head is not None or self._reads:
            line.fail("a second status line or one after data", "one status line before all data")
        status, headers = line.words["status"], line.words.get("headers", {})
        if isinstance(status, bool) or not isinstance(status, int):
            line.fail(f'"status": {_show(status)}', "an HTTP status number")
        if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
            line.fail(f'"headers": {_show(headers)}', "an object of texts")
        self._head = Head(at=at, status=status, headers={name.lower(): value for name, value in headers.items()})

    def _take_read(self, line: _Line, at: float) -> None:
        if self._head is None:
            line.fail("data without a status line before it", '{"at": …, "status": …, "headers": …} first')
        after = line.optional_number("after")
        if after is not None and after > at:
            line.fail(f'"after": {after}, later than "at": {at}', '"after" to be at most "at"')
        self._reads.append(Read(at=at, data=_data(line), after=after))


def _data(line: _Line) -> bytes:
    plain = "data" in line.words
    text = line.text("data" if plain else "base64")
    try:
        return text.encode() if plain else base64.b64decode(text, validate=True)
    except UnicodeEncodeError:  # ahead of its parent ValueError
        line.fail('"data" with half a surrogate pair', 'such bytes as "base64"')
    except ValueError as error:
        line.fail(f'"base64" that cannot be read ({error})', "standard base64")


def _time(line: _Line) -> datetime:
    text = line.text("started_at")
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        line.fail(f'"started_at": {_show(text)}', "a time with its zone, like 2026-01-31T12:00:00Z")
    return time


def _stamps(line: _Line) -> StampSource:
    text = line.text("stamps", default=StampSource.RECORDED)
    if text not in set(StampSource):
        line.fail(f'"stamps": {_show(text)}', f"one of {', '.join(StampSource)}")
    return StampSource(text)


def _show(value: Json) -> str:
    return excerpt(str(value) if not isinstance(value, str) else f'"{value}"')[:80]
