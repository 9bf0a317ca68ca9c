"""The waterfall of a run as PNG, for receivers that take files. It needs the `png` extra; without it there is none.

Pillow draws it, because its wheel holds a font: a container without fonts gets a picture with words too.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from io import BytesIO

from canary.analysis.picture import Box, Picture, Words, picture
from canary.core.run import Run

_SCALE = 2  # so that it is sharp on the screens that people have
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


async def picture_of(run: Run) -> bytes | None:
    """None: there is nothing to draw, or nothing to draw with. In a thread: it takes as long as a request."""
    if not run.results or find_spec("PIL") is None:
        return None
    return await asyncio.to_thread(lambda: png(picture(run)))


def png(shown: Picture) -> bytes:
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415  # an optional dependency

    image = Image.new("RGB", (shown.width * _SCALE, shown.height * _SCALE), "#ffffff")
    draw = ImageDraw.Draw(image)
    for shape in shown.shapes:
        if isinstance(shape, Box):
            corner = (shape.x * _SCALE, shape.y * _SCALE)
            opposite = ((shape.x + shape.width) * _SCALE - 1, (shape.y + shape.height) * _SCALE - 1)
            draw.rectangle((*corner, *opposite), fill=shape.colour)
        else:
            _write(draw, shape, ImageFont.load_default(shape.size * _SCALE))
    out = BytesIO()
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()


def _write(draw: object, words: Words, font: object) -> None:
    place = (words.x * _SCALE, words.y * _SCALE)
    draw.text(place, words.text, fill=words.colour, font=font, anchor=_ANCHORS[words.anchor])  # type: ignore[attr-defined]
