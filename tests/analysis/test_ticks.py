from dataclasses import replace
from itertools import pairwise

import pytest

from canary.analysis.ticks import OpenEnd, answer_over, ends_whole, open_end, ticks
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    HttpRejected,
    Interrupted,
    Phase,
    Read,
    StoppedByUs,
    Truncated,
)
from canary.core.stream import (
    BytesReceived,
    EventReceived,
    FinishReason,
    HeadersReceived,
    Identity,
    KeepAlive,
    KeepAliveForm,
    ReasoningDelta,
    ReasoningPresent,
    RefusalDelta,
    Relabelled,
    Role,
    ServerError,
    TagSeen,
    Terminator,
    ToolCallDelta,
    Usage,
    UsageReport,
    Violation,
    ViolationKind,
    VisibleDelta,
)
from canary.core.timeout import Clock
from tests.fakes.scripted_answer import answer, done, finish, half, headers, ping, role, say, think

BYTE, EVENT, TOKEN, VISIBLE = Clock


@pytest.mark.parametrize(
    ("event", "clocks"),
    [
        pytest.param(HeadersReceived(at=1, status=200), {BYTE}, id="headers"),
        pytest.param(BytesReceived(at=1, size=1), {BYTE}, id="one byte"),
        pytest.param(EventReceived(at=1), {EVENT}, id="event"),
        pytest.param(
            KeepAlive(at=1, form=KeepAliveForm.COMMENT), set(), id="comment: its bytes are a read of their own"
        ),
        pytest.param(KeepAlive(at=1, form=KeepAliveForm.PING_EVENT), set(), id="ping event: its event is an event"),
        pytest.param(Role(at=1, role="assistant"), set(), id="role"),
        pytest.param(ReasoningDelta(at=1, text="x", source="reasoning"), {TOKEN}, id="reasoning"),
        pytest.param(ReasoningDelta(at=1, text=" ", source="reasoning"), {TOKEN}, id="reasoning white space"),
        pytest.param(ReasoningDelta(at=1, text="", source="reasoning"), set(), id="reasoning without text"),
        pytest.param(ReasoningPresent(at=1, source="redacted"), set(), id="reasoning that cannot be read"),
        pytest.param(VisibleDelta(at=1, text="x"), {TOKEN, VISIBLE}, id="visible"),
        pytest.param(VisibleDelta(at=1, text="\n\n"), {TOKEN}, id="visible white space"),
        pytest.param(VisibleDelta(at=1, text="\u200b\ufeff\u00ad\x00"), {TOKEN}, id="signs without a shape"),
        pytest.param(VisibleDelta(at=1, text="\u200bx"), {TOKEN, VISIBLE}, id="a letter among them"),
        pytest.param(VisibleDelta(at=1, text=""), set(), id="visible without text"),
        pytest.param(ToolCallDelta(at=1, text="{"), {TOKEN}, id="tool call"),
        pytest.param(ToolCallDelta(at=1, text=""), set(), id="tool call without text"),
        pytest.param(RefusalDelta(at=1, text="No."), {TOKEN}, id="refusal"),
        pytest.param(TagSeen(at=1, tag="</think>", stray=True), set(), id="tag"),
        pytest.param(UsageReport(at=1, usage=Usage()), set(), id="usage"),
        pytest.param(Identity(at=1, model="m"), set(), id="identity"),
        pytest.param(FinishReason(at=1, reason="stop"), set(), id="finish reason"),
        pytest.param(ServerError(at=1, message="no"), set(), id="error"),
        pytest.param(Violation(at=1, kind=ViolationKind.NOT_JSON), set(), id="violation"),
        pytest.param(Terminator(at=1), set(), id="terminator"),
    ],
)
def test_what_each_event_is_to_each_clock(event, clocks):
    assert clocks == {clock for clock in Clock if ticks(answer([event]), clock)}


def test_ticks_keep_their_order_and_repeat():
    seen = answer(headers(0.1), role(0.2), ping(5), think(6), say(6), half(7), say(8, "\n"), done(9))
    assert {clock: ticks(seen, clock) for clock in Clock} == {
        BYTE: (0.1, 0.2, 5, 6, 6, 7, 8, 9),
        EVENT: (0.2, 6, 6, 8, 9),
        TOKEN: (6, 6, 8),
        VISIBLE: (6,),
    }


def test_each_clock_ticks_at_a_subset_of_the_clock_before_it():
    seen = answer(headers(0.1), role(0.2), ping(5), think(6), say(7, " "), say(8), done(9))
    instants = [set(ticks(seen, clock)) for clock in Clock]
    assert all(finer <= coarser for coarser, finer in pairwise(instants))


def test_text_that_was_reasoning_after_all_is_a_token_and_not_visible():
    relabelled = [Relabelled(at=3, tag="</think>")]
    seen = answer(headers(0), say(1), say(2), relabelled, say(4), relabelled, say(5))
    assert ticks(seen, VISIBLE) == (5,)
    assert ticks(seen, TOKEN) == (1, 2, 4, 5)


