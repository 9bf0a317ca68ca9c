from types import SimpleNamespace

import pytest

from canary.core.secret import Secret
from canary.core.spec import Hop, Probe, QuestionTemplate
from canary.engine.request import body_of, most_bytes, target_of
from canary.prompts.compose import Composed

ASK = Probe(name="ask", summary="", questions=(QuestionTemplate(text="Why?"),), max_tokens=99)
COMPOSED = Composed(text="[probe 1]\nWhy?", answer=None)


def request(*, probe=ASK, composed=COMPOSED, **hop):
    hop = {"name": "vllm", "url": "http://vllm:8000/v1/chat/completions", "model": "m", **hop}
    asked = Hop(**hop)
    return SimpleNamespace(target=target_of(asked, probe, run_id="r1"), body=body_of(asked, probe, composed))


def test_a_request_says_that_it_is_synthetic_and_of_which_run():
    sent = request(headers={"Authorization": Secret("Bearer x"), "X-Team": "a"})
    headers = sent.target.headers
    assert headers["User-Agent"].startswith("reasoning-canary/")
    assert (headers["X-Canary-Run"], headers["X-Canary-Probe"], headers["X-Team"]) == ("r1", "ask", "a")
    assert headers["Authorization"] == Secret("Bearer x")
    assert sent.body["user"] == "reasoning-canary"


def test_the_body_is_the_probes():
    body = request().body
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 99, True)
    assert body["messages"][-1]["content"] == "[probe 1]\nWhy?"
    assert "tools" not in body
    assert "temperature" not in body


@pytest.mark.parametrize(
    ("probe_body", "hop_body", "expected"),
    [
        pytest.param({"seed": 1}, {}, {"seed": 1}, id="the probe's"),
        pytest.param({}, {"cache": {"no-cache": True}}, {"cache": {"no-cache": True}}, id="the hop's"),
        pytest.param({"seed": 1}, {"seed": 2}, {"seed": 2}, id="the hop's wins"),
        pytest.param(
            {"chat_template_kwargs": {"a": 1, "b": 1}},
            {"chat_template_kwargs": {"b": 2}},
            {"chat_template_kwargs": {"a": 1, "b": 2}},
            id="object by object",
        ),
        pytest.param({}, {"user": "somebody"}, {"user": "somebody"}, id="even who asks"),
    ],
)
def test_what_the_hop_adds_wins(probe_body, hop_body, expected):
    probe = Probe(name="ask", summary="", questions=ASK.questions, body=probe_body)
    body = request(probe=probe, body=hop_body).body
    assert {name: body[name] for name in expected} == expected


def test_a_tool_is_sent_where_the_question_has_one():
    composed = Composed(text="?", answer=None, tools=[{"type": "function"}])
    assert request(composed=composed).body["tools"] == [{"type": "function"}]


def test_a_hop_may_want_one_json_answer():
    body = request(stream=False).body
    assert body["stream"] is False
    assert "stream_options" not in body


def test_how_to_get_there_is_the_hops():
    target = request(accept_encoding="gzip", proxy="http://proxy:3128").target
    assert (target.url, target.accept_encoding, target.proxy) == (
        "http://vllm:8000/v1/chat/completions",
        "gzip",
        "http://proxy:3128",
    )


def test_a_hop_without_url_cannot_be_asked():
    with pytest.raises(ValueError, match="ui has no url"):
        target_of(Hop(name="ui"), ASK, run_id="r1")


@pytest.mark.parametrize(
    ("body", "bytes_"),
    [
        pytest.param({"max_tokens": 16}, 16 * 2**20, id="a short answer, and reasoning that nobody counts"),
        pytest.param({"max_tokens": 16384}, 32 * 2**20, id="a long one"),
        pytest.param({"max_tokens": 32, "max_completion_tokens": 16384}, 32 * 2**20, id="the name that wins"),
        pytest.param({"max_tokens": 10**9}, 64 * 2**20, id="memory has a bound"),
        pytest.param({}, 64 * 2**20, id="no cap"),
    ],
)
def test_how_long_an_answer_may_become(body, bytes_):
    assert most_bytes(body) == bytes_
