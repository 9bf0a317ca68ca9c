"""What an engine says of itself: parsed, summed over series, and read over real connections."""

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.client.engine_metrics import ENGINES, Histogram, Page, load_between, parse, read_page
from canary.client.target import Target
from canary.core.engine_load import EngineLoad
from canary.core.secret import Secret
from tests.fakes.llm_server import SSE_HEAD, Cut, LlmServer, head, whole

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 8.0
vllm:num_requests_running{engine="1",model_name="qwen"} 4.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="qwen"} 14.0
vllm:num_requests_waiting{engine="1",model_name="qwen"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="qwen",reason="capacity"} 14.0
vllm:kv_cache_usage_perc{engine="0",model_name="qwen"} 0.97
vllm:kv_cache_usage_perc{engine="1",model_name="qwen"} 0.2
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5",model_name="qwen"} 9.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="qwen"} 10.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="qwen"} 10.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="qwen"} 3.5
vllm:request_queue_time_seconds_sum{engine="0",model_name="qwen"} 1.25
vllm:request_queue_time_seconds_count{engine="0",model_name="qwen"} 9.0
python_gc_objects_collected_total{generation="0"} 1.0
"""
SGLANG = """\
sglang:num_running_reqs{model_name="llama"} 162.0
sglang:num_queue_reqs{model_name="llama"} 2826.0
sglang:token_usage{model_name="llama"} 0.28
sglang:time_to_first_token_seconds_sum{model_name="llama"} 2.3518979474117756e+06
sglang:time_to_first_token_seconds_count{model_name="llama"} 11008.0
"""
LITELLM = """\
litellm_in_flight_requests 3.0
litellm_request_queue_time_seconds_count{api_key_alias="a",requested_model="x"} 2.0
litellm_request_queue_time_seconds_sum{api_key_alias="a",requested_model="x"} 0.02
litellm_request_queue_time_seconds_count{api_key_alias="b",requested_model="y"} 4.0
litellm_request_queue_time_seconds_sum{api_key_alias="b",requested_model="y"} 4.0
litellm_llm_api_time_to_first_token_metric_sum{model="x"} 0.9
litellm_llm_api_time_to_first_token_metric_count{model="x"} 3.0
"""


@pytest.mark.parametrize(
    ("text", "model", "page"),
    [
        pytest.param(
            VLLM,
            "qwen",
            Page(
                running=12,
                waiting=14,
                kv_cache_use=0.97,
                queue=Histogram(total=1.25, count=9),
                first_token=Histogram(total=3.5, count=10),
            ),
            id="vllm, two engines",
        ),
        pytest.param("vllm:gpu_cache_usage_perc 0.42\n", None, Page(kv_cache_use=0.42), id="an older vllm"),
        pytest.param(
            SGLANG,
            None,
            Page(
                running=162,
                waiting=2826,
                kv_cache_use=0.28,
                first_token=Histogram(total=2351897.9474117756, count=11008),
            ),
            id="sglang",
        ),
        pytest.param(
            LITELLM,
            None,
            Page(running=3, queue=Histogram(total=4.02, count=6), first_token=Histogram(total=0.9, count=3)),
            id="litellm, all models",
        ),
        pytest.param(
            LITELLM,
            "x",
            Page(running=3, queue=Histogram(total=0.02, count=2), first_token=Histogram(total=0.9, count=3)),
            id="litellm, one model",
        ),
        pytest.param(
            LITELLM,
            "an alias that is not on it",
            Page(running=3, queue=Histogram(total=4.02, count=6), first_token=Histogram(total=0.9, count=3)),
            id="a model by another name",
        ),
        pytest.param('vllm:num_requests_waiting{a="b} c"} 2', None, Page(waiting=2), id="a label with a brace"),
        pytest.param("vllm:num_requests_waiting NaN\nvllm:num_requests_running 1", None, Page(running=1), id="NaN"),
        pytest.param("vllm:num_requests_waiting +Inf", None, None, id="infinite"),
        pytest.param(
            'vllm:num_requests_waiting{engine="0"} 1e308\nvllm:num_requests_waiting{engine="1"} 1e308',
            None,
            None,
            id="infinite in sum",
        ),
        pytest.param("vllm:num_requests_waiting -5\nvllm:num_requests_running 1", None, Page(running=1), id="negative"),
        pytest.param("vllm:time_to_first_token_seconds_sum 2", None, None, id="half a histogram"),
        pytest.param("vllm:num_requests_waiting\n", None, None, id="no value"),
        pytest.param('vllm:num_requests_waiting{a="b" 2\n', None, None, id="broken labels"),
        pytest.param("vllm:num_requests_waiting many\n", None, None, id="no number"),
        pytest.param("<html>", None, None, id="no metrics"),
        pytest.param("", None, None, id="nothing"),
    ],
)
def test_pages(text, model, page):
    assert parse(text, model=model) == page
    assert parse(text.replace("\n", "\r\n"), model=model) == page


@given(st.text() | st.builds("vllm:num_requests_waiting{0}".format, st.text()))
def test_no_page_breaks_it(text):
    assert parse(text, model="m") is None or isinstance(parse(text), Page)


def test_every_engine_has_its_source_and_something_to_say():
    for names in ENGINES.values():
        assert names.source
        assert names.running
        assert names.first_token


BEFORE = Page(
    running=2, waiting=5, kv_cache_use=0.5, queue=Histogram(total=1, count=4), first_token=Histogram(total=2, count=10)
)
AFTER = Page(
    running=3,
    waiting=1,
    kv_cache_use=0.4,
    queue=Histogram(total=7, count=6),
    first_token=Histogram(total=3.5, count=15),
)


@pytest.mark.parametrize(
    ("before", "after", "load"),
    [
        pytest.param(None, None, None, id="no page"),
        pytest.param(
            BEFORE,
            AFTER,
            EngineLoad(running=3, waiting=5, kv_cache_use=0.5, queue_s=3.0, first_token_s=0.3, requests=5),
            id="both",
        ),
        pytest.param(BEFORE, None, EngineLoad(running=2, waiting=5, kv_cache_use=0.5), id="only the first"),
        pytest.param(None, AFTER, EngineLoad(running=3, waiting=1, kv_cache_use=0.4), id="only the last"),
        pytest.param(
            AFTER, BEFORE, EngineLoad(running=3, waiting=5, kv_cache_use=0.5), id="a restart: the counters went back"
        ),
        pytest.param(BEFORE, BEFORE, EngineLoad(running=2, waiting=5, kv_cache_use=0.5), id="nothing in between"),
        pytest.param(
            Page(first_token=Histogram(total=9, count=1)),
            Page(first_token=Histogram(total=1, count=2)),
            EngineLoad(),
            id="a restart that was busier since",
        ),
        pytest.param(Page(), Page(running=1), EngineLoad(running=1), id="another kind of page"),
    ],
)
def test_two_pages_together(before, after, load):
    assert load_between(before, after) == load


def target(url, **more):
    return Target(url=url, protocol="openai-chat", headers=more.pop("headers", {}), **more)


def metrics_url(server):
    return server.url.replace("/v1/chat/completions", "/metrics")


async def read(script, **more):
    async with LlmServer(script) as server:
        return await read_page(metrics_url(server), target(server.url, **more)), server.requests


async def test_a_page_is_read_whole_whatever_pieces_it_comes_in():
    body = VLLM.encode()
    pieces = [(0.01, body[start : start + 700]) for start in range(0, len(body), 700)]
    page, (request,) = await read([(0.0, head(content_length=str(len(body)))), *pieces])
    assert page == parse(VLLM)
    assert (request.method, request.target, request.headers["accept-encoding"]) == ("GET", "/metrics", "identity")


async def test_an_app_of_its_own_redirects_to_a_slash():
    def script(request):
        if request.target == "/metrics":
            return [(0.0, whole(b"", 307, location="/metrics/", connection="close"))]
        return [(0.0, whole(VLLM.encode()))]

    page, requests = await read(script, headers={"Authorization": Secret("Bearer k")})
    assert page == parse(VLLM)
    assert [request.headers["authorization"] for request in requests] == ["Bearer k"] * 2


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([(0.0, whole(b"no", 404))], id="not there"),
        pytest.param([(0.0, whole(b"no", 401))], id="refused"),
        pytest.param([(0.0, whole(VLLM.encode(), 500))], id="an error"),
        pytest.param([(0.0, whole(b"", 302, location="http://127.0.0.1:1/elsewhere"))], id="a redirect elsewhere"),
        pytest.param([(0.0, whole(b"", 302, location="http://["))], id="a redirect to nowhere"),
        pytest.param([(0.0, whole(b"", 302))], id="a redirect without an address"),
        pytest.param([(0.0, whole(b"", 302, location="/metrics/", connection="close"))], id="a redirect to itself"),
        pytest.param([(0.0, Cut.RST)], id="reset"),
        pytest.param([(0.0, head(content_length="5000")), (0.0, VLLM.encode()), (0.0, Cut.FIN)], id="half of it"),
        pytest.param([(0.0, b"no HTTP at all\r\n\r\n")], id="no HTTP"),
        pytest.param([(0.0, whole(gzip.compress(VLLM.encode()), content_encoding="gzip"))], id="compressed"),
        pytest.param([(0.0, whole(b"x" * (4 * 2**20 + 1)))], id="huge"),
        pytest.param([(0.0, SSE_HEAD)], id="never ends"),
    ],
)
async def test_a_page_that_cannot_be_read_is_none(script):
    page, _ = await read(script)
    assert page is None


async def test_nobody_there(unused_tcp_port):
    url = f"http://127.0.0.1:{unused_tcp_port}/metrics"
    assert await read_page(url, target(url)) is None


@pytest.mark.parametrize("url", ["", "metrics", "http://", "http://[/metrics", "ftp://host/metrics"])
async def test_an_address_that_is_none(url):
    assert await read_page(url, target("http://127.0.0.1:1/v1")) is None


async def test_credentials_stay_with_the_hop():
    async with LlmServer([(0.0, whole(VLLM.encode()))]) as server, LlmServer() as hop:
        page = await read_page(metrics_url(server), target(hop.url, headers={"Authorization": Secret("Bearer k")}))
    assert page is not None
    assert "authorization" not in server.requests[0].headers


async def test_a_reader_can_be_cancelled():
    never = asyncio.Event()
    async with LlmServer([(never, b"")]) as server:
        task = asyncio.create_task(read_page(metrics_url(server), target(server.url)))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
