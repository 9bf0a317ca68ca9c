from dataclasses import replace
from io import BytesIO

from PIL import Image

from canary.analysis.picture import Box, picture
from canary.notify.picture import picture_of, png
from tests.fakes.runs import drawn_run


def pixels(shown):
    return Image.open(BytesIO(png(shown)))


def test_boxes_are_where_they_should_be():
    shown = picture(drawn_run())
    image = pixels(shown)
    assert image.size == (shown.width * 2, shown.height * 2)
    seen = {colour for _, colour in image.getcolors(maxcolors=1 << 24)}
    for shape in shown.shapes:
        if isinstance(shape, Box):
            assert tuple(bytes.fromhex(shape.colour[1:])) in seen


def test_words_are_drawn():
    shown = picture(drawn_run())
    wordless = replace(shown, shapes=tuple(shape for shape in shown.shapes if isinstance(shape, Box)))
    assert pixels(shown).tobytes() != pixels(wordless).tobytes()


async def test_nothing_to_draw():
    assert await picture_of(replace(drawn_run(), results=())) is None
    assert (await picture_of(drawn_run()))[:4] == b"\x89PNG"
