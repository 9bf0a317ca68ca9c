"""What is known of a finding, in every language: a new check, reason, title or feeling without its words fails here."""

import ast
import re
from dataclasses import fields, replace
from pathlib import Path
from string import Formatter

import pytest

import canary.checks
from canary.alerting import feeling, published
from canary.alerting.incidents import BLIND
from canary.alerting.published import Phase, PublicIncident, Turn, Update
from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.checks.budget_arms import Outcome
from canary.core.finding import HopVerdict, Severity
from canary.core.status import Level
from canary.core.stream import ViolationKind
from canary.core.verdict import Status, Verdict
from canary.web import checks_ko
from canary.web.sayings import PHRASES, WORDINGS, check_name, felt, headline, named, reason_name, title_of, told
from canary.web.words import MESSAGES, Words
from tests.fakes.snapshots import NOW, finding

EN, KO = Words(language="en"), Words(language="ko")
HANGUL = re.compile("[가-힣]")
FOLDER = Path(canary.checks.__file__).parent
# Words in the sources of checks that are no reasons: of requests, usage, measurements, grammar, subjects and units.
NO_REASONS = frozenset(
    {
        "abort", "answer", "badrequesterror", "character", "characters", "content", "detail", "digits", "enough",
        "error", "event", "f", "flaws", "fraction", "group", "high", "html", "include_usage",
        "insufficient_system_resource", "invalid_request_error", "length", "low", "lump", "lumps",
        "max_completion_tokens", "max_output_tokens", "max_tokens", "medium", "messages", "minimal", "model",
        "other", "reasoning", "reasoning_content", "reasoning_details", "reasoning_tokens", "request", "requests",
        "s", "share", "sign", "status", "stream", "stream_options", "temperature", "text", "thinking",
        "thinking_blocks", "time_to_first_reasoning_token_s", "time_to_first_token_s",
        "time_to_first_visible_content_s", "token", "tokens", "too_short", "total", "unprocessableentityerror",
        "unusable", "validationexception", "wait", "waits", "weak",
    }
)  # fmt: skip
# Where a check's reasons are written, if not in the module of its name; what every check may say is in `evidence`.
SOURCES = {**{name: (f"{name}.py",) for name in CHECKS}, BUDGET: ("budget_arms.py", "budget_order.py", "budget.py")}


def words_of(*names):
    trees = [ast.parse((FOLDER / name).read_text("utf-8")) for name in names]
    constants = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {each for each in constants if isinstance(each, str) and re.fullmatch(r"[a-z]+(_[a-z]+)*", each)}


def reasons():
    """(check, reason): whatever looks like a reason in the source of a check, so that none can be forgotten."""
    everywhere = words_of("evidence.py") - NO_REASONS
    for check, names in SOURCES.items():
        # Some words are a reason of one check and something else at another.
        made = {
            "protocol": {kind.value for kind in ViolationKind},
            "budget": {outcome.value for outcome in Outcome},
            "visible_content": {"visible"},
        }.get(check, set())
        no_reasons = NO_REASONS | {*CHECKS, BUDGET} | ({"visible"} if check != "visible_content" else set())
        for reason in sorted(everywhere | made | (words_of(*names) - no_reasons)):
            yield check, reason


REASONS = [pytest.param(*each, id=": ".join(each)) for each in reasons()]


def test_the_reasons_are_found():
    found = {tuple(each.values) for each in REASONS}
    assert len(found) > 100
    assert {("complete", "hung"), ("budget", "ignored"), ("protocol", "not_json"), ("answer", "prober_fault")} <= found


@pytest.mark.parametrize(("check", "reason"), REASONS)
def test_every_reason_has_its_words(check, reason):
    assert HANGUL.search(reason_name(KO, check, reason)), "add it to canary/web/checks_ko.py"
    assert reason_name(EN, check, reason) == reason.replace("_", " ")


def test_no_words_are_kept_for_reasons_that_are_gone():
    there = set(reasons())
    kept = {(check, reason) for check, reason in checks_ko.REASONS if check is not None}
    assert kept - there == COMPUTED
    assert {reason for check, reason in checks_ko.REASONS if check is None} <= {reason for _, reason in there}


# Phases of a connection, by which `reachable` names where it failed.
COMPUTED = {("reachable", "dns"), ("reachable", "connect"), ("reachable", "tls")}


@pytest.mark.parametrize("check", [*CHECKS, BUDGET, BLIND])
def test_every_check_has_a_name(check):
    assert HANGUL.search(check_name(KO, check))
    assert check_name(EN, check) == check.replace("_", " ")


@pytest.mark.parametrize("check", checks_ko.CHECKS)
def test_no_name_is_kept_for_a_check_that_is_gone(check):
    assert check in {*CHECKS, BUDGET, BLIND}


