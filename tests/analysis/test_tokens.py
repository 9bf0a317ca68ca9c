import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.analysis.tokens import (
    TokenCounts,
    channels,
    chars_per_token,
    contradicted,
    count_tokens,
    last_usage,
    made_up_by_gateway,
)
from canary.core.measurement import CountSource, TokenCount
from canary.core.stream import (
    EventReceived,
    KeepAlive,
    KeepAliveForm,
    ReasoningDelta,
    ServerError,
    Usage,
    UsageReport,
    VisibleDelta,
)
from tests.fakes.scripted_answer import answer, done, every, finish, headers, role, say, think

USAGE, COUNTED, ESTIMATED = CountSource
LEAST = 50  # tokens from which a ratio can be learned


def usage(at=9, **counts):
    return [EventReceived(at=at), UsageReport(at=at, usage=Usage(**counts))]


def thought(at, text, tokens):
    return [EventReceived(at=at), ReasoningDelta(at=at, text=text, source="reasoning", tokens=tokens)]


def said(at, text, tokens):
    return [EventReceived(at=at), VisibleDelta(at=at, text=text, tokens=tokens)]


def empty(at):
    return [EventReceived(at=at)]


def counts(*parts, **how):
    found = count_tokens(answer(headers(0), *parts), **how)
    return tuple(None if count is None else (count.value, count.source) for count in (found.reasoning, found.visible))


THINK_8 = every(0.1, 1, 1.7, lambda at: think(at, "abcd"))
SAY_2 = every(0.1, 2, 2.1, lambda at: say(at, "abcd"))


