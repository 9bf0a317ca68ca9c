import pytest

from canary.checks.reasoning_count import ReasoningMeter
from canary.core.stream import (
    Relabelled,
    VisibleDelta,
)
from canary.core.verdict import Status
from tests.fakes.arms import say, think, usage

PASS, WARN, FAIL, UNKNOWN = Status.PASS, Status.WARN, Status.FAIL, Status.UNKNOWN


@pytest.mark.parametrize(
    ("events", "ratio", "low", "high"),
    [
        pytest.param([think(100, counted=False)], None, 40, 800, id="characters alone"),
        pytest.param([think(100, counted=False)], 4.0, 75, 125, id="a ratio"),
        pytest.param([think(100, counted=False), say(), usage(None, 60)], None, 40, 60, id="never more than the total"),
        pytest.param([think(100, counted=False), say(), usage(None, 90)], 4.0, 75, 90, id="nor an estimate"),
        pytest.param([think(100, counted=False), say(), usage(None, 20)], None, 20, 20, id="whatever the text"),
        pytest.param([think(10, counted=False), usage(None, 10)], None, 10, 10, id="the total is all reasoning"),
        pytest.param(
            [think(10, counted=False), usage(None, 10), think(10, counted=False)], 4.0, 15, 25, id="an old total"
        ),
        pytest.param(
            [think(10, counted=False), usage(10), think(4, counted=False)], 4.0, 13, 15, id="a report, and text since"
        ),
        pytest.param([think(10), think(5)], None, 15, 15, id="told with each delta"),
        pytest.param([think(10), think(5, counted=False)], 4.0, 11.25, 18.75, id="not told with each"),
        pytest.param([usage(0)], None, 0, 0, id="a reported 0"),
    ],
)
def test_counts_are_ranges(events, ratio, low, high):
    meter = ReasoningMeter(ratio)
    for event in events:
        meter.feed(event)
    assert (meter.total().low, meter.total().high) == (low, high)


def test_relabelled_text_is_counted_live():
    meter = ReasoningMeter()
    meter.feed(VisibleDelta(at=1.0, text="abc " * 300, tokens=300))
    assert meter.total() is None
    meter.feed(Relabelled(at=2.0, tag="</think>"))
    assert meter.total().low == 300
    assert meter.closed


def test_blocks_without_counts_are_shared_out_with_a_margin():
    meter = ReasoningMeter(4.0)
    for event in (think(100, counted=False), say(), think(300, counted=False), say()):
        meter.feed(event)
    assert (meter.total().best, meter.longest_block().best) == (400, 300)
    assert meter.longest_block().low < meter.total().low * 0.75
    assert meter.longest_block().high <= meter.total().high
