import json
from dataclasses import replace

import pytest

from canary.core.notification import Reason
from canary.notify.slack_blocks import blocks, escaped, fallback, update
from canary.notify.tidy import tidy
from tests.fakes.messages import TOLD, hostile, notification
from tests.fakes.slack_server import flaw, mentions, size


def bodies(sent):
    harmless = replace(sent, message=tidy(sent.message))
    text = fallback(harmless)
    return {"text": text, "blocks": blocks(harmless)}, {"text": text, "blocks": update(harmless)}


@pytest.mark.parametrize("reason", TOLD)
@pytest.mark.parametrize("times", [1, 3, 300])
@pytest.mark.parametrize("items", [0, 60])
def test_hostile_text_keeps_to_the_limits_and_does_nothing(reason, times, items):
    for body in bodies(hostile(reason, times=times, items=items)):
        assert flaw(body) is None
        assert mentions(body) == []


@pytest.mark.parametrize("sign", ["x", "&", "한", "\U0001f480", "`", "é"])
@pytest.mark.parametrize("length", [140, 148, 149, 150, 290, 300, 301, 2899, 2901, 5000])
def test_every_length_fits(sign, length):
    text = sign * length
    sent = notification(
        title=text, users_feel=text, where=text, cause=text, repeat=text, notes=(text,), changed=(text,)
    )
    for body in bodies(sent):
        assert flaw(body) is None


@pytest.mark.parametrize("reason", TOLD)
def test_slack_makes_nothing_of_plain_text(reason):
    """Addresses, #channels and @names in a model's text are no links."""
    for body in bodies(hostile(reason)):
        texts = objects(body["blocks"], kind="mrkdwn")
        assert texts
        assert all(text["verbatim"] is True for text in texts)


def objects(value, *, kind):
    if isinstance(value, list):
        return [found for each in value for found in objects(each, kind=kind)]
    if not isinstance(value, dict):
        return []
    return [value] if value.get("type") == kind else [f for each in value.values() for f in objects(each, kind=kind)]


def test_what_is_in_it():
    first, reply = bodies(notification())
    texts = json.dumps(first, ensure_ascii=False)
    for fact in (
        "[CRITICAL] edge/nginx would cut the stream of agent",
        "*People wait 60 s and then see an error.*",
        "*Where*\\nedge -&gt; agent",
        "*Observed*\\n71.1 s, limit 60.0 s",
        "<!date^1795960920^{date_short_pretty} {time_secs}|2026-11-29 14:02:00 UTC>",
        "vLLM 0.22.1 -&gt; 0.23.0",
        "한국어-agent  FAIL",
        "curl -N http://agent:8000",
        "<https://canary.example.com/runs/3f9a2b7c11de|Run>",
        "page p1",
    ):
        assert fact in texts, fact
    assert "shortened" not in texts
    assert "[CRITICAL]" not in reply["blocks"][0]["text"]["text"]


def test_what_is_not_known_takes_no_block():
    bare = notification(cause="", hops=(), changed=(), notes=(), repeat="", run_url=None, page_url=None)
    assert [block["type"] for block in bodies(bare)[0]["blocks"]] == ["header", "section", "section", "context"]


@pytest.mark.parametrize("message", [{"repeat": "curl " + "x" * 3000}, {"notes": ("n" * 900,) * 3, "cause": "&" * 900}])
def test_what_does_not_fit_is_left_out_and_said(message):
    """Half a command is no command."""
    sent = notification(**message)
    first, _ = bodies(sent)
    assert flaw(first) is None
    if "repeat" in message:
        assert "curl x" not in json.dumps(first)
        assert "shortened" in json.dumps(first)


@pytest.mark.parametrize(
    ("reason", "firing", "sign"),
    [
        (Reason.OPENED, True, "\N{LARGE RED CIRCLE}"),
        (Reason.ACKNOWLEDGED, True, "\N{EYES}"),
        (Reason.RESOLVED, False, "\N{WHITE HEAVY CHECK MARK}"),
        (Reason.FLAPPING, False, "\N{WHITE HEAVY CHECK MARK}"),
        (Reason.TEST, True, "\N{WRENCH}"),
    ],
)
def test_the_sign_says_how_it_stands(reason, firing, sign):
    assert bodies(notification(reason, firing=firing))[0]["blocks"][0]["text"]["text"].startswith(sign)


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        pytest.param("a&b<c>", 99, "a&amp;b&lt;c&gt;", id="escaped"),
        pytest.param("&&&", 12, "&amp;&amp;…", id="no half an escape"),
        pytest.param("\U0001f480" * 5, 6, "\U0001f480" * 2 + "…", id="wide signs count twice"),
        pytest.param("", 5, "", id="empty"),
    ],
)
def test_escaped(text, most, expected):
    assert escaped(text, most) == expected
    assert size(escaped(text, most)) <= most


def test_the_server_does_refuse():
    """Else these tests would show nothing."""
    header = {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}
    fine = {"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2900}}
    assert flaw({"text": "t", "blocks": [header]}) == "invalid_blocks"
    assert flaw({"text": "t", "blocks": [section]}) == "invalid_blocks"
    assert flaw({"text": "t", "blocks": [fine] * 5}) == "msg_blocks_too_long"
    assert flaw({"text": "t", "blocks": [{"type": "image"}]}) == "invalid_blocks"
    assert flaw({}) == "no_text"
    assert mentions({"text": "<!channel>"})
    assert mentions({"text": "<@U1>"})
