from xml.etree import ElementTree

import pytest

from canary.core.status import Level
from canary.web.badges import LOOKS, look_of, shield, svg

SVG = "{http://www.w3.org/2000/svg}"


def luminance(color):
    def linear(part):
        share = int(part, 16) / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(color[i : i + 2]) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("level", [*Level, None])
def test_white_text_can_be_read_on_it(level):
    assert 1.05 / (luminance(LOOKS[level].color) + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("level", "told", "word"),
    [
        (Level.OPERATIONAL, True, "operational"),
        (Level.OPERATIONAL, False, "unknown"),
        (Level.MAJOR, False, "major outage"),
        (Level.MAINTENANCE, False, "maintenance"),
    ],
)
def test_what_is_not_known_is_not_green(level, told, word):
    assert look_of(level, told=told).word == word


@pytest.mark.parametrize(
    "label",
    ["chat", "한국어 파이프라인", "<script>alert(1)</script>", '" onload="alert(1)', "x" * 500, "a&b ]]> \u202e"],
)
def test_it_is_a_picture_and_nothing_else(label):
    root = ElementTree.fromstring(svg(label, LOOKS[None]))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "title", "rect", "path", "g", "text"}
    attributes = {name for each in root.iter() for name in each.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in {"style", "href"}}
    left, right = root.iter(f"{SVG}text")
    assert left.text == (label if len(label) <= 60 else f"{label[:59]}…")
    assert right.text == "unknown"
    assert int(right.get("x")) + int(right.get("textLength")) < int(root.get("width")) < 900
    assert root.get("aria-label").endswith(": unknown")


def test_the_shield():
    """https://shields.io/badges/endpoint-badge"""
    assert shield("chat", LOOKS[Level.MAJOR]) == {
        "schemaVersion": 1,
        "label": "chat",
        "message": "major outage",
        "color": "b3261e",
    }
