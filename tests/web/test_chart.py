import json
import re
from datetime import timedelta
from html import unescape

import pytest

from canary.core.span import RANGES
from canary.web.chart import Axis, Chart, Level, Line, draw
from canary.web.words import Words
from tests.fakes.snapshots import NOW

EN = Words(language="en")
STARTS = tuple(NOW + timedelta(minutes=15) * n for n in range(4))
AXIS = Axis(starts=STARTS, end=NOW + timedelta(hours=1), incidents=[(0.25, 0.5)], marks=[(0.75, "deploy")])
HOSTILE = "<script>\x1b\"'&\u202e"


def chart(*values, band=(), levels=(), never=(), share=False, name="first"):
    values += (None,) * (4 - len(values))
    band = [*band, *[None] * (4 - len(band))] if band else ()
    line = Line(name=name, look="one", values=values, band=band)
    return draw(Chart(title="Time", lines=(line,), levels=levels, never=never, share=share), AXIS, EN)


def paths(drawn):
    return dict(re.findall(r'<path class="([\w ]+)" d="([^"]*)"', drawn.svg))


@pytest.mark.parametrize(
    ("values", "path"),
    [
        pytest.param((1.0, 1.0, 1.0, 1.0), "M0 200h1V200h1V200h1V200h1", id="one line"),
        pytest.param((1.0, None, None, 1.0), "M0 200h1M3 200h1", id="no line where there was no answer"),
        pytest.param((None, None, None, None), "", id="nothing"),
        pytest.param((None, 0.0, None, None), "M1 1000h1", id="zero is a value"),
    ],
)
def test_a_line_of_steps(values, path):
    drawn = chart(*values, levels=(Level(name="l", value=1.0),))
    assert (
        re.sub(
            r"(?<=[ V])(\d+)(?=h)",
            lambda found: "200" if 0 < int(found[0]) < 500 else found[0],
            paths(drawn)["line one"],
        )
        == path
    )


@pytest.mark.parametrize(
    ("values", "places"),
    [
        pytest.param((1.0, None, None, 1.0), [0, 3], id="both ends"),
        pytest.param((1.0, 1.0, None, 1.0), [3], id="beside a line"),
        pytest.param((None, 1.0, None, None), [1], id="the only one"),
        pytest.param((1.0, 1.0, 1.0, 1.0), [], id="none stands alone"),
        pytest.param((None, None, None, None), [], id="nothing"),
    ],
)
def test_what_stands_alone_is_a_dot(values, places):
    dots = paths(chart(*values)).get("dot one", "")
    assert [int(place) for place in re.findall(r"M(\d+)\.5 \d+h0", dots)] == places


@pytest.mark.parametrize(("values", "empty"), [((None, None, None, 0.0), False), ((None,) * 4, True)])
def test_a_chart_without_a_value_says_so(values, empty):
    drawn = chart(*values, never=[0, 1, 0, 0])
    assert drawn.empty is empty


def test_the_scale_is_round_and_holds_everything():
    drawn = chart(3.1, 7.3, band=[(3.0, 9.9), (7.0, 8.0)])
    assert drawn.scale == ("15.0 s", "7.50 s", "0")
    assert chart(0.2, share=True).scale == ("100 %", "50 %", "0")
    assert chart(None).scale == ("1.00 s", "0.50 s", "0")


def test_a_level_far_above_is_named_and_not_drawn():
    drawn = chart(2.0, levels=(Level(name="ui", value=3.0), Level(name="edge", value=600.0)))
    assert (drawn.levels, drawn.above) == (("ui 3.00 s",), ("edge 10 min, above the chart",))
    assert drawn.svg.count('class="level"') == 1
    alone = chart(None, levels=(Level(name="edge", value=600.0),))
    assert alone.levels == ("edge 10 min",)


def test_what_is_on_the_axis():
    drawn = chart(1.0, never=[0, 2, 0, 1])
    assert '<rect class="incident" x="1.00" y="0" width="1.00" height="1000"/>' in drawn.svg
    assert paths(drawn)["mark deploy"] == "M3.00 0V1000"
    assert paths(drawn)["never"] == "M1.5 0v120M3.5 0v120"
    assert drawn.never == 3


def test_the_same_in_words():
    drawn = chart(
        2.0,
        None,
        4.0,
        3.0,
        band=[(1.0, 2.5), None, (3.0, 31.0), (3.0, 3.0)],
        levels=(Level(name="limit", value=20.0),),
        never=[0, 1, 0, 0],
    )
    assert drawn.text == (
        "Time. first: last 3.00 s, worst 31.0 s at 12:30:00 UTC; answers without visible text: 1; limit 20.0 s"
    )
    assert chart(None).text == "Time. nothing measured in this time"


def test_the_data_for_a_pointer():
    found = re.search(r'data-lines="([^"]*)"', chart(1.23456, None).svg)[1]
    assert json.loads(unescape(found)) == [["first", [1.235, None, None, None]]]


def test_names_are_text_and_nothing_else():
    drawn = chart(1.0, levels=(Level(name=HOSTILE, value=1.0),), name=HOSTILE)
    assert "<script" not in drawn.svg
    assert drawn.svg.count("<") == drawn.svg.count(">")
    assert "\x1b" not in drawn.levels[0]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param("24h", ("12:15", "18:15", "00:15", "06:15", "12:15"), id="hours"),
        pytest.param("90d", ("11-03", "11-25", "12-18", "01-09", "02-01"), id="days"),
    ],
)
def test_labels_of_time(name, labels):
    span = RANGES[name]
    starts = span.starts(NOW)
    assert Axis(starts=starts, end=starts[-1] + span.grain).labels() == labels


def test_a_place_lies_within():
    assert [AXIS.place(NOW + timedelta(minutes=m)) for m in (-5, 15, 90)] == [0.0, 0.25, 1.0]
