from dataclasses import replace
from xml.etree import ElementTree

import pytest

from canary.analysis.picture import RED, WIDTH, Box, Words, cuts_of, picture
from canary.analysis.svg import svg
from canary.core.observation import Disconnected, Phase, Truncated
from tests.fakes.runs import NGINX, UI, cut_by, drawn_run, hop
from tests.fakes.scripted_answer import answer, every, headers, say, think


def words(shown):
    return [shape.text for shape in shown.shapes if isinstance(shape, Words)]


def test_from_the_user_down_with_every_request():
    texts = words(picture(drawn_run()))
    assert texts[0] == "chat-prod, reasoning-heavy, run 3f9a2b7c11de, 2026-11-29 14:02:00 UTC"
    names = [text for text in texts if text.startswith(("edge", "<b>", "vllm", "browser"))]
    assert names == [
        "edge",
        "<b>agent</b> & 한국어",
        "vllm",
        "vllm thinking_token_budget=64",
        "browser/ui-idle",
        "edge/nginx",
    ]
    assert "visible 71.0 s  FAIL" in texts
    assert "visible 6.20 s  PASS" in texts


def test_the_earliest_cut_of_each_timer_that_the_verdicts_blame():
    cuts = cuts_of(drawn_run().results)
    assert [(cut.name, round(cut.at)) for cut in cuts] == [("browser/ui-idle", 30), ("edge/nginx", 60)]


@pytest.mark.parametrize("later_first", [False, True])
def test_of_several_streams_the_earliest_cut_counts(later_first):
    early = hop("a", every(0.25, 71, 83, say), verdicts=(cut_by(UI),), timeouts=(UI,))
    late = hop("b", say(20), say(71), verdicts=(cut_by(UI),), timeouts=(UI,))
    assert [round(cut.at) for cut in cuts_of([late, early] if later_first else [early, late])] == [30]


def test_a_timer_that_fires_and_is_not_blamed_is_not_drawn():
    """A forecast that the check would not stand by is no cut."""
    silent = hop("agent", every(0.25, 71, 83, say), timeouts=(UI, NGINX))
    assert cuts_of([silent]) == []
    blamed = replace(silent, verdicts=(cut_by(NGINX),))
    assert [cut.name for cut in cuts_of([blamed])] == ["edge/nginx"]


def test_nothing_visible_is_said():
    mute = hop("engine", every(0.3, 0.5, 6, think))
    assert "nothing visible  PASS" in words(picture(replace(drawn_run(), results=(mute,))))


@pytest.mark.parametrize(
    ("end", "marks"),
    [
        pytest.param(None, 0, id="complete"),
        pytest.param(Truncated(at=7.0), 1, id="cut"),
        pytest.param(Disconnected(at=7.0, phase=Phase.BODY), 1, id="reset"),
    ],
)
def test_a_stream_that_broke_off_has_a_mark(end, marks):
    whole = hop("engine", every(0.3, 0.5, 6, think))
    observation = answer(headers(0.1), every(0.3, 0.5, 6, think))
    broken = whole if end is None else replace(whole, observation=replace(observation, end=end))
    shown = picture(replace(drawn_run(), results=(broken,)))
    assert sum(isinstance(shape, Box) and shape.colour == RED for shape in shown.shapes) == marks


def test_everything_is_inside():
    more = tuple(hop(f"hop-{number}", every(0.25, 71, 83, say)) for number in range(60))
    shown = picture(drawn_run(*more))
    assert "24 more" in words(shown)
    for shape in shown.shapes:
        assert 0 <= shape.x <= WIDTH
        assert 0 <= shape.y <= shown.height
        if isinstance(shape, Box):
            assert shape.x + shape.width <= WIDTH
            assert shape.y + shape.height <= shown.height
    assert shown.height < 2000


def test_svg_is_well_formed_whatever_the_names():
    text = svg(picture(drawn_run()))
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "<b>agent" not in text
    for unsafe in ("<script", "style=", "href", "onload"):
        assert unsafe not in text


def test_a_run_of_no_length_is_drawn():
    refused = hop("engine")
    assert picture(replace(drawn_run(), results=(refused,))).height > 0