@pytest.mark.parametrize(
    ("parts", "how", "reasoning", "visible"),
    [
        pytest.param([], {}, None, None, id="nothing known"),
        pytest.param([say(1)], {}, None, None, id="text alone tells no tokens"),
        # 1: the server's own report
        pytest.param(
            [say(1), usage(completion_tokens=10, reasoning_tokens=4)], {}, (4, USAGE), (6, USAGE), id="reported"
        ),
        pytest.param(
            [say(1), usage(completion_tokens=10, reasoning_tokens=0)], {}, (0, USAGE), (10, USAGE), id="reported 0"
        ),
        pytest.param([say(1), usage(reasoning_tokens=4)], {}, (4, USAGE), None, id="reported without a total"),
        pytest.param(
            [say(1), usage(completion_tokens=3, reasoning_tokens=4)],
            {},
            (4, USAGE),
            (0, USAGE),
            id="more than the total",
        ),
        pytest.param(
            [usage(1, completion_tokens=3, reasoning_tokens=3), say(2), usage(completion_tokens=9, reasoning_tokens=4)],
            {},
            (4, USAGE),
            (5, USAGE),
            id="running reports: the last one, never the sum",
        ),
        pytest.param(
            [thought(1, "a", 7), said(2, "b", 8), usage(completion_tokens=10, reasoning_tokens=4)],
            {},
            (4, USAGE),
            (6, USAGE),
            id="reported before counted",
        ),
        # 1, contradicted or made up
        pytest.param(
            [THINK_8, SAY_2, usage(completion_tokens=10, reasoning_tokens=0)],
            {},
            (8, ESTIMATED),
            (2, ESTIMATED),
            id="a 0 beside reasoning is split",
        ),
        pytest.param(
            [thought(1, "x" * 20, 7), said(2, "b", 8), usage(completion_tokens=10, reasoning_tokens=0)],
            {},
            (7, COUNTED),
            (8, COUNTED),
            id="a 0 beside counted reasoning",
        ),
        pytest.param(
            [THINK_8, SAY_2, usage(completion_tokens=10, reasoning_tokens=9, text_tokens=1)],
            {},
            (8, ESTIMATED),
            (2, ESTIMATED),
            id="a gateway's split is not taken",
        ),
        pytest.param(
            [say(1), usage(completion_tokens=10, reasoning_tokens=9, text_tokens=1)],
            {},
            (9, ESTIMATED),
            (1, ESTIMATED),
            id="a gateway's count where nothing else is known",
        ),
        pytest.param(
            [say(1), usage(completion_tokens=10, text_tokens=10)], {}, None, None, id="a gateway that says no more"
        ),
        pytest.param(
            [say(1, "abcdefgh"), usage(completion_tokens=10, text_tokens=10)],
            {"chars_per_token": 4.0},
            None,
            (2, ESTIMATED),
            id="a gateway's total is not split",
        ),
        # 2: counted on the wire
        pytest.param(
            [thought(1, "a", 3), thought(2, "b", 2), said(3, "c", 1)], {}, (5, COUNTED), (1, COUNTED), id="counted"
        ),
        pytest.param([said(3, "c", 1), said(4, "d", 0)], {}, None, (1, COUNTED), id="only visible counted"),
        pytest.param([thought(1, "a", 3), say(2)], {}, (3, COUNTED), None, id="only reasoning counted"),
        pytest.param(
            [thought(1, "a", 3), think(2), said(3, "c", 1)], {}, None, (1, COUNTED), id="one delta without a count"
        ),
        # 3: the total, split
        pytest.param([THINK_8, SAY_2, usage(completion_tokens=10)], {}, (8, ESTIMATED), (2, ESTIMATED), id="by steps"),
        pytest.param(
            [
                every(0.1, 1, 1.7, lambda at: think(at, "a")),
                every(0.1, 2, 2.1, lambda at: say(at, "a" * 100)),
                usage(completion_tokens=10),
            ],
            {},
            (8, ESTIMATED),
            (2, ESTIMATED),
            id="by steps, whatever their length",
        ),
        pytest.param(
            [think(1, "a" * 60), say(2, "a" * 40), usage(completion_tokens=50)],
            {},
            (30, ESTIMATED),
            (20, ESTIMATED),
            id="by characters where events hold several tokens",
        ),
        pytest.param(
            [think(1, "a" * 60), say(2, "a" * 20), usage(completion_tokens=2)],
            {},
            (1, ESTIMATED),
            (1, ESTIMATED),
            id="2 of 2",
        ),
        pytest.param(
            [
                every(0.1, 1, 1.3, lambda at: think(at, "ab")),
                every(0.1, 2, 2.3, lambda at: say(at, "abcdef")),
                usage(completion_tokens=10),
            ],
            {},
            (5, ESTIMATED),
            (5, ESTIMATED),
            id="8 steps for 10 tokens are enough",
        ),
        pytest.param(
            [
                every(0.1, 1, 1.3, lambda at: think(at, "ab")),
                every(0.1, 2, 2.3, lambda at: say(at, "abcdef")),
                usage(completion_tokens=11),
            ],
            {},
            (3, ESTIMATED),
            (8, ESTIMATED),
            id="8 steps for 11 tokens are not",
        ),
        pytest.param([think(1), usage(completion_tokens=50)], {}, (50, ESTIMATED), (0, ESTIMATED), id="all reasoning"),
        pytest.param([think(1), usage(completion_tokens=0)], {}, (0, ESTIMATED), (0, ESTIMATED), id="a total of 0"),
        pytest.param([say(1), usage(completion_tokens=50)], {}, None, None, id="hidden reasoning cannot be ruled out"),
        pytest.param([think(1), usage(prompt_tokens=5)], {}, None, None, id="no total"),
        # 4: by a learned ratio
        pytest.param(
            [think(1, "a" * 40), say(2, "a" * 9)],
            {"chars_per_token": 4.0},
            (10, ESTIMATED),
            (2, ESTIMATED),
            id="by ratio",
        ),
        pytest.param(
            [say(2, "a" * 9)], {"chars_per_token": 4.0}, None, (2, ESTIMATED), id="by ratio, no reasoning shown"
        ),
        pytest.param([think(1, "a" * 40)], {"chars_per_token": 0.0}, None, None, id="a ratio of 0 is none"),
    ],
)
def test_sources(parts, how, reasoning, visible):
    assert counts(*parts, **how) == (reasoning, visible)


