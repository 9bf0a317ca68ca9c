from datetime import timedelta

import pytest
from rich.cells import cell_len

from canary.core.notification import Reason
from canary.notify.text import amount, headline, hop_table, plain
from tests.fakes.messages import HOPS, NOW, notification

PLAIN = """\
[CRITICAL] edge/nginx would cut the stream of agent

People wait 60 s and then see an error.

Where: edge -> agent
Observed: 71.1 s, limit 60.0 s
Check: idle_timeout: fires
Severity: critical
Pipelines: chat-prod, chat-eu
Probe: reasoning-heavy
First seen: 2026-11-29 14:02:00 UTC

The agent does not forward reasoning, so nginx hears nothing for 71.1 s.

Changed: vLLM 0.22.1 -> 0.23.0

hop           status  first token  first visible  longest silence  reasoning
edge          FAIL    71.2 s       71.2 s         71.1 s                      cut
한국어-agent  FAIL    never        never                                      timeout
vllm          PASS    0.31 s       71.0 s         0.40 s           93%

Note: A deploy was noted 3 min before.

Repeat it:
curl -N http://agent:8000/v1/chat/completions -d '{"stream": true}'

Run: https://canary.example.com/runs/3f9a2b7c11de
Page: https://canary.example.com/incidents/p1"""


def test_all_of_it():
    assert plain(notification()) == PLAIN


def test_what_is_not_known_is_not_said():
    bare = notification(
        observed=None, limit=None, changed=(), hops=(), repeat="", run_url=None, page_url=None, notes=(), cause=""
    )
    text = plain(bare)
    for word in ("Observed", "Changed", "Note", "Repeat", "Run:", "Page:", "None", "longest"):
        assert word not in text
    assert "\n\n\n" not in text


def test_what_is_over_is_told_in_the_past():
    assert "\n\nIt is over. It was: People wait 60 s" in plain(notification(Reason.RESOLVED))


def test_content_only_where_it_was_given():
    assert "the prompt" not in plain(notification())
    assert "the prompt" in plain(notification(content="the prompt"))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Reason.OPENED, "[CRITICAL] t"),
        (Reason.WORSE, "[WORSE, now CRITICAL] t"),
        (Reason.BETTER, "[BETTER, now CRITICAL] t"),
        (Reason.REMINDER, "[REMINDER, CRITICAL for 12 min 5 s] t"),
        (Reason.ESCALATED, "[ESCALATED, CRITICAL for 12 min 5 s and nobody has it in hand] t"),
        (Reason.ACKNOWLEDGED, "[ACKNOWLEDGED] t"),
        (Reason.FLAPPING, "[FLAPPING, CRITICAL now, quiet until it settles] t"),
        (Reason.RESOLVED, "[RESOLVED after 12 min 5 s] t"),
        (Reason.TEST, "[TEST] t"),
        (Reason.SILENCED, "[silenced] t"),
    ],
)
def test_headline(reason, expected):
    assert headline(notification(reason, title="t")) == expected


def test_what_is_only_watched_no_more_is_not_called_over():
    ended = notification(Reason.RESOLVED, title="t", firing=False, ended="the config asks for it no more")
    text = plain(ended)
    assert text.startswith(
        "[ENDED after 12 min 5 s] t\n\nNot seen to be over, but the config asks for it no more. It was"
    )
    assert "It is over" not in text


def test_a_status_is_no_unit():
    assert "Observed: status 500" in plain(notification(observed=500.0, limit=None, unit="status"))


def test_a_clock_that_went_back_makes_no_negative_age():
    assert headline(notification(Reason.RESOLVED, title="t", at=NOW - timedelta(hours=1))) == "[RESOLVED after 0 ms] t"


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [(71.1, "s", "71.1 s"), (3.0, "flaws", "3 flaws"), (0.934, None, "0.934"), (512.0, "tokens", "512 tokens")],
)
def test_amount(value, unit, expected):
    assert amount(value, unit) == expected


def test_no_hops_no_table():
    assert hop_table(()) == ""


def test_columns_stand_below_each_other_whatever_the_script():
    lines = hop_table(HOPS).splitlines()
    starts = {
        cell_len(line[: line.index(word)]) for line, word in zip(lines[1:], ("FAIL", "FAIL", "PASS"), strict=True)
    }
    assert len(starts) == 1
