"""What a real vLLM says of itself while it is probed."""

from datetime import UTC, datetime

import pytest

from canary.core.spec import Assignment, Hop, Pipeline, Probe, QuestionTemplate
from canary.core.verdict import Status
from canary.engine.run import run_probe
from canary.engine.visit import Occasion
from tests.real.lab.hop import Hop as Running

pytestmark = pytest.mark.real

ASK = Assignment(
    probe=Probe(name="ask", summary="", questions=(QuestionTemplate(text="What is 6 times 7?"),), max_tokens=64),
    deadline_s=60.0,
)


async def test_vllm_counts_our_request_and_nobody_waits(engine: Running):
    hop = Hop(name="vllm", url=engine.url, model="tiny", metrics_url=f"{engine.base}/metrics")
    occasion = Occasion(run_id="real", seed=1, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    run = await run_probe(Pipeline(name="p", hops=(hop,)), ASK, occasion)
    (result,) = run.results
    load, measurement = result.load, result.measurement
    assert load is not None
    assert load.requests == 1
    assert load.first_token_s is not None
    assert measurement.time_to_first_token_s is not None
    assert 0 < load.first_token_s <= measurement.time_to_first_token_s
    assert load.queue_s is not None
    assert load.queue_s < load.first_token_s
    assert load.waiting == 0
    assert load.running is not None
    assert load.kv_cache_use is not None
    assert 0 <= load.kv_cache_use < 1
    assert [v.status for v in result.verdicts if v.check == "saturation"] == [Status.PASS]
