"""The timer rule: its edges, sixteen worked examples, and what real timers of 3 s were measured to do.

Of the examples these parts are left out, because one observation cannot show them: retries above a timer (1, 9), TCP
keepalive that keeps a NAT entry (10), the few milliseconds between two hops' clocks (11; the tie rule stands for them),
and a sibling stream on the same HTTP/2 connection that hides a silence (12).
"""

import math

import pytest

from canary.analysis.forecast import first_cut, forecast
from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    HttpRejected,
    Phase,
    StoppedByUs,
    Truncated,
)
from canary.core.timeout import Clock, Fires, OpenUntil, Outcome, StartsAt, Survives, Timeout, TimerPhase
from tests.fakes.scripted_answer import answer, done, every, finish, half, headers, ping, role, say, think

BYTE, EVENT, TOKEN, VISIBLE = Clock
REQUEST_SENT, HEADERS_IN, REQUEST_START, FIRST_TICK = StartsAt
NEVER = math.inf
ANYWHERE = pytest.approx(0.0, abs=math.inf)  # all gaps are equal; which one is named is up to the floats


def timer(phase, limit_s, clock=BYTE, starts=REQUEST_SENT, *, early=0.0, late=0.0, name="timer", **rest):
    return Timeout(
        name=name,
        phase=phase,
        clock=clock,
        limit_s=limit_s,
        starts=starts,
        early_slack_s=early,
        late_slack_s=late,
        **rest,
    )


def head(limit_s, *args, **rest):
    return timer(TimerPhase.HEADERS, limit_s, *args, **rest)


def idle(limit_s, *args, **rest):
    return timer(TimerPhase.IDLE, limit_s, *args, **rest)


def total(limit_s, *args, **rest):
    return timer(TimerPhase.TOTAL, limit_s, *args, **rest)


def fires(at, gap_s, *, gap_from=0.0, early=None, late=None, certain=True):
    """What a forecast is compared with; times to the microsecond, because sums of floats are not exact."""
    return Fires(
        at=near(at),
        early=near(at if early is None else early),
        late=near(at if late is None else late),
        gap_from=near(gap_from),
        gap_s=near(gap_s),
        certain=certain,
    )


def survives(gap_s, headroom_s, *, gap_from=0.0, certain=True):
    began = gap_from if gap_from is ANYWHERE else near(gap_from)
    return Survives(worst_gap_s=near(gap_s), gap_from=began, headroom_s=near(headroom_s), certain=certain)


def open_until(at, seen_gap_s, gap_from):
    return OpenUntil(at=near(at), seen_gap_s=near(seen_gap_s), gap_from=near(gap_from))


def near(value):
    return pytest.approx(value, abs=1e-6)


def gave_up(at, phase=Phase.BODY):
    return DeadlineExceeded(at=at, phase=phase)


ALB = idle(60, name="aws-alb", outcome=Outcome.TRUNCATED, header_status=504)
NGINX_HEAD = head(60, name="nginx headers", header_status=504)
NGINX_BODY = idle(60, BYTE, HEADERS_IN, early=0.3, name="nginx body", outcome=Outcome.TRUNCATED)
CLOUDFLARE = head(120, late=1, name="cloudflare", header_status=524)
LANGCHAIN = idle(120, EVENT, HEADERS_IN, name="langchain-openai")
CODEX = idle(300, EVENT, HEADERS_IN, name="codex")
OPENCLAW = idle(120, EVENT, name="openclaw")
UNDICI_HEAD = head(300, late=1, name="undici headers")
HTTPX_600 = idle(600, name="openai-python")
FASTLY_FIRST = idle(15, name="fastly first byte")
FASTLY_BETWEEN = idle(10, BYTE, FIRST_TICK, name="fastly between bytes", outcome=Outcome.CLEAN_END)
ENVOY_TOTAL, ENVOY_IDLE = total(15, name="envoy route"), idle(300, name="envoy stream idle")
NAT = idle(350, late=NEVER, name="aws-nat-gateway", outcome=Outcome.BLACK_HOLE)
APISIX = idle(30, early=0.3, name="apisix ai-proxy")

