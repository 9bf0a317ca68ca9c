import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.observation import ConnectFailed, Phase, StoppedByUs
from canary.core.snapshot import Readiness
from canary.core.verdict import Status
from canary.web.page import STYLE, WORDS, ago, page_of, plain
from canary.web.view import NEVER_S, view_of
from tests.fakes.evidence import evidence, headers, timer
from tests.fakes.scripted_answer import done, finish, say, think
from tests.fakes.snapshots import NOW, finding, incident, page, pipeline, result, run, snapshot

FAST = evidence(
    request={"stream": True}, first_visible_limit_s=20.0, timeouts=(timer(60.0, name="idle", hop="browser"),)
)
SLOW = evidence(
    headers(0.1), say(50.0), finish(50.1), done(50.2), first_visible_limit_s=20.0, timeouts=(timer(30.0, hop="edge"),)
)
SILENT = evidence(headers(0.1), think(1.0), finish(2.0), done(2.1), first_visible_limit_s=20.0)
STOPPED = evidence(headers(0.1), think(1.0), end=StoppedByUs(at=1.1, reason="enough"))
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\x00\u202eevil\" onload='x' {{ 7*7 }}"


class Tags(HTMLParser):
    """Every tag with its attributes, and the text beside them; void and closed as a browser has them."""

    VOID = frozenset({"meta", "link", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


def words_of(given):
    tags = Tags(page_of(given))
    assert tags.open == []
    return " ".join(tags.text.split())


def card(*evidences, hop="vllm", variant="plain"):
    runs = [run(result(each, hop=hop, variant=variant), probe="heavy") for each in evidences]
    (row,) = view_of(snapshot(pipeline(), runs=runs)).rows
    return next(each for each in row.cards if each.name == hop)


def test_hops_stand_in_the_order_of_the_path():
    (row,) = view_of(snapshot(pipeline(hops=("edge", "agent", "vllm")), runs=[run(result(FAST))])).rows
    assert [(each.name, each.probed, each.status) for each in row.cards] == [
        ("browser", False, None),
        ("edge", True, None),
        ("agent", True, None),
        ("vllm", True, Status.PASS),
    ]


@pytest.mark.parametrize(
    ("evidences", "first_visible_s", "status"),
    [
        pytest.param([FAST], 2.0, Status.PASS, id="well"),
        pytest.param([FAST, SLOW], 50.0, Status.FAIL, id="the slowest"),
        pytest.param([SLOW, SILENT], NEVER_S, Status.FAIL, id="never is slower than any"),
        pytest.param([FAST, STOPPED], 2.0, Status.UNKNOWN, id="what we stopped tells nothing"),
        pytest.param([STOPPED], None, Status.UNKNOWN, id="nothing told"),
        pytest.param([evidence(end=ConnectFailed(at=0.1, phase=Phase.DNS))], NEVER_S, Status.FAIL, id="unreachable"),
    ],
)
def test_what_a_card_says(evidences, first_visible_s, status):
    found = card(*evidences)
    assert (found.first_visible_s, found.status) == (first_visible_s, status)
    assert (found.said is None) is (status is Status.PASS)


def test_a_stopped_answer_has_no_share_of_reasoning():
    assert card(STOPPED).reasoning_share is None
    assert card(FAST).reasoning_share is not None


def test_a_time_that_is_not_known_is_called_so():
    assert "vllm cannot tell First visible not told" in words_of(snapshot(pipeline(), runs=[run(result(STOPPED))]))


def test_a_budget_treatment_gives_no_time():
    assert card(SLOW, variant="thinking_budget=64").first_visible_s is None


def test_a_limit_that_was_missed_comes_before_a_slower_answer_without_one():
    slower = replace(SLOW, first_visible_limit_s=None)
    late = evidence(headers(0.1), say(25.0), finish(25.1), done(25.2), first_visible_limit_s=20.0)
    runs = [run(result(slower), probe="deep"), run(result(late), probe="heavy")]
    (row,) = view_of(snapshot(pipeline(), runs=runs)).rows
    assert (row.cards[-1].first_visible_s, row.cards[-1].limit_s) == (25.0, 20.0)


def test_the_timeout_that_came_nearest():
    nearest = card(FAST, SLOW).nearest
    assert (nearest.timeout, nearest.left) == ("edge/t", pytest.approx(1 - 49.9 / 30))


def test_a_page_in_words():
    fires = incident("chat", probe="heavy")
    given = snapshot(
        pipeline(labels={"env": "prod"}),
        runs=[run(result(SLOW))],
        incidents=(fires,),
        pages=(page(fires, acked_by="anna"), replace(page(fires), id="old", resolved_at=NOW)),
        readiness=Readiness(problems=("the schedule is 4 min late",), notes=("the config was refused",)),
    )
    words = words_of(given)
    for said in (
        "The monitor itself is not well the schedule is 4 min late Note: the config was refused",
        "critical acknowledged by anna since 12 min ago edge/nginx would have cut the stream at 60.0 s",
        "Affected: edge, ui. Seen by chat / heavy.",
        "chat critical incident env=prod",
        "browser not probed",
        "edge no answer yet",
        "vllm failing First visible 50.0 s limit 20.0 s Nearest timeout would fire edge/t",
        "heavy : last now , next in 5 min",
    ):
        assert said in words
    assert "old" not in words


def test_a_quiet_page():
    words = words_of(snapshot(pipeline(), runs=[run(result(FAST))]))
    assert "Open incidents None." in words
    assert "chat ok" in words
    assert "not well" not in words
    assert "First visible 2.00 s limit 20.0 s Nearest timeout 98 % left browser/idle" in words


def test_a_pipeline_that_was_never_probed_is_not_called_well():
    words = words_of(snapshot(pipeline()))
    assert "chat no answer yet" in words
    assert "heavy : no run yet" in words
    assert "ok" not in words.split()


def test_no_pipelines():
    assert "No pipeline is configured." in words_of(snapshot())


def test_a_page_that_recovers():
    back = incident("chat", state=State.RECOVERING)
    assert "critical recovering since" in words_of(snapshot(pipeline(), incidents=(back,), pages=(page(back),)))


def test_a_pending_incident_is_no_open_one():
    pending = incident("chat", state=State.PENDING)
    (row,) = view_of(snapshot(pipeline(), incidents=(pending,))).rows
    assert row.severity is None


def test_a_row_shows_its_worst_incident():
    mild = incident("chat", incident_id="1", found=finding(severity=Severity.WARNING))
    (row,) = view_of(snapshot(pipeline(), incidents=(mild, incident("chat", incident_id="2")))).rows
    assert row.severity is Severity.CRITICAL


def hostile():
    found = finding(HOSTILE, origin=HOSTILE)
    fires = incident(HOSTILE, probe=HOSTILE, found=found)
    slow = result(SLOW, hop=HOSTILE)
    said = replace(slow, verdicts=tuple(replace(each, message=HOSTILE, subject=HOSTILE) for each in slow.verdicts))
    return snapshot(
        pipeline(HOSTILE, hops=(HOSTILE,), probe=HOSTILE, labels={HOSTILE: HOSTILE}),
        runs=[run(said, pipeline=HOSTILE, probe=HOSTILE)],
        incidents=(fires,),
        pages=(page(fires, acked_by=HOSTILE, affected=(HOSTILE,)),),
        readiness=Readiness(problems=(HOSTILE,), notes=(HOSTILE,)),
    )


def test_what_targets_say_is_text_and_nothing_else():
    tags = Tags(page_of(hostile()))
    assert tags.open == []
    assert {"script", "img", "style"} & {tag for tag, _ in tags.tags} == set()
    assert not [name for _, attributes in tags.tags for name in attributes if name.startswith("on") or name == "style"]
    assert tags.text.count("<script>alert(1)</script>") >= 10
    assert "{{ 7*7 }}" in tags.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page_of(hostile()))


def test_a_long_message_is_cut():
    fires = incident("chat", found=finding("x" * 5_000_000))
    assert len(page_of(snapshot(pipeline(), incidents=(fires,), pages=(page(fires),)))) < 20_000


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs():
    tags = Tags(page_of(hostile()))
    links = [attributes.get("href") or attributes.get("src") for _, attributes in tags.tags]
    assert {link.partition("?")[0] for link in links if link} == {"style.css", "metrics", "api/v1/state", "-/ready"}
    assert "url(" not in STYLE
    assert "@import" not in STYLE


@pytest.mark.parametrize("status", [*Status, None])
def test_every_state_has_a_word(status):
    assert WORDS[status]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("배포 → ok", "배포 → ok", id="any language"),
        pytest.param("a\nb\x00c", "a\ufffdb\ufffdc", id="control characters"),
        pytest.param("\u202eab\ud800", "\ufffdab\ufffd", id="direction, half a pair"),
        pytest.param("x" * 401, "x" * 400 + "…", id="long"),
        pytest.param("x" * 400, "x" * 400, id="just not long"),
    ],
)
def test_plain(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("offset_s", "said"),
    [
        pytest.param(-150.0, "2 min 30 s ago", id="past"),
        pytest.param(0.5, "now", id="now"),
        pytest.param(300.0, "in 5 min", id="to come"),
    ],
)
def test_ago(offset_s, said):
    assert ago(NOW + timedelta(seconds=offset_s), NOW) == said
