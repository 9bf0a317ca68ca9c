"""A picture as SVG that stands alone: no script, no style, nothing fetched, so it passes any content policy."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from canary.analysis.picture import Box, Picture, Words


def svg(picture: Picture) -> str:
    size = f'width="{picture.width}" height="{picture.height}" viewBox="0 0 {picture.width} {picture.height}"'
    title = quoteattr(picture.title)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={title} font-family="sans-serif">',
        f'<rect width="{picture.width}" height="{picture.height}" fill="#ffffff"/>',
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines)


def _element(shape: Box | Words) -> str:
    if isinstance(shape, Box):
        return (
            f'<rect x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}"'
            f' fill="{shape.colour}"/>'
        )
    return (
        f'<text x="{shape.x:g}" y="{shape.y:g}" font-size="{shape.size}" fill="{shape.colour}"'
        f' text-anchor="{shape.anchor}">{escape(shape.text)}</text>'
    )
