from datetime import UTC, datetime

import pytest
from rich.console import Console

from canary.analysis.measure import measure
from canary.checks.idle_timeout import label
from canary.cli.waterfall import show_run, top_down, waterfall
from canary.core.finding import Finding, Severity
from canary.core.run import HopResult, Run
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, Verdict
from tests.fakes.scripted_answer import answer, done, every, finish, headers, ping, say, think

TIMER = Timeout(name="ui-idle", phase=TimerPhase.IDLE, clock=Clock.VISIBLE, limit_s=3.0, hop="browser")
HOSTILE = "\x1b[2Jcleared\x1b]0;title\x07 [red]markup[/red] \u202egnp.exe\nnext line " + "x" * 2000


def result(hop, *parts, variant="plain", verdicts=(), timeouts=()):
    observation = answer(*(parts or (headers(0.1), every(0.1, 0.2, 5, think), every(0.1, 5, 8), finish(8), done(8))))
    return HopResult(
        hop=hop,
        variant=variant,
        observation=observation,
        measurement=measure(observation),
        verdicts=tuple(verdicts),
        timeouts=timeouts,
    )


def verdict(status=Status.FAIL, check="idle_timeout", **more):
    more = {"reason": "would_fire", "message": "cut", **more}
    return Verdict(check=check, status=status, **more)


def run_of(*results, findings=()):
    return Run(
        id="r1",
        pipeline="chat",
        probe="ask",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        results=results,
        findings=findings,
    )


BUSY = (headers(0.1), ping(0.5), think(1), say(6), finish(8), done(8))
RUN = run_of(
    result("engine", variant="control"),
    result("engine", variant="thinking_token_budget=64"),
    result("an-agent-with-a-very-long-name-indeed-longer-than-any-column", *BUSY, variant="control"),
    result("ui", *BUSY, verdicts=[verdict(subject=label(TIMER))], timeouts=(TIMER,)),
)


def shown(run, *, width=100, every_verdict=False):
    console = Console(width=width, record=True, force_terminal=False, highlight=False, color_system=None, file=Void())
    show_run(console, run, every_verdict=every_verdict)
    return console.export_text()


class Void:
    """A file that forgets; the console records for itself."""

    def write(self, text):
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_every_row_fits(width):
    rows = waterfall(RUN, width=width)
    assert max(row.cell_len for row in rows) <= width
    assert sum("█" in row.plain and "visible" not in row.plain for row in rows) == 4
    legend = " ".join(row.plain for row in rows)
    assert [word for word in ("visible", "reasoning", "keepalive", "headers", "silence") if word not in legend] == []


@pytest.mark.parametrize("width", [10, 1, 0])
def test_a_terminal_too_narrow_for_anything_is_survived(width):
    assert len(waterfall(RUN, width=width)) >= 6


def test_from_the_user_down_with_a_hops_requests_in_their_order():
    assert [(each.hop[:2], each.variant) for each in top_down(RUN.results)] == [
        ("ui", "plain"),
        ("an", "control"),
        ("en", "control"),
        ("en", "thinking_token_budget=64"),
    ]


def test_all_rows_share_one_axis():
    quick, slow = (
        result("engine", headers(0.1), say(1), finish(1), done(1)),
        result("ui", headers(0.1), say(9), done(10)),
    )
    rows = waterfall(run_of(quick, slow), width=114)
    marks = {row.plain.split()[0]: row.plain.index("█") for row in rows[:2]}
    assert marks["engine"] == pytest.approx(14 + 10, abs=1)
    assert marks["ui"] == pytest.approx(14 + 90, abs=1)


def test_a_timer_that_would_cut_is_drawn_once():
    rows = [row.plain for row in waterfall(RUN, width=100) if "✂" in row.plain]
    assert len(rows) == 1
    assert "browser/ui-idle" in rows[0]


def test_nothing_happened_at_all():
    empty = result("engine", headers(0.0), done(0.0))
    assert "engine" in waterfall(run_of(empty), width=80)[0].plain


def test_hostile_text_is_shown_and_not_obeyed():
    finding = Finding(
        check="reachable",
        reason="rejected",
        origin="engine",
        severity=Severity.CRITICAL,
        message=HOSTILE,
        variant="plain",
    )
    failed = result("engine", verdicts=[verdict(check="reachable", reason="rejected", message=HOSTILE)])
    text = shown(run_of(failed, findings=(finding,)))
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "[red]markup[/red]" in text
    assert "x" * 1000 not in text.replace("\n", "")


def test_a_run_without_a_flaw_says_so():
    text = shown(run_of(result("engine", verdicts=[verdict(Status.PASS, reason="survives")])))
    assert "all 1 verdict pass" in text
    assert "survives" not in text


def test_every_verdict_is_shown_if_asked_for():
    run = run_of(result("engine", verdicts=[verdict(Status.PASS, reason="survives", message="all well")]))
    assert "PASS    engine idle_timeout survives: all well" in shown(run, every_verdict=True)


def test_checks_that_say_the_same_share_a_line():
    same = [
        verdict(Status.UNKNOWN, check=name, reason="cut", message="not judged: cut") for name in ("answer", "usage")
    ]
    assert "UNKNOWN engine answer, usage: not judged: cut" in shown(run_of(result("engine", verdicts=same)))


@pytest.mark.parametrize(
    ("more", "where"),
    [
        pytest.param({"edge": ("ui", "engine")}, "between ui and engine", id="an edge"),
        pytest.param({}, "at ui", id="a hop"),
        pytest.param({"edge": None, "at_or_below": True}, "at ui or below", id="or below"),
        pytest.param({"check": "reachable", "reason": "dns", "edge": ("app", "ui")}, "at ui", id="never reached"),
    ],
)
def test_a_finding_says_where(more, where):
    finding = Finding(
        **{"check": "complete", "reason": "cut"} | more,
        origin="ui",
        severity=Severity.WARNING,
        message="m",
        variant="plain",
    )
    assert f"WARNING {finding.check} {finding.reason}, {where}\n" in shown(run_of(result("ui"), findings=(finding,)))
