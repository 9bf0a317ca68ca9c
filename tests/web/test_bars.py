import re

import pytest

from canary.core.span import DAYS, Counts
from canary.web.bars import strip
from canary.web.words import Words
from tests.fakes.snapshots import NOW

EN = Words(language="en")
STARTS = DAYS.starts(NOW)


def drawn(*counts):
    """The last days; what is drawn, by class."""
    days = dict(zip(STARTS[-len(counts) :], counts, strict=True)) if counts else {}
    made = strip({at: each for at, each in days.items() if each}, STARTS, EN)
    return made, dict(re.findall(r'<path class="(\w+)" d="([^"]*)"', made.svg))


def bars(path):
    return path.count("M")


@pytest.mark.parametrize(
    ("counts", "look"),
    [
        pytest.param(Counts(passed=288), "pass", id="all passed"),
        pytest.param(Counts(passed=287, warned=1), "warn", id="a warning"),
        pytest.param(Counts(unknown=5), "unknown", id="nothing could be told: no success"),
        pytest.param(Counts(passed=1, unknown=5), "pass", id="what is known passed"),
        pytest.param(None, "none", id="no run: no success either"),
    ],
)
def test_a_day_without_a_failure(counts, look):
    _, paths = drawn(counts)
    assert bars(paths["none"]) == 89 + (look == "none")
    assert look == "none" or bars(paths[look]) == 1
    assert "fail" not in paths


def test_a_day_with_a_failure_shows_without_its_colour():
    _, paths = drawn(Counts(passed=9, failed=3))
    tall = [float(each) for each in re.findall(r"v-([\d.]+)", paths["fail"])]
    assert tall == [6.0, 3.0]  # a quarter of 24 at the foot, and the cap that only such a day has
    _, paths = drawn(Counts(passed=10_000, failed=1))
    assert min(float(each) for each in re.findall(r"v-([\d.]+)", paths["fail"])) == 3.0  # one in ten thousand is seen


def test_in_words():
    assert strip({}, STARTS, EN).text == "No run in 90 days."
    assert strip({}, STARTS, EN).share is None
    fine, _ = drawn(Counts(passed=288), Counts(passed=288))
    assert (fine.text, fine.share) == ("576 runs in 90 days, none with a failure.", 1.0)
    bad, _ = drawn(Counts(passed=270, failed=18), Counts(passed=280, unknown=8))
    assert bad.text == "97 % of 576 runs in 90 days without a failure; days with one: 1, last 2026-01-30."
    assert bad.share == pytest.approx(1 - 18 / 568)  # what could not be told counts for neither side
    assert bad.text in bad.svg


def test_the_data_for_a_pointer():
    made, _ = drawn(Counts(passed=2, failed=1, warned=3, unknown=4), None)
    assert made.svg.count('data-bars="' + "," * 88 + '1/3/2/4,"') == 1
