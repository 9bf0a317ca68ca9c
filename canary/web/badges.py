"""How a pipeline, a hop or all of them fare, as a small picture for other people's pages; and for shields.io to draw.

The picture needs no font of its own: its width is computed from the usual widths of Verdana and DejaVu Sans, and
`textLength` makes whatever font there is fit it. Nothing in it is a style or a script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

from canary.core.observation import Json
from canary.core.status import Level

_LONGEST = 60  # characters of the label
_HEIGHT, _PAD, _SIZE = 20, 6, 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`color` carries white text with a contrast of 4.5 or more."""

    word: str
    color: str


LOOKS: Mapping[Level | None, Look] = MappingProxyType(
    {
        Level.OPERATIONAL: Look(word="operational", color="#2a7a3f"),
        Level.MAINTENANCE: Look(word="maintenance", color="#2c66a8"),
        Level.DEGRADED: Look(word="degraded", color="#8a6100"),
        Level.PARTIAL: Look(word="partial outage", color="#b04a00"),
        Level.MAJOR: Look(word="major outage", color="#b3261e"),
        None: Look(word="unknown", color="#5f6670"),
    }
)


def look_of(level: Level, *, told: bool) -> Look:
    """A state that nobody could tell is unknown, and not good."""
    return LOOKS[None] if level is Level.OPERATIONAL and not told else LOOKS[level]


def svg(label: str, look: Look) -> bytes:
    label = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
    left, right = _width(label) + 2 * _PAD, _width(look.word) + 2 * _PAD
    spoken = escape(f"{label}: {look.word}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{spoken}"><title>{spoken}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="#3a3f47"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3H{left}z" fill="{look.color}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="{_SIZE}">'
        f"{_text(label, _PAD)}{_text(look.word, left + _PAD)}</g></svg>\n"
    ).encode()


def shield(label: str, look: Look) -> Json:
    """https://shields.io/badges/endpoint-badge"""
    return {"schemaVersion": 1, "label": label, "message": look.word, "color": look.color.removeprefix("#")}


def _text(text: str, x: int) -> str:
    return f'<text x="{x}" y="14" textLength="{_width(text)}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'


def _width(text: str) -> int:
    return round(sum(_advance(char) for char in text))


def _advance(char: str) -> float:
    """In pixels at that size."""
    if char in "iIl.,:;|!' ":
        return 3.6
    if char in "mwMW@%":
        return 10.5
    return 6.5 if char.isascii() else float(_SIZE + 1)  # Hangul and Han are as wide as they are high
