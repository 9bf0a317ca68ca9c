import json
from xml.etree import ElementTree

import pytest

from canary.wire.transcript import loads
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Cut, LlmServer, chunk, delta, in_thread, sse, whole

KEY = "sk-live-do-not-show-0123456789"
USAGE = {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}}
ANSWER = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="let me think"))),
    (0.02, chunk(delta(content="42"))),
    (0.0, chunk(delta(content="", finish="stop"))),
    (0.0, chunk(sse({"choices": [], "usage": USAGE}))),
    (0.0, chunk(DONE) + LAST_CHUNK),
]
ASK = ("--model", "fake", "--prompt", "Why? {x}")


def test_a_healthy_hop_passes_and_prints_the_documented_json(canary):
    with in_thread(LlmServer(ANSWER)) as server:
        said = canary("probe", "--url", server.url, *ASK, "--timeout", "ui:idle:visible:30", "--json")
    assert said.code == 0, said.out
    assert set(said.json) == {"run", "pipeline", "probe", "started_at", "hops", "findings"}
    (hop,) = said.json["hops"]
    assert hop["measurement"]["reasoning_tokens"] == {"value": 4, "source": "usage"}
    assert {verdict["status"] for verdict in hop["verdicts"]} == {"PASS"}
    assert [verdict["subject"] for verdict in hop["verdicts"] if verdict["check"] == "idle_timeout"] == ["ui"]


def test_the_request_is_tagged_and_asks_what_was_typed(canary):
    with in_thread(LlmServer(ANSWER)) as server:
        canary("probe", "--url", server.url, *ASK, "--param", "thinking_token_budget=64", "--max-tokens", "99")
    (request,) = server.requests
    body = json.loads(request.body)
    assert request.headers["user-agent"].startswith("reasoning-canary/")
    assert request.headers["x-canary-run"]
    assert body["user"] == "reasoning-canary"
    assert (body["thinking_token_budget"], body["max_tokens"], body["stream"]) == (64, 99, True)
    assert body["messages"][0]["content"].endswith("Why? {x}")


def test_a_canned_question_is_checked_for_its_answer(canary):
    with in_thread(LlmServer(ANSWER)) as server:
        said = canary("probe", "--url", server.url, "--model", "m", "--json")
    verdicts = {verdict["check"]: verdict for verdict in said.json["hops"][0]["verdicts"]}
    assert verdicts["answer"]["status"] == "FAIL"  # 42 is no answer to any of them
    assert said.code == 1


def test_nobody_listens(canary, unused_tcp_port):
    said = canary("probe", "--url", f"http://127.0.0.1:{unused_tcp_port}", *ASK, "--json")
    assert said.code == 1
    assert said.json["hops"][0]["measurement"]["end"]["kind"] == "connect_failed"
    assert said.json["hops"][0]["verdicts"][0]["reason"] == "connect"


def test_rate_limited_is_exit_2(canary):
    with in_thread(LlmServer([(0.0, whole(b'{"error":{"message":"slow down"}}', 429))])) as server:
        said = canary("probe", "--url", server.url, *ASK, "--json")
    assert said.code == 2
    assert said.json["hops"][0]["verdicts"][0]["reason"] == "rate_limited"


def test_a_cut_stream_fails_and_shows_it(canary):
    with in_thread(LlmServer([*ANSWER[:3], (0.0, Cut.RST)])) as server:
        said = canary("probe", "--url", server.url, *ASK)
    assert said.code == 1
    assert "truncated: the stream was broken off" in " ".join(said.out.split())


def test_a_key_is_sent_and_shown_nowhere(canary, tmp_path):
    output = tmp_path / "t.jsonl"
    with in_thread(LlmServer(ANSWER)) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("CANARY_TEST_KEY", KEY)
        options = ("--url", server.url, *ASK, "--api-key-env", "CANARY_TEST_KEY")
        said = [
            canary("probe", *options),
            canary("probe", *options, "--json"),
            canary("record", *options, "-o", output),
        ]
    assert {f"Bearer {KEY}"} == {request.headers["authorization"] for request in server.requests}
    for text in (*(each.out + each.err for each in said), output.read_text()):
        assert KEY not in text


def test_what_a_url_hides_is_shown_nowhere(canary):
    with in_thread(LlmServer(ANSWER)) as server:
        url = server.url.replace("//", f"//me:{KEY}@") + f"?key={KEY}"
        said = [canary("probe", "--url", url, *ASK), canary("probe", "--url", url, *ASK, "--json")]
    assert KEY in server.requests[0].target
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert all(KEY not in each.out + each.err for each in said)


def test_no_terminal_obeys_a_server(canary):
    wild = "\x1b[2J\x9b\u202e\ud83d"
    events = [sse({"error": {"message": wild, "code": wild}}), delta(content=wild, finish=wild), DONE]
    with in_thread(LlmServer([(0.0, SSE_HEAD), *((0.0, chunk(event)) for event in events)])) as server:
        said = canary("probe", "--url", server.url, "--model", "m", "--prompt", "?", "--deadline", "1")
    assert "finish reason" in said.out
    assert not set(wild) - set("[2J") & set(said.out + said.err)


def test_a_recording_replays_to_the_same_verdicts(canary, tmp_path):
    output = tmp_path / "t.jsonl"
    with in_thread(LlmServer(ANSWER)) as server:
        recorded = canary("record", "--url", server.url, *ASK, "-o", output)
    assert recorded.code == 0
    assert "ended Completed" in recorded.err
    assert loads(output.read_text(), source="t").head.status == 200
    said = canary("replay", output, "--json")
    assert said.code == 0
    assert said.json["measurement"]["visible_chars"] == 2


def test_junit_has_a_suite_for_each_request_of_each_run(canary, tmp_path):
    config, junit = tmp_path / "canary.yaml", tmp_path / "junit.xml"
    with in_thread(LlmServer(ANSWER)) as server:
        hop = {"name": "engine", "url": server.url, "model": "m"}
        probes = [{"use": "quick"}, {"use": "reasoning-heavy"}]
        config.write_text(json.dumps({"pipelines": [{"name": "chat", "hops": [hop], "probes": probes}]}))
        canary("probe", "chat", "-c", config, "--junit", junit)
    names = [suite.get("name") for suite in ElementTree.parse(junit).getroot()]
    assert names == ["chat quick: engine plain", "chat reasoning-heavy: engine plain"]


def test_one_json_answer_can_be_asked_for(canary):
    document = {"choices": [{"message": {"content": "42", "reasoning": "hm"}, "finish_reason": "stop"}], "usage": USAGE}
    with in_thread(LlmServer([(0.0, whole(json.dumps(document).encode(), content_type="application/json"))])) as server:
        said = canary("probe", "--url", server.url, *ASK, "--no-stream", "--json")
    assert said.code == 0, said.out
    assert json.loads(server.requests[0].body)["stream"] is False
