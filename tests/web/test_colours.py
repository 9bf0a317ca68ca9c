"""The waterfall's colours are the picture's own; the style sheet gives each one its tone for light and dark."""

import re

from canary.analysis import picture
from canary.web.markup import FILES


def test_every_colour_of_the_picture_has_a_tone():
    used = {picture.INK, picture.FAINT, picture.RED, "#ffffff"}
    used |= {colour for colour, _ in picture._LOOKS.values()} | set(picture._STATUS_COLOURS.values())
    assert used == set(re.findall(r'\.waterfall \[fill="(#\w+)"\]', FILES["style.css"][1]))


def test_every_variable_has_a_tone_in_the_dark():
    style = FILES["style.css"][1]
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    names = [set(re.findall(r"(--[\w-]+):", part)) for part in (light, dark)]
    assert names[0] == names[1]
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= names[0]
