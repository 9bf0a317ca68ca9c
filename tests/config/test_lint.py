from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from canary.config.lint import LintKind, lint
from canary.config.load import load_plan
from canary.config.presets import timeouts_of
from canary.core.schedule import Cron, Every, Schedule
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Plan, Probe, QuestionTemplate
from canary.core.timeout import Clock, StartsAt, Timeout, TimerPhase

EXAMPLES = Path(__file__).parent.parent.parent / "config"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROBE = Probe(name="ask", summary="", questions=(QuestionTemplate(text="?" * 100),), max_tokens=1000)


def idle(limit_s: float, clock: Clock = Clock.BYTE, starts: StartsAt = StartsAt.REQUEST_SENT) -> Timeout:
    return Timeout(name="idle", phase=TimerPhase.IDLE, clock=clock, limit_s=limit_s, starts=starts)


def one_shot(phase: TimerPhase, limit_s: float) -> Timeout:
    return Timeout(name=str(phase), phase=phase, clock=Clock.BYTE, limit_s=limit_s)


def hop(name: str, *timeouts: Timeout, keepalive_s: float | None = None, preset: str | None = None) -> Hop:
    owned = tuple(replace(timeout, hop=name) for timeout in timeouts)
    return Hop(
        name=name,
        url=f"http://{name}/v1",
        model="m",
        keepalive_s=keepalive_s,
        timeouts=owned + (timeouts_of(preset, hop=name) if preset else ()),
    )


def found(*hops: Hop, assignments: tuple[Assignment, ...] = (), **others: int) -> list[tuple[str, str, str]]:
    pipeline = Pipeline(name="chat", hops=hops, assignments=assignments, **others)
    return [(each.kind, each.where, each.message) for each in lint(Plan(pipelines=(pipeline,)), now=NOW)]


HEADERS, TOTAL = TimerPhase.HEADERS, TimerPhase.TOTAL


@pytest.mark.parametrize(
    ("hops", "pointless"),
    [
        pytest.param([hop("ui", idle(30)), hop("edge", idle(60))], ["edge"], id="shorter outside"),
        pytest.param([hop("ui", idle(60)), hop("edge", idle(30))], [], id="shorter inside"),
        pytest.param([hop("ui", idle(60)), hop("edge", idle(60))], [], id="a tie"),
        pytest.param([hop("ui", idle(30, Clock.VISIBLE)), hop("edge", idle(60))], [], id="other clocks"),
        pytest.param(
            [hop("ui", idle(30, Clock.VISIBLE)), hop("edge", idle(60, Clock.VISIBLE), keepalive_s=5)],
            ["edge"],
            id="comments feed no visible clock",
        ),
        pytest.param([hop("ui", idle(30)), hop("edge", idle(60), keepalive_s=5)], [], id="fed between them"),
        pytest.param(
            [hop("ui", idle(30)), hop("edge", idle(60), keepalive_s=40)], ["edge"], id="fed too slowly between them"
        ),
        pytest.param(
            [hop("ui", idle(30)), hop("edge", idle(60)), hop("vllm", keepalive_s=5)],
            ["edge"],
            id="what feeds both changes nothing",
        ),
        pytest.param(
            [hop("ui", idle(30)), hop("edge"), hop("agent", idle(60)), hop("gateway", idle(90))],
            ["agent", "gateway"],
            id="hops between them",
        ),
        pytest.param([hop("ui", idle(30), idle(60))], [], id="two timers of one hop"),
        pytest.param(
            [hop("ui", idle(30, starts=StartsAt.HEADERS)), hop("edge", idle(60))], [], id="the outer one starts later"
        ),
        pytest.param(
            [hop("ui", idle(30, starts=StartsAt.HEADERS), one_shot(HEADERS, 40)), hop("edge", idle(60))],
            ["edge"],
            id="the time before is limited too",
        ),
        pytest.param(
            [hop("ui", idle(30, starts=StartsAt.HEADERS), one_shot(HEADERS, 80)), hop("edge", idle(60))],
            [],
            id="the time before is limited later",
        ),
        pytest.param(
            [hop("ui", idle(30, starts=StartsAt.FIRST_TICK), one_shot(HEADERS, 40)), hop("edge", idle(60))],
            [],
            id="headers do not limit the wait for the first tick",
        ),
        pytest.param([hop("ui", one_shot(HEADERS, 30)), hop("edge", one_shot(HEADERS, 60))], ["edge"], id="headers"),
        pytest.param(
            [hop("ui", one_shot(HEADERS, 30)), hop("edge", one_shot(HEADERS, 60), keepalive_s=5)],
            [],
            id="a keepalive brings headers early",
        ),
        pytest.param([hop("ui", one_shot(TOTAL, 30)), hop("edge", one_shot(TOTAL, 60))], ["edge"], id="total"),
        pytest.param(
            [hop("ui", one_shot(TOTAL, 30)), hop("edge", one_shot(TOTAL, 60), keepalive_s=5)],
            ["edge"],
            id="nothing feeds a total",
        ),
        pytest.param([hop("ui", one_shot(TOTAL, 30)), hop("edge", idle(60))], [], id="other phases"),
        pytest.param([hop("edge", preset="nginx"), hop("agent", idle(120))], ["agent"], id="nginx above httpx"),
    ],
)
def test_an_outer_timer_that_is_shorter(hops: list[Hop], pointless: list[str]):
    lints = [(kind, where) for kind, where, _ in found(*hops) if kind == LintKind.OUTER_SHORTER]
    assert [(LintKind.OUTER_SHORTER, name) for name in pointless] == lints


