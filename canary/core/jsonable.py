"""Every frozen type as plain JSON values, under its own field names. One way out, so that no secret finds another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import get_args

from canary.core.observation import End, Json
from canary.core.secret import Secret

_KINDS = {end: end.__name__ for end in get_args(End)}


def as_json(value: object) -> Json:
    """Dataclasses become objects, enums their values, tuples arrays, sets sorted arrays, a `Secret` `***`.

    A member of a closed union carries its `kind`. Infinity and NaN, which JSON lacks, become null.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value
    return _compound(value)


def _compound(value: object) -> Json:
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(as_json(item) for item in value)
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        kind = {"kind": _snake(_KINDS[type(value)])} if type(value) in _KINDS else {}
        return kind | {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Secret):
        return str(value)
    msg = f"{type(value).__name__} has no JSON form"
    raise TypeError(msg)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