def test_an_answer_of_nothing_has_no_ticks():
    nothing = answer(end=DeadlineExceeded(at=60, phase=Phase.HEADERS))
    assert [ticks(nothing, clock) for clock in Clock] == [()] * 4


STREAM = (headers(0.1), say(1))


def labelled(body):
    seen = answer(*STREAM, content_type="application/json")
    return replace(seen, exchange=replace(seen.exchange, reads=(Read(at=1.0, data=body),)))


NOT_JSON = [Violation(at=1, kind=ViolationKind.NOT_JSON)]
WRONG_TYPE = [Violation(at=1, kind=ViolationKind.JSON_FOR_STREAM)]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(answer(*STREAM, done(2)), None, id="terminator"),
        pytest.param(answer(*STREAM, finish(2)), None, id="finish reason and no terminator"),
        pytest.param(answer(*STREAM, end=Completed(at=2)), OpenEnd.NO_LAST_WORD, id="a clean end is no last word"),
        pytest.param(answer(end=Completed(at=2)), OpenEnd.NO_LAST_WORD, id="nothing at all"),
        pytest.param(answer(*STREAM, content_type="application/json"), None, id="JSON body"),
        pytest.param(answer(*STREAM, content_type="Application/JSON; charset=utf-8"), None, id="JSON with a charset"),
        pytest.param(answer(*STREAM, WRONG_TYPE, content_type="application/json"), None, id="JSON for a stream"),
        pytest.param(
            answer(*STREAM, NOT_JSON, content_type="application/json"), OpenEnd.NO_LAST_WORD, id="half a JSON body"
        ),
        pytest.param(
            answer(headers(0.1), end=Completed(at=2), content_type="application/json"),
            OpenEnd.NO_LAST_WORD,
            id="an empty JSON body",
        ),
        pytest.param(labelled(b"\n data: {}\n\n"), OpenEnd.NO_LAST_WORD, id="a stream called JSON"),
        pytest.param(labelled(b": ping\n\n"), OpenEnd.NO_LAST_WORD, id="comments called JSON"),
        pytest.param(labelled(b"\xef\xbb\xbf{}"), None, id="JSON with a byte order mark"),
        pytest.param(labelled(b"null"), None, id="JSON that is no object"),
        pytest.param(answer(*STREAM, content_type="application/x-ndjson"), OpenEnd.NO_LAST_WORD, id="NDJSON"),
        pytest.param(answer(*STREAM, content_type=None), OpenEnd.NO_LAST_WORD, id="no content type"),
        pytest.param(answer(headers(1, 504), end=HttpRejected(at=2, status=504)), None, id="an error is an answer"),
        pytest.param(
            answer(*STREAM, done(2), end=Truncated(at=2)), OpenEnd.TRUNCATED, id="truncated, terminator or not"
        ),
        pytest.param(answer(*STREAM, end=Disconnected(at=2, phase=Phase.BODY)), OpenEnd.DISCONNECTED, id="reset"),
        pytest.param(answer(*STREAM, end=DeadlineExceeded(at=2, phase=Phase.BODY)), OpenEnd.DEADLINE, id="deadline"),
        pytest.param(answer(*STREAM, end=StoppedByUs(at=2, reason="enough")), OpenEnd.STOPPED, id="stopped"),
        pytest.param(answer(*STREAM, end=Interrupted(at=2)), OpenEnd.INTERRUPTED, id="interrupted"),
        pytest.param(answer(end=ConnectFailed(at=0, phase=Phase.DNS)), OpenEnd.NOT_SENT, id="not sent"),
    ],
)
def test_what_leaves_the_last_gap_open(seen, reason):
    assert open_end(seen) == reason
    assert ends_whole(seen) == (reason is None)


BROKEN = {"end": Truncated(at=3)}
ERROR = [ServerError(at=2, message="no")]


@pytest.mark.parametrize(
    ("seen", "over"),
    [
        pytest.param(answer(*STREAM, finish(2)), True, id="whole"),
        pytest.param(answer(*STREAM, finish(2), done(2), **BROKEN), True, id="both last words, then broken"),
        pytest.param(
            answer(*STREAM, finish(2), done(2), end=DeadlineExceeded(at=9, phase=Phase.BODY)), True, id="then held open"
        ),
        pytest.param(answer(*STREAM, finish(2), **BROKEN), False, id="no terminator"),
        pytest.param(answer(*STREAM, done(2), **BROKEN), False, id="no finish reason"),
        pytest.param(answer(*STREAM, finish(2), ERROR, done(2), **BROKEN), False, id="an error among them"),
        pytest.param(
            answer(*STREAM, finish(1), content_type="application/json", **BROKEN), True, id="a document that parsed"
        ),
        pytest.param(answer(*STREAM, content_type="application/json", **BROKEN), False, id="and names no reason"),
    ],
)
def test_an_answer_may_be_over_before_its_connection(seen, over):
    assert answer_over(seen) == over