def test_the_tightest_rival_is_named_with_its_numbers():
    assert found(hop("ui", idle(50)), hop("edge", idle(60)), hop("agent", idle(120))) == [
        (LintKind.OUTER_SHORTER, "edge", "idle (60.0 s) can never act: idle (50.0 s) of ui above it cuts first"),
        (LintKind.OUTER_SHORTER, "agent", "idle (2 min) can never act: idle (50.0 s) of ui above it cuts first"),
    ]


@pytest.mark.parametrize(
    ("hops", "kinds"),
    [
        pytest.param([hop("edge", preset="nginx"), hop("vllm", keepalive_s=15)], [], id="counted"),
        pytest.param([hop("edge", preset="nginx"), hop("vllm", keepalive_s=60)], ["keepalive_too_slow"], id="as long"),
        pytest.param(
            [hop("ui", idle(60)), hop("vllm", keepalive_s=60)], ["keepalive_too_slow"], id="as long, no slack"
        ),
        pytest.param(
            [hop("edge", preset="nginx"), hop("vllm", keepalive_s=59.8)], ["keepalive_too_slow"], id="within the slack"
        ),
        pytest.param(
            [hop("ui", idle(60, Clock.EVENT)), hop("vllm", keepalive_s=15)], ["keepalive_uncounted"], id="deaf clock"
        ),
        pytest.param(
            [hop("ui", one_shot(TOTAL, 900)), hop("vllm", keepalive_s=15)], ["keepalive_uncounted"], id="only a total"
        ),
        pytest.param([hop("ui"), hop("vllm", keepalive_s=15)], [], id="no timers, nothing to protect"),
        pytest.param([hop("vllm", keepalive_s=15), hop("engine", idle(60))], [], id="timers below do not matter"),
        pytest.param(
            [hop("alb", preset="aws-alb"), hop("edge", preset="nginx"), hop("vllm", keepalive_s=15)],
            [],
            id="proxies pass comments on",
        ),
        pytest.param(
            [hop("alb", preset="aws-alb"), hop("litellm", preset="litellm-proxy"), hop("vllm", keepalive_s=15)],
            ["keepalive_too_short_a_way"],
            id="a gateway drops them",
        ),
        pytest.param(
            [hop("alb", preset="aws-alb"), hop("agent"), hop("vllm", keepalive_s=15)],
            ["keepalive_too_short_a_way"],
            id="a hop that says nothing is taken to drop them",
        ),
        pytest.param(
            [
                hop("alb", preset="aws-alb"),
                hop("litellm", preset="litellm-proxy", keepalive_s=15),
                hop("vllm", keepalive_s=15),
            ],
            [],
            id="one injector for each leg",
        ),
        pytest.param(
            [hop("ui", idle(60, Clock.VISIBLE)), hop("litellm", preset="litellm-proxy"), hop("vllm", keepalive_s=15)],
            [],
            id="beyond the gateway only a deaf clock",
        ),
    ],
)
def test_keepalive(hops: list[Hop], kinds: list[str]):
    assert kinds == [kind for kind, _, _ in found(*hops) if kind.startswith("keepalive")]


@pytest.mark.parametrize(
    ("hops", "message"),
    [
        pytest.param(
            [hop("edge", preset="nginx"), hop("vllm", keepalive_s=75)],
            "a comment every 75.0 s is too slow for nginx proxy_read_timeout (body) (60.0 s) of edge",
            id="too slow",
        ),
        pytest.param(
            [hop("ui", idle(60, Clock.EVENT)), hop("vllm", keepalive_s=15)],
            "no timer above counts the comments that it sends every 15.0 s: idle (60.0 s) of ui counts events only",
            id="uncounted",
        ),
        pytest.param(
            [hop("ui", idle(60, Clock.VISIBLE)), hop("agent"), hop("vllm", keepalive_s=15)],
            "no timer above counts the comments that it sends every 15.0 s; "
            "agent does not pass comments on, as far as its presets tell",
            id="uncounted, dropped",
        ),
        pytest.param(
            [hop("alb", preset="aws-alb"), hop("agent"), hop("vllm", keepalive_s=15)],
            "its comments end at agent, unless that passes them on: aws-alb idle_timeout.timeout_seconds (60.0 s) "
            "of alb needs a keepalive of agent itself",
            id="two legs",
        ),
    ],
)
def test_the_sentence_of_a_keepalive(hops: list[Hop], message: str):
    assert [message] == [message for kind, _, message in found(*hops) if kind.startswith("keepalive")]