SILENT_75 = answer(headers(75), say(75), done(75.2))
PINGED_75 = answer(headers(15), *(ping(at) for at in (15, 30, 45, 60)), say(75.1), done(75.2))
PINGED_152 = answer(headers(15), every(15, 15, 150, ping), say(152), done(153))
VLLM_70 = answer(headers(0.05), say(70), done(71))
LITELLM_70 = answer(headers(70), say(70), done(71))
SLOW_BURSTS = answer(headers(13.7), every(13.7, 13.7, 54.8), done(54.8))
FAST_BURSTS = answer(headers(1.4), every(1.4, 1.4, 14), done(14))
HEALTHY_45 = answer(headers(0.05), every(0.05, 0.05, 45), done(45))
HEALTHY_340 = answer(headers(0.1), every(0.5, 0.5, 340), done(340))
LATE_320 = answer(headers(320), say(320), done(330))
NAT_400 = answer(headers(0.1), half(400), end=gave_up(700))
LOST_AT_400 = answer(end=gave_up(700, Phase.HEADERS))
TIE_BODY = answer(headers(1), say(10), end=gave_up(100))
DIFY_UI = answer(headers(0.1), every(10, 10, 120, ping), say(130), done(131))
DIFY_620 = answer(headers(0.1), every(10, 10, 620, think), say(620), done(620))
GO_SILENT = answer(headers(0), every(5, 5, 25), say(50), done(60))
TTFT_110 = answer(headers(110), say(110), done(115))
PREFILL_35 = answer(headers(0), say(35), done(36))
PREFILL_35_PINGED = answer(headers(0), every(10, 10, 30, ping), say(35), done(36))


@pytest.mark.parametrize(
    ("seen", "timeout", "expected"),
    [
        pytest.param(SILENT_75, ALB, fires(60, 75), id="1 no headers: the balancer gives up"),
        pytest.param(PINGED_75, ALB, survives(15.1, 44.9, gap_from=60), id="2 pings save the balancer's timer"),
        pytest.param(PINGED_75, LANGCHAIN, survives(60.1, 59.9, gap_from=15), id="2 armed at the headers only"),
        pytest.param(PINGED_75, idle(60, VISIBLE), fires(60, 75.1), id="2 the person waited 75 s"),
        pytest.param(PINGED_152, ALB, survives(15, 45), id="3 bytes flow"),
        pytest.param(PINGED_152, LANGCHAIN, fires(135, 137, gap_from=15), id="3 pings are no events"),
        pytest.param(PINGED_152, CODEX, survives(137, 163, gap_from=15), id="3 300 s are enough"),
        pytest.param(PINGED_152, OPENCLAW, fires(120, 152), id="3 runs before the headers too"),
        pytest.param(VLLM_70, NGINX_HEAD, survives(0.05, 59.95), id="4a headers came at once"),
        pytest.param(VLLM_70, NGINX_BODY, fires(60.05, 69.95, gap_from=0.05, early=59.75), id="4a truncated 200"),
        pytest.param(LITELLM_70, NGINX_HEAD, fires(60, 70), id="4b 504"),
        pytest.param(SLOW_BURSTS, FASTLY_FIRST, survives(13.7, 1.3, gap_from=ANYWHERE), id="5 first byte in time"),
        pytest.param(SLOW_BURSTS, FASTLY_BETWEEN, fires(23.7, 13.7, gap_from=13.7), id="5 buffering made the gap"),
        pytest.param(FAST_BURSTS, FASTLY_BETWEEN, survives(1.4, 8.6, gap_from=ANYWHERE), id="5 a fast model fills it"),
        pytest.param(HEALTHY_45, ENVOY_TOTAL, fires(15, 45), id="6 a total cuts a healthy stream"),
        pytest.param(
            HEALTHY_45, ENVOY_IDLE, survives(0.05, 299.95, gap_from=ANYWHERE), id="6 its idle timer is far away"
        ),
        pytest.param(HEALTHY_45, total(30), fires(30, 45), id="7 timeoutSec is a total"),
        pytest.param(HEALTHY_45, ALB, survives(0.05, 59.95, gap_from=ANYWHERE), id="7 idle is not"),
        pytest.param(HEALTHY_340, total(300, late=1), fires(300, 340, late=301), id="8 aiohttp total in mid-answer"),
        pytest.param(LATE_320, HTTPX_600, survives(320, 280), id="9 Python waits"),
        pytest.param(LATE_320, UNDICI_HEAD, fires(300, 320, late=301), id="9 Node does not"),
        pytest.param(NAT_400, NAT, fires(350.1, 399.9, gap_from=0.1, late=400), id="10 dead at 350, noticed at 400"),
        pytest.param(LOST_AT_400, NAT, fires(350, 700, late=NEVER), id="10 nobody notices"),
        pytest.param(LOST_AT_400, HTTPX_600, fires(600, 700), id="10 the reader gives up at 600"),
        pytest.param(TIE_BODY, NGINX_BODY, fires(70, 90, gap_from=10, early=69.7), id="11 body"),
        pytest.param(TIE_BODY, ALB, fires(70, 90, gap_from=10), id="11 body, outside"),
        pytest.param(answer(end=gave_up(90)), idle(60), fires(60, 90), id="12 alone on its connection"),
        pytest.param(DIFY_UI, ALB, survives(10, 50, gap_from=10), id="13 pings every 10 s"),
        pytest.param(DIFY_UI, idle(60, VISIBLE), fires(60, 130), id="13 nothing to read"),
        pytest.param(DIFY_UI, total(60), fires(60, 131), id="13 the web app's total"),
        pytest.param(DIFY_620, total(600), fires(600, 620), id="13 the plugin daemon's total"),
        pytest.param(GO_SILENT, total(30, late=NEVER), fires(30, 60, late=50), id="14 noticed at the next write"),
        pytest.param(TTFT_110, CLOUDFLARE, survives(110, 10), id="15 120 s survive"),
        pytest.param(TTFT_110, head(100, late=1), fires(100, 110, late=101), id="15 the historical 100 s do not"),
        pytest.param(TTFT_110, NGINX_HEAD, fires(60, 110), id="15 nginx is first anyway"),
        pytest.param(PREFILL_35, APISIX, fires(30, 35, early=29.7), id="16 prefill of 35 s"),
        pytest.param(PREFILL_35_PINGED, APISIX, survives(10, 20), id="16 engine pings"),
    ],
)
def test_worked_examples(seen, timeout, expected):
    assert expected == forecast(timeout, seen)


