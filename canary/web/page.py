"""The one page, as HTML that needs no script. Whatever targets said is hostile: escaped, cut, without control signs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined

from canary import __version__
from canary.core.snapshot import Snapshot
from canary.core.units import format_duration
from canary.core.verdict import Status
from canary.web.view import view_of

_LONGEST = 400  # characters of one text
WORDS: Mapping[Status | None, str] = MappingProxyType(
    {
        Status.PASS: "ok",
        Status.WARN: "warning",
        Status.FAIL: "failing",
        Status.UNKNOWN: "cannot tell",
        None: "no answer yet",
    }
)


def page_of(snapshot: Snapshot) -> str:
    return _PAGE.render(view=view_of(snapshot), version=__version__, style=_STYLE_MARK)


def plain(text: str) -> str:
    """One line of limited length; what has no shape, directs text or controls a terminal becomes a mark."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def ago(then: datetime, now: datetime) -> str:
    seconds = (now - then).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{format_duration(seconds)} ago" if seconds > 0 else f"in {format_duration(-seconds)}"


def seconds(value: float | None) -> str:
    if value is None:
        return "not told"
    return "never" if math.isinf(value) else format_duration(value)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("canary.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=plain, seconds=seconds)
    environment.globals.update(ago=ago, words=WORDS)
    return environment


_ENVIRONMENT = _environment()
_PAGE = _ENVIRONMENT.get_template("page.html")
STYLE = _ENVIRONMENT.get_template("style.css").render()
_STYLE_MARK = sha256(STYLE.encode()).hexdigest()[
    :8
]  # in its address, so that browsers may keep it and still get a new one