def test_a_total_under_the_longest_deadline():
    assignments = (Assignment(probe=PROBE, deadline_s=60), Assignment(probe=PROBE, deadline_s=120))
    total = "total (90.0 s) ends every answer before the deadline of ask, 2 min"
    lints = found(hop("ui", one_shot(TOTAL, 90)), hop("edge", one_shot(TOTAL, 80)), assignments=assignments)
    assert [(LintKind.TOTAL_UNDER_DEADLINE, "ui", total)] == lints[:1]
    assert [where for _, where, _ in lints] == ["ui", "edge"]
    assert found(hop("ui", one_shot(TOTAL, 120)), assignments=assignments) == []


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        pytest.param(
            Every(seconds=480.0),
            "every 8 min: a run takes 10 min when no hop answers within its deadline (5 min each), "
            "and the next one then drops out",
            id="shorter",
        ),
        pytest.param(Every(seconds=600.0), None, id="as long"),
        pytest.param(None, None, id="on demand"),
        pytest.param(
            Cron(expression="0,9,30 8 * * mon-fri", timezone="Asia/Seoul"),
            "at 0,9,30 8 * * mon-fri in Asia/Seoul, which is 9 min apart at times: a run takes 10 min when no hop "
            "answers within its deadline (5 min each), and the next one then drops out",
            id="a cron with one short gap",
        ),
        pytest.param(Cron(expression="*/10 * * * *"), None, id="a cron without"),
        pytest.param(Cron(expression="0 3 1 1 *"), None, id="a rare cron"),
    ],
)
def test_runs_that_overlap(schedule: Schedule | None, message: str | None):
    """Two hops are asked one after the other; the browser is not asked."""
    assignments = (Assignment(probe=PROBE, schedule=schedule),)
    hops = (Hop(name="browser"), hop("a"), hop("b"))
    assert ([message] if message else []) == [text for _, _, text in found(*hops, assignments=assignments)]


def test_all_hops_at_once_take_one_deadline():
    assignments = (Assignment(probe=PROBE, schedule=Every(seconds=300.0)),)
    assert found(hop("a"), hop("b"), assignments=assignments, parallel=True) == []


def test_more_tokens_than_allowed():
    budget = BudgetTest(parameter="thinking_budget", tokens=64)
    twice = Every(seconds=43_200)
    assignments = (Assignment(probe=PROBE, schedule=twice), Assignment(probe=PROBE, schedule=twice, budgets=(budget,)))
    limits = {"tokens_per_run": 8_579, "tokens_per_day": 19_760}
    assert found(hop("a"), assignments=assignments, **limits) == [
        (LintKind.OVER_TOKEN_LIMIT, "chat", "up to 8580 tokens a run may be needed, and tokens_per_run is 8579")
    ]


@pytest.mark.parametrize(
    ("schedule", "kinds"),
    [
        pytest.param(Every(seconds=3600.0), [LintKind.NEVER_RUN, LintKind.OVER_TOKEN_LIMIT], id="on schedule"),
        pytest.param(None, [LintKind.OVER_TOKEN_LIMIT], id="on demand it runs all the same"),
    ],
)
def test_a_probe_that_costs_more_than_a_run_may(schedule: Schedule | None, kinds: list[str]):
    lints = found(hop("a"), assignments=(Assignment(probe=PROBE, schedule=schedule),), tokens_per_run=1299)
    assert kinds == [kind for kind, _, _ in lints]
    never = "it never runs on schedule: a run may take 1300 tokens as a rule, and tokens_per_run is 1299"
    assert schedule is None or lints[0][1:] == ("ask", never)
    assert found(hop("a"), assignments=(Assignment(probe=PROBE, schedule=schedule),), tokens_per_run=1300) == []


@pytest.mark.parametrize(
    ("name", "lints"),
    [
        pytest.param("canary.minimal.yaml", [], id="minimal"),
        pytest.param(
            "canary.example.yaml",
            [
                (
                    "chat-prod, litellm: litellm-proxy timeout / request_timeout (completion) (10 min) can never act: "
                    "httpx Timeout.read (4 min) of agent above it cuts first"
                )
            ],
            id="example",
        ),
    ],
)
def test_the_examples_load_and_lint(name: str, lints: list[str], example_env: dict[str, str]):
    plan = load_plan([EXAMPLES / name], env=example_env)
    assert lints == [str(each) for each in lint(plan, now=NOW)]
