"""Content codings, undone as the bytes come: gzip, deflate, br and zstd.

Every read is inflated by itself, so that its bytes keep its stamp; a read that yields nothing yet is still a sign of
life. Output is bounded by the caller's room, checked while inflating and not after it: a bomb costs no memory. `br` and
`zstd` are optional; without their libraries the answer cannot be read, which is our limit and not the target's fault.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

_SLICE_BYTES = 64  # zstd cannot bound its output: one block of a few bytes yields up to 128 KiB
_ZSTD_WINDOW_BYTES = 1 << 23  # what RFC 8878 asks a decoder to support, and what browsers allow over HTTP


class CannotInflateError(Exception):
    """We do not know the coding, or its library is not installed."""


class CorruptBodyError(Exception):
    """The bytes do not follow the coding that the headers announce."""


class RoomExceededError(Exception):
    """More came out than there was room for."""


class Coding(Protocol):
    """`feed` raises CorruptBodyError and RoomExceededError; `unfinished` = more input is owed."""

    def feed(self, data: bytes, room: int) -> bytes: ...

    @property
    def unfinished(self) -> bool: ...


class _Identity:
    unfinished = False

    def feed(self, data: bytes, room: int) -> bytes:
        return _within(data, room)


class _Zlib:
    """gzip of any number of members, zlib, and the raw deflate that some servers send as `deflate`."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._head = b""  # two bytes tell zlib from raw deflate
        self._state: Any = zlib.decompressobj(31) if gzip else None
        self.unfinished = False

    def feed(self, data: bytes, room: int) -> bytes:
        if self._state is None:
            data = self._head = self._head + data
            if len(data) < 2:
                self.unfinished = bool(data)
                return b""
            is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._state = zlib.decompressobj(15 if is_zlib else -15)
        return self._inflate(data, room)

    def _inflate(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        while data:
            if self._state.eof:
                if not self._gzip or not b"\x1f\x8b".startswith(data[:2]):
                    break  # padding after the end; everybody ignores it
                self._state = zlib.decompressobj(31)
            try:
                out += self._state.decompress(data, room - len(out) + 1)
            except zlib.error as error:
                raise CorruptBodyError(str(error)) from error
            _within(out, room)
            data = self._state.unused_data or self._state.unconsumed_tail
            self.unfinished = not self._state.eof
        return bytes(out)


class _Brotli:
    def __init__(self) -> None:
        self._library = _library("brotli", "br")
        self._state = self._library.Decompressor()
        if not hasattr(self._state, "can_accept_more_data"):
            raise CannotInflateError("br needs brotli 1.2 or newer: older ones cannot bound their output")
        self.unfinished = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        try:
            while True:
                out += self._state.process(data, output_buffer_limit=room - len(out) + 1)
                _within(out, room)
                data = b""
                if self._state.can_accept_more_data():
                    break
        except self._library.error as error:
            raise CorruptBodyError(str(error)) from error
        self.unfinished = not self._state.is_finished()
        return bytes(out)


class _Zstd:
    def __init__(self) -> None:
        self._library = _library("zstandard", "zstd")
        self._new = self._library.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj
        self._state = self._new()
        self.unfinished = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        try:
            for start in range(0, len(data), _SLICE_BYTES):
                out += self._decompress(data[start : start + _SLICE_BYTES])
                _within(out, room)
        except self._library.ZstdError as error:
            raise CorruptBodyError(str(error)) from error
        return bytes(out)

    def _decompress(self, data: bytes) -> bytes:
        out = b""
        while data:  # frames may follow each other
            if self._state.eof:
                self._state = self._new()
            out += self._state.decompress(data)
            data = self._state.unused_data
            self.unfinished = not self._state.eof
        return out


class _Chain:
    """Several codings, the last applied first."""

    def __init__(self, codings: list[Coding]) -> None:
        self._codings = codings

    def feed(self, data: bytes, room: int) -> bytes:
        for coding in self._codings:
            data = coding.feed(data, room)
        return data

    @property
    def unfinished(self) -> bool:
        return any(coding.unfinished for coding in self._codings)


CODINGS: Mapping[str, Callable[[], Coding]] = {
    "identity": _Identity,
    "gzip": lambda: _Zlib(gzip=True),
    "x-gzip": lambda: _Zlib(gzip=True),
    "deflate": lambda: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstd,
}


def coding(content_encoding: str) -> Coding:
    """For the value of a Content-Encoding header. Raises CannotInflateError."""
    names = [name.strip().lower() for name in content_encoding.split(",") if name.strip()]
    unknown = next((name for name in names if name not in CODINGS), None)
    if unknown is not None:
        msg = f"cannot read content coding {unknown!r}: unknown"
        raise CannotInflateError(msg)
    return _Chain([CODINGS[name]() for name in reversed(names or ["identity"])])


def _within(data: bytes | bytearray, room: int) -> bytes:
    if len(data) > room:
        raise RoomExceededError
    return bytes(data)


def _library(name: str, coding_name: str) -> ModuleType:
    try:
        return __import__(name)  # optional: the compression extra
    except ImportError as error:
        msg = f"cannot read content coding {coding_name!r}: {name} is not installed (extra: compression)"
        raise CannotInflateError(msg) from error
