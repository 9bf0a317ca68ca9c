import pytest
from aiohttp import ClientSession

from canary.demo.generation import Model
from tests.fakes.demo_client import ask
from tests.fakes.recorded import chunks_of, shapes

SHORT = Model(reasoning_tokens=40, answer_tokens=12, stream_interval=3)


@pytest.mark.parametrize(
    ("recording", "options"),
    [
        pytest.param("vllm-chat-budget16", {"include_usage": True}, id="usage at the end"),
        pytest.param(
            "vllm-chat-contusage", {"include_usage": True, "continuous_usage_stats": True}, id="running usage"
        ),
    ],
)
async def test_chunks_have_the_keys_of_a_recorded_vllm(demo, recording, options):
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"], thinking_token_budget=16, stream_options=options)
    assert shapes(chunks_of(recording)) == shapes(seen.chunks)


async def test_a_stream_tells_role_reasoning_content_finish_usage_and_done(demo):
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"])
    assert seen.parts()[:1] == [{"role": "assistant", "content": ""}]
    assert len(seen.text("reasoning").split()) == 40
    assert seen.content.endswith("The answer is 25")
    assert seen.finish == "stop"
    assert seen.done
    assert seen.usage["completion_tokens_details"] == {"reasoning_tokens": 40}
    assert seen.usage["completion_tokens"] == 40 + 1 + 12 + 1
    assert seen.chunks[-1]["system_fingerprint"].startswith("vllm-")
    assert seen.headers["server"] == "uvicorn"


async def test_running_usage_and_token_ids_count_what_was_sent(demo):
    options = {"include_usage": True, "continuous_usage_stats": True}
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"], stream_options=options, return_token_ids=True)
    counted = reasoned = 0
    for chunk in seen.chunks[1:-1]:
        (choice,) = chunk["choices"]
        counted += len(choice["token_ids"])
        reasoned += len(choice["token_ids"]) if "reasoning" in choice["delta"] else 0
        assert reasoned == chunk["usage"]["completion_tokens_details"]["reasoning_tokens"]
    assert (reasoned, counted) == (40, 52)


async def test_without_stream_options_there_is_no_usage(demo):
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"], stream_options=None)
    assert seen.usage is None
    assert seen.done


async def test_a_whole_answer_is_one_document(demo):
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"], stream=None, stream_options=None, thinking_token_budget=5)
    (document,) = seen.chunks
    assert document["object"] == "chat.completion"
    assert len(document["choices"][0]["message"]["reasoning"].split()) == 5
    assert document["choices"][0]["message"]["content"].endswith("The answer is 25")


async def test_hidden_reasoning_is_silence_of_the_same_length(demo):
    async with demo(model=SHORT) as (_, hops):
        seen = await ask(hops["engine"], include_reasoning=False)
    assert seen.reasoning == ""
    assert seen.usage["completion_tokens_details"]["reasoning_tokens"] == 40


@pytest.mark.parametrize(
    ("extra", "status", "kind"),
    [
        pytest.param({"thinking_token_budget": "64"}, 400, "BadRequestError", id="wrong type"),
        pytest.param({"model": "nope"}, 404, "NotFoundError", id="unknown model"),
    ],
)
async def test_a_bad_request_is_refused_with_a_status(demo, extra, status, kind):
    async with demo() as (_, hops):
        seen = await ask(hops["engine"], **extra)
    assert (status, kind, status) == (seen.status, seen.error["type"], seen.error["code"])


@pytest.mark.parametrize("content", [b"{", b"[]", b""], ids=["half", "a list", "empty"])
async def test_what_is_not_an_object_is_refused(demo, content):
    async with demo() as (_, hops), ClientSession() as session, session.post(hops["engine"].url, data=content) as got:
        assert got.status == 400


@pytest.mark.parametrize(
    ("path", "key"),
    [("/v1/models", "data"), ("/version", "version"), ("/health", None)],
    ids=["models", "version", "health"],
)
async def test_the_other_pages_answer(demo, path, key):
    async with demo() as (running, _), ClientSession() as session, session.get(running.urls["engine"] + path) as got:
        assert got.status == 200
        assert key is None or key in await got.json()
