"""Frozen types as JSON text and back, exactly: `decode(type(x), encode(x)) == x`.

The decoders are made from the types' own annotations, so there is no second list of fields to keep. Rows outlive
programs, hence two rules: a key that is missing is the field's default, or None where the type allows that; a key that
is no field any more is left out. A dataclass that is one of several in a union carries its name as `kind`. What has no
form here raises TypeError when it is written: above all a `Secret`, which must never be stored. What does not fit its
type when it is read raises CodecError.

core.jsonable is the form for people and other programs; it rounds, and nothing reads it back.
"""

from __future__ import annotations

import json
import types
import typing
import zlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from canary.core.observation import End, Json
from canary.store.errors import StoreError, StoreTrouble

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
_Decoder = Callable[[Json], Any]

_TAGGED = frozenset(get_args(End))
_NONE = type(None)


class CodecError(StoreError):
    """A row that does not fit the type that it was written from: damaged, or of another version."""

    def __init__(self, message: str) -> None:
        super().__init__(StoreTrouble.CORRUPT, f"a row of the database cannot be read: {message}")


def encode(value: object) -> str:
    """One line of ASCII, so that no database minds what a model wrote."""
    return json.dumps(_plain(value), separators=(",", ":"))


def decode(kind: type[T], text: str) -> T:
    """Raises CodecError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        msg = f"no JSON: {error}"
        raise CodecError(msg) from None
    value: T = _decoder(cast("Hashable", kind))(found)
    return value


def word(kind: type[E], text: str) -> E:
    """The member of an enum that a column of its own holds. Raises CodecError."""
    try:
        return kind(text)
    except ValueError as error:
        raise CodecError(str(error)) from None


def pack(value: object) -> bytes:
    """`encode`, compressed."""
    return zlib.compress(encode(value).encode("ascii"), 6)


def unpack(kind: type[T], packed: bytes) -> T:
    """Raises CodecError."""
    try:
        text = zlib.decompress(packed).decode("ascii")
    except (zlib.error, TypeError, UnicodeDecodeError) as error:  # SQLite keeps text in a column of bytes, too
        msg = f"not what was packed: {error}"
        raise CodecError(msg) from None
    return decode(kind, text)


def _plain(value: object) -> Json:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(_plain(item) for item in value)
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        kind = {"kind": type(value).__name__} if type(value) in _TAGGED else {}
        return kind | {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    msg = f"{type(value).__name__} is never stored"
    raise TypeError(msg)


def _key(key: object) -> str:
    if not isinstance(key, str):
        msg = f"a mapping by {type(key).__name__} has no JSON form"
        raise TypeError(msg)
    return key


@cache
def _decoder(kind: Hashable) -> _Decoder:
    """The reader of one annotation. Raises TypeError for one that has no stored form: our own bug."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset:
        return _many(_decoder(arguments[0]), frozenset)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_decoder(arguments[1]))
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind)
    return _scalar(kind)


def _scalar(kind: Any) -> _Decoder:
    if kind is datetime:
        return lambda value: _checked(value, str, datetime.fromisoformat)
    if kind is float:
        return lambda value: _checked(value, (int, float), float)
    if kind in (bool, int, str):
        return lambda value: _checked(value, kind, kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: _checked(value, str, kind)
    msg = f"{kind!r} has no stored form"
    raise TypeError(msg)


def _checked(value: Json, kinds: type | tuple[type, ...], make: Callable[[Any], Any]) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        msg = f"found {str(value)[:40]!r}, expected {kinds}"
        raise CodecError(msg)
    try:
        return make(value)
    except ValueError as error:
        raise CodecError(str(error)) from None


def _union(members: tuple[Any, ...]) -> _Decoder:
    """None, and either scalars, told apart by their JSON type, or dataclasses, told apart by `kind` if many."""
    optional = _NONE in members
    others = [member for member in members if member is not _NONE]
    if len(others) == 1:
        one = _decoder(others[0])
    elif all(is_dataclass(member) for member in others):
        one = _by_kind({member.__name__: _decoder(member) for member in others if member in _TAGGED}, len(others))
    else:
        one = _first_fit([_decoder(member) for member in others])
    return lambda value: None if value is None and optional else one(value)


def _by_kind(by_name: Mapping[str, _Decoder], count: int) -> _Decoder:
    if len(by_name) != count:
        msg = "a union of dataclasses of which some carry no kind"
        raise TypeError(msg)

    def read(value: Json) -> Any:
        name = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(name, str) or name not in by_name:
            msg = f"found the kind {name!r}, expected one of {', '.join(by_name)}"
            raise CodecError(msg)
        return by_name[name](value)

    return read


def _first_fit(decoders: list[_Decoder]) -> _Decoder:
    def read(value: Json) -> Any:
        for decoder in decoders:
            try:
                return decoder(value)
            except CodecError:
                continue
        msg = f"found {str(value)[:40]!r}, which fits no member of its union"
        raise CodecError(msg)

    return read


def _tuple(members: tuple[Any, ...]) -> _Decoder:
    if len(members) == 2 and members[1] is ...:
        return _many(_decoder(members[0]), tuple)
    each = [_decoder(member) for member in members]

    def read(value: Json) -> Any:
        if not isinstance(value, list) or len(value) != len(each):
            msg = f"found {str(value)[:40]!r}, expected a list of {len(each)}"
            raise CodecError(msg)
        return tuple(decoder(item) for decoder, item in zip(each, value, strict=True))

    return read


def _many(one: _Decoder, make: Callable[[Any], Any]) -> _Decoder:
    def read(value: Json) -> Any:
        if not isinstance(value, list):
            msg = f"found {str(value)[:40]!r}, expected a list"
            raise CodecError(msg)
        return make(one(item) for item in value)

    return read


def _mapping(one: _Decoder) -> _Decoder:
    def read(value: Json) -> Any:
        if not isinstance(value, dict):
            msg = f"found {str(value)[:40]!r}, expected an object"
            raise CodecError(msg)
        return {key: one(item) for key, item in value.items()}

    return read


def _record(kind: Any) -> _Decoder:
    hints = get_type_hints(kind)
    known = [(field, _decoder(hints[field.name]), _NONE in get_args(hints[field.name])) for field in fields(kind)]

    def read(value: Json) -> Any:
        if not isinstance(value, dict):
            msg = f"found {str(value)[:40]!r}, expected {kind.__name__}"
            raise CodecError(msg)
        found = {}
        for field, decoder, optional in known:
            if field.name in value:
                found[field.name] = decoder(value[field.name])
            elif field.default is MISSING and field.default_factory is MISSING:
                if not optional:
                    msg = f"{kind.__name__} without {field.name}"
                    raise CodecError(msg)
                found[field.name] = None
        return kind(**found)

    return read