@pytest.mark.parametrize(
    ("path", "seen", "winner", "at"),
    [
        pytest.param(
            (ALB, NGINX_HEAD, NGINX_BODY), answer(end=gave_up(100)), "aws-alb", 60, id="11 headers: outermost"
        ),
        pytest.param((ALB, NGINX_HEAD, NGINX_BODY), TIE_BODY, "nginx body", 70, id="11 body: innermost"),
        pytest.param((ALB, idle(60, name="inner")), TIE_BODY, "inner", 70, id="two equal idle timers in the body"),
        pytest.param((total(60, name="outer"), total(60, name="inner")), TIE_BODY, "outer", 60, id="totals: outermost"),
        pytest.param((CLOUDFLARE, NGINX_HEAD), TTFT_110, "nginx headers", 60, id="15 the shortest"),
        pytest.param((NAT, HTTPX_600), LOST_AT_400, "openai-python", 600, id="10 who notices first"),
        pytest.param((NAT,), LOST_AT_400, "aws-nat-gateway", 350, id="10 nobody else would"),
        pytest.param(
            (total(30, late=NEVER, name="write deadline"), idle(20, name="idle")),
            GO_SILENT,
            "idle",
            45,
            id="14 in between",
        ),
    ],
)
def test_first_cut(path, seen, winner, at):
    timeout, cut = first_cut(path, seen)
    assert (timeout.name, cut.at) == (winner, near(at))


def test_no_cut():
    assert first_cut((), HEALTHY_45) is None
    assert first_cut((ENVOY_IDLE, ALB), HEALTHY_45) is None


D = (headers(0), say(0.1))
SILENT_BODY = answer(*D, end=gave_up(8))
PINGED_BODY = answer(*D, every(2, 2.1, 6.1, ping), done(7))


