"""What people say that they changed: a mark in time, beside the versions that answers show by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """`pipeline` None: all that have these `labels`."""

    at: datetime
    text: str
    pipeline: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