@pytest.mark.parametrize(
    ("parts", "reasoning_steps", "visible_steps"),
    [
        pytest.param([think(1), think(2), say(3)], 2, 1, id="an event each"),
        pytest.param([role(0.5), think(1), say(3)], 1, 1, id="a role is none"),
        pytest.param([think(1), empty(2), say(3)], 2, 1, id="an empty event belongs to who spoke last"),
        pytest.param([empty(0.5), think(1), say(3)], 1, 1, id="an empty event before anybody spoke"),
        pytest.param([think(1), usage(2), say(3)], 1, 1, id="a usage report is none"),
        pytest.param(
            [think(1), [*empty(2), ServerError(at=2, message="x")], done(3)], 1, 0, id="an error, a terminator"
        ),
        pytest.param(
            [think(1), [*empty(2), KeepAlive(at=2, form=KeepAliveForm.PING_EVENT)], say(3)],
            1,
            1,
            id="a ping event is none",
        ),
        pytest.param(
            [think(1), [*empty(2), VisibleDelta(at=2, text="a"), VisibleDelta(at=2, text="b")]], 1, 1, id="two deltas"
        ),
        pytest.param(
            [think(1), [*empty(2), ReasoningDelta(at=2, text="a", source="r"), VisibleDelta(at=2, text="b")]],
            2,
            0,
            id="both",
        ),
        pytest.param([think(1), finish(2), done(3)], 2, 0, id="a finish reason may hold the last token"),
    ],
)
def test_steps(parts, reasoning_steps, visible_steps):
    found = channels(answer(headers(0), *parts, done(9)))
    assert (found.reasoning_steps, found.visible_steps) == (reasoning_steps, visible_steps)


def test_no_report_is_none():
    assert last_usage(answer(headers(0), say(1))) is None


@pytest.mark.parametrize(
    ("reasoning_tokens", "chars", "expected"), [(0, 16, False), (0, 17, True), (1, 17, False), (None, 17, False)]
)
def test_contradicted(reasoning_tokens, chars, expected):
    assert contradicted(Usage(reasoning_tokens=reasoning_tokens), chars) is expected


@pytest.mark.parametrize(("text_tokens", "expected"), [(None, False), (0, True), (5, True)])
def test_made_up_by_gateway(text_tokens, expected):
    assert made_up_by_gateway(Usage(text_tokens=text_tokens)) is expected


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 40)), min_size=1, max_size=30),
    st.integers(0, 400),
)
def test_a_split_gives_away_no_token_and_makes_none(deltas, total):
    parts = [(think if reasons else say)(float(at), "x" * size) for at, (reasons, size) in enumerate(deltas)]
    found = count_tokens(answer(headers(0), *parts, usage(99, completion_tokens=total)))
    if any(reasons for reasons, _ in deltas):
        assert found.reasoning.value + found.visible.value == total
        assert min(found.reasoning.value, found.visible.value) >= 0
        assert found.reasoning.source is ESTIMATED
    else:
        assert (found.reasoning, found.visible) == (None, None)


@pytest.mark.parametrize(
    ("tokens", "source", "chars", "ratio"),
    [
        pytest.param(100, USAGE, 450, 4.5, id="reported"),
        pytest.param(100, COUNTED, 450, 4.5, id="counted"),
        pytest.param(100, ESTIMATED, 450, None, id="an estimate teaches nothing"),
        pytest.param(LEAST, USAGE, 4 * LEAST, 4.0, id="just enough tokens"),
        pytest.param(LEAST - 1, USAGE, 4 * LEAST, None, id="too few tokens"),
        pytest.param(100, USAGE, 0, None, id="hidden reasoning"),
    ],
)
def test_what_an_answer_teaches(tokens, source, chars, ratio):
    assert chars_per_token(TokenCounts(reasoning=TokenCount(value=tokens, source=source)), chars) == ratio


def test_an_unknown_count_teaches_nothing():
    assert chars_per_token(TokenCounts(), 450) is None