@pytest.mark.parametrize(
    ("seen", "timeout", "measured_at"),
    [
        pytest.param(answer(end=gave_up(5)), head(3), 3.00, id="no headers: nginx, HAProxy, Caddy"),
        pytest.param(answer(end=gave_up(5)), idle(3), 3.03, id="no headers: Apache, httpx, aiohttp"),
        pytest.param(answer(end=gave_up(5)), head(3, late=1), 3.51, id="no headers: undici"),
        pytest.param(SILENT_BODY, idle(3, BYTE, HEADERS_IN, early=0.3), 3.10, id="silent body: nginx"),
        pytest.param(SILENT_BODY, idle(3, BYTE, HEADERS_IN), 3.11, id="silent body: HAProxy, Apache, Caddy, aiohttp"),
        pytest.param(SILENT_BODY, idle(3, BYTE, HEADERS_IN, late=1), 3.60, id="silent body: undici"),
        pytest.param(PINGED_BODY, idle(3), None, id="a comment every 2 s"),
        pytest.param(answer(*D, half(2), end=gave_up(8)), idle(3), 5.00, id="half a chunk, then silence"),
        pytest.param(PINGED_BODY, total(4), 4.00, id="a total with comments: aiohttp, Go client"),
        pytest.param(answer(headers(0), say(2), say(4), done(4)), total(3, late=NEVER), 4.00, id="Go WriteTimeout"),
        pytest.param(PINGED_BODY, idle(3, EVENT, HEADERS_IN), 3.13, id="a chunk timer with comments: LangChain"),
        pytest.param(
            answer(headers(0), every(2, 2, 6, think), done(7)), idle(3, EVENT, HEADERS_IN), None, id="reasoning deltas"
        ),
        pytest.param(
            answer(headers(5), say(5), done(6)), idle(3, EVENT, HEADERS_IN), None, id="header wait: LangChain"
        ),
    ],
)
def test_timers_of_3_s_against_what_was_measured(seen, timeout, measured_at):
    outcome = forecast(timeout, seen)
    if measured_at is None:
        assert isinstance(outcome, Survives)
    else:
        assert outcome.early - 0.05 <= measured_at <= outcome.late + 0.05


GAP_10 = answer(headers(0), say(10), done(10))


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        pytest.param(idle(10), survives(10, 0), id="a gap of exactly the limit lives"),
        pytest.param(idle(9.999), fires(9.999, 10), id="a millisecond less does not"),
        pytest.param(idle(10, early=0.3), survives(10, 0, certain=False), id="inside the early slack"),
        pytest.param(idle(10.3, early=0.25), survives(10, 0.3), id="outside the early slack"),
        pytest.param(idle(9.5, late=1), fires(9.5, 10, late=10.5, certain=False), id="ended inside the late slack"),
        pytest.param(idle(9, late=1), fires(9, 10, late=10), id="outlived the late slack"),
        pytest.param(total(9, late=NEVER), fires(9, 10, late=10), id="seen at the next tick"),
    ],
)
def test_borders_and_slack(timeout, expected):
    assert expected == forecast(timeout, GAP_10)


def test_the_border_holds_in_floats():
    assert 64.4 - 4.4 > 60
    assert isinstance(forecast(ALB, answer(headers(4.4), say(64.4), done(64.5))), Survives)


def test_a_deferred_timer_is_seen_at_a_whole_end_when_nothing_else_comes():
    assert forecast(total(9, EVENT, late=NEVER), answer(headers(0), finish(5), end=Completed(at=12))).late == 12
    assert forecast(total(9, EVENT, late=NEVER), answer(headers(0), say(5), end=Truncated(at=12))).late == NEVER


BROKEN = (headers(1), say(2), think(5))