def places(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", MESSAGES)
def test_every_language_has_every_phrase(language):
    phrases, wording = PHRASES[language], WORDINGS[language]
    for table, ours in ((phrases.titles, feeling.TITLES), (phrases.feelings, feeling.FEELINGS)):
        assert set(table) == set(ours)
        assert {key: places(text) for key, text in table.items()} == {key: places(text) for key, text in ours.items()}
    for field in fields(feeling.Phrases):
        ours, text = getattr(feeling.ENGLISH, field.name), getattr(phrases, field.name)
        if isinstance(ours, str):
            assert places(text) == places(ours), field.name
    assert set(wording.checks) == set(published.WORDS)
    assert set(wording.turns) == set(Turn) - {Turn.BEGAN, Turn.NOTE}
    assert places(wording.seen_at) == {"hops"}


def test_nothing_in_korean_was_left_in_english():
    phrases, wording = PHRASES["ko"], WORDINGS["ko"]
    texts = [*phrases.titles.values(), *phrases.feelings.values(), *wording.checks.values(), *wording.turns.values()]
    assert [text for text in texts if not HANGUL.search(text)] == []


LATE = Verdict(
    check="first_visible", status=Status.FAIL, reason="late", message="m", observed=97.4, limit=20.0, unit="s"
)
IN_TOKENS = replace(LATE, observed=31.0, unit="tokens")
ANOTHER = replace(LATE, check="other")


def found(check, reason, *, origin="agent", edge=None, at_or_below=False, severity=Severity.CRITICAL, verdict=LATE):
    evidence = (HopVerdict(hop=origin, variant="plain", verdict=verdict),)
    return finding(
        check=check, reason=reason, origin=origin, edge=edge, at_or_below=at_or_below, severity=severity,
        subject="x", evidence=evidence,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "english", "korean"),
    [
        pytest.param(
            found("streaming", "reasoning_stripped", edge=("agent", "litellm")),
            "Reasoning is not passed on, between agent and litellm",
            "추론이 전달되지 않음 (agent → litellm 사이)",
            id="an edge",
        ),
        pytest.param(
            found("complete", "hung", at_or_below=True),
            "Answers do not begin, at agent or below",
            "응답이 시작되지 않음 (agent 또는 그 아래)",
            id="at or below",
        ),
        pytest.param(found("budget", "ignored"), "Reasoning budget `x` does not act, at agent",
            "추론 예산 미적용: `x` (agent)", id="a subject",
        ),
        pytest.param(
            found("new_check", "bad"), "new_check fails, at agent", "검사 실패: new_check (agent)", id="unheard",
        ),
    ],
)  # fmt: skip
def test_headlines(given, english, korean):
    assert (headline(EN, given), headline(KO, given)) == (english, korean)


@pytest.mark.parametrize(
    ("given", "korean"),
    [
        pytest.param(
            found("first_visible", "late"),
            "사용자는 첫 글자를 보기까지 97.4초 기다립니다. 한도는 20.0초입니다.",
            id="seconds",
        ),
        pytest.param(
            found("first_visible", "late", verdict=IN_TOKENS),
            "사용자는 첫 글자를 보기까지 31토큰 기다립니다. 한도는 20토큰입니다.",
            id="another unit",
        ),
        pytest.param(
            found("visible_content", "stripped", severity=Severity.WARNING),
            "아직 사용자와 가장 가까운 구간까지 미치지 않았습니다.",
            id="not felt",
        ),
        pytest.param(
            found("first_visible", "late", verdict=ANOTHER), "사용자에게 영향이 있습니다.", id="no numbers",
        ),
    ],
)  # fmt: skip
def test_what_people_notice_in_korean(given, korean):
    assert felt(KO, given) == korean


def test_a_verdict_has_its_name():
    assert named(KO, "idle_timeout", "would_fire") == "유휴 타임아웃: 타임아웃에 걸림"
    assert named(KO, "answer", "prober_fault") == "정답 여부: 모니터 자체 문제"
    assert named(EN, "idle_timeout", "would_fire") == "idle timeout: would fire"
    assert named(KO, "new_check", "very_bad") == "new check: very bad"
    assert named(KO, "", "") == ""


def told_in(language, turn, detail=""):
    update = Update(id="u", phase=Phase.INVESTIGATING, at=NOW, turn=turn, detail=detail)
    incident = PublicIncident(
        id="p", check="first_visible", pipelines=("chat",), hops=("edge", "vllm"), phase=update.phase,
        level=Level.PARTIAL, began_at=NOW, resolved_at=None, updates=(update,), places=(),
    )  # fmt: skip
    return title_of(language, incident), told(language, incident, update)


def test_everybody_reads_it_in_their_language():
    assert told_in(EN, Turn.BEGAN) == ("Answers begin late: chat", "Answers begin late. Seen at: edge, vllm.")
    assert told_in(KO, Turn.BEGAN) == ("답변 시작이 늦음: chat", "답변 시작이 늦음. 발견된 구간: edge, vllm.")
    assert told_in(KO, Turn.OVER)[1] == "해결되었습니다."


def test_a_person_is_quoted_as_they_wrote():
    assert told_in(KO, Turn.NOTE, "We know.")[1] == told_in(EN, Turn.NOTE, "We know.")[1] == "We know."
