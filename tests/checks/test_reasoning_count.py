import pytest

from canary.checks.reasoning_count import ReasoningMeter, ends_reasoning
from canary.core.stream import ReasoningDelta, Relabelled, ToolCallDelta, VisibleDelta
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


def thought(text):
    return ReasoningDelta(at=1.0, text=text, source="reasoning")


def seen(text):
    return VisibleDelta(at=2.0, text=text)


COPIED = [thought("So, "), seen("So, "), thought("first"), seen("first"), thought(" this."), seen(" this.")]


@pytest.mark.parametrize(
    ("events", "blocks", "ended", "answer"),
    [
        pytest.param([thought("hm")], 1, False, 0, id="only reasoning"),
        pytest.param([thought("hm"), seen("Yes.")], 1, True, 4, id="then an answer"),
        pytest.param([thought("hm"), seen("\n")], 1, False, 0, id="white space is none"),
        pytest.param([thought("hm"), ToolCallDelta(at=2.0, text="f")], 1, True, 0, id="a tool call ends it too"),
        pytest.param([seen("Yes.")], 0, False, 4, id="no reasoning that could end"),
        pytest.param([seen("hm"), Relabelled(at=2.0, tag="</think>")], 1, True, 0, id="only a closing mark"),
        pytest.param(COPIED, 1, False, 0, id="reasoning that is repeated as visible text"),
        pytest.param([*COPIED, seen("\n\n"), seen("Yes.")], 1, True, 4, id="and then an answer"),
        pytest.param([*COPIED, seen("Yes."), thought("hm")], 2, True, 4, id="and then more reasoning"),
        pytest.param([thought("So, "), seen("So")], 1, False, 0, id="a copy that lags behind"),
        pytest.param([thought("So, "), seen("So it is.")], 1, True, 9, id="an answer with the same first word"),
        pytest.param([thought("a b c"), seen("c")], 1, True, 1, id="an answer that repeats a later word"),
    ],
)
def test_reasoning_ends_with_something_else(events, blocks, ended, answer):
    meter = ReasoningMeter()
    for event in events:
        meter.feed(event)
    assert (meter.blocks, meter.ended, meter.answer_chars) == (blocks, ended, answer)
    assert ends_reasoning(events) is ended


@pytest.mark.parametrize(
    ("events", "apart"),
    [
        pytest.param([think(50, counted=False), usage(50, 150)], True, id="a hundred other tokens"),
        pytest.param([think(50, counted=False), usage(50, 66)], False, id="hardly any"),
        pytest.param([think(50, counted=False), usage(50)], False, id="no total"),
        pytest.param([think(50, counted=False)], False, id="no report"),
        pytest.param([think(50, counted=False), usage(None, 150)], False, id="no reasoning reported"),
        pytest.param([think(300, counted=False), usage(50, 350)], False, id="a report that the text refutes"),
        pytest.param([think(50, counted=False), usage(50, 150, text_tokens=100)], False, id="made up by a gateway"),
        pytest.param([think(50), usage(50, 150), think(1)], False, id="and more reasoning since"),
    ],
)
def test_usage_that_counts_other_tokens_than_reasoning(events, apart):
    meter = ReasoningMeter()
    for event in events:
        meter.feed(event)
    assert meter.counted_apart is apart