@pytest.mark.parametrize(
    ("seen", "timeout", "expected"),
    [
        pytest.param(answer(*BROKEN, end=Truncated(at=20)), idle(10), fires(15, 15, gap_from=5), id="past the limit"),
        pytest.param(answer(*BROKEN, end=Truncated(at=9)), idle(10), open_until(15, 4, 5), id="short of the limit"),
        pytest.param(answer(*BROKEN, end=Truncated(at=15)), idle(10), open_until(15, 10, 5), id="exactly the limit"),
        pytest.param(answer(*BROKEN, end=Completed(at=9)), idle(10), open_until(15, 4, 5), id="clean, no last word"),
        pytest.param(answer(*BROKEN, end=StoppedByUs(at=5, reason="x")), idle(10), open_until(15, 0, 5), id="stopped"),
        pytest.param(
            answer(*BROKEN, end=Disconnected(at=9, phase=Phase.BODY)), total(10), open_until(10, 9, 0), id="total"
        ),
        pytest.param(answer(*BROKEN, end=Truncated(at=9)), head(10), survives(1, 9), id="headers came: closed"),
        pytest.param(answer(end=gave_up(4, Phase.HEADERS)), head(10), open_until(10, 4, 0), id="headers did not"),
        pytest.param(
            answer(headers(1), say(9), end=Truncated(at=10)),
            idle(5),
            fires(6, 8, gap_from=1),
            id="an earlier gap was fatal",
        ),
        pytest.param(answer(*BROKEN, end=gave_up(30)), idle(30, VISIBLE), open_until(32, 28, 2), id="finer clock"),
    ],
)
def test_a_gap_that_the_end_broke_off_is_a_lower_bound(seen, timeout, expected):
    assert expected == forecast(timeout, seen)


@pytest.mark.parametrize(
    ("seen", "timeout", "expected"),
    [
        pytest.param(
            answer(end=gave_up(9)), idle(5, BYTE, HEADERS_IN), open_until(14, 0, 9), id="no headers, still open"
        ),
        pytest.param(
            answer(headers(1), end=gave_up(9)), idle(5, EVENT, FIRST_TICK), open_until(14, 0, 9), id="no event"
        ),
        pytest.param(
            answer(headers(1), end=gave_up(9)),
            idle(5, BYTE, FIRST_TICK),
            open_until(14, 0, 9),
            id="headers are no body",
        ),
        pytest.param(
            answer(headers(1, 503), end=HttpRejected(at=2, status=503)),
            idle(5, EVENT, FIRST_TICK),
            survives(0, 5, gap_from=2),
            id="ended without ever being armed",
        ),
        pytest.param(
            answer(headers(1), say(20), say(22), done(22)),
            idle(5, TOKEN, FIRST_TICK),
            survives(2, 3, gap_from=20),
            id="the wait for the first tick is not its",
        ),
        pytest.param(
            answer(headers(20), say(21), done(21)), idle(5, BYTE, HEADERS_IN), survives(1, 4, gap_from=20), id="headers"
        ),
        pytest.param(
            answer(headers(1), done(9), connect_s=0.5, tls_s=0.25),
            total(9, BYTE, REQUEST_START),
            fires(8.25, 9.75, gap_from=-0.75),
            id="connecting counts",
        ),
        pytest.param(
            answer(headers(1), done(9)), total(9, BYTE, REQUEST_START), survives(9, 0), id="connecting is not known"
        ),
        pytest.param(
            answer(end=ConnectFailed(at=75, phase=Phase.CONNECT)), idle(60), open_until(60, 0, 0), id="nothing was sent"
        ),
        pytest.param(
            answer(headers(0), done(0), end=Completed(at=0)), idle(60), survives(0, 60), id="nothing took any time"
        ),
    ],
)
def test_starts(seen, timeout, expected):
    assert expected == forecast(timeout, seen)


HELD_OPEN = answer(headers(0), role(1), say(2), done(3), end=Completed(at=90))


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        pytest.param(idle(60), fires(63, 87, gap_from=3), id="a byte reader waits for the end"),
        pytest.param(idle(60, EVENT), survives(1, 59), id="an event reader left at the terminator"),
        pytest.param(idle(60, VISIBLE), survives(2, 58), id="so did the person"),
        pytest.param(total(60), fires(60, 90), id="a total waits for the end"),
    ],
)
def test_a_connection_held_open_after_the_last_word(timeout, expected):
    assert expected == forecast(timeout, HELD_OPEN)


def test_a_terminator_closes_an_event_timer_even_where_the_connection_then_breaks():
    broken = answer(headers(0), say(1), done(2), end=Truncated(at=3))
    assert forecast(idle(5, EVENT), broken) == survives(1, 4)
    assert forecast(idle(5), broken) == open_until(7, 1, 2)
