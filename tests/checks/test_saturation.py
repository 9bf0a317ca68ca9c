import pytest

from canary.checks.saturation import check
from canary.core.engine_load import EngineLoad
from tests.fakes.evidence import evidence, rejected


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        pytest.param(None, None, id="not asked"),
        pytest.param(EngineLoad(running=3), None, id="it does not say how many wait"),
        pytest.param(EngineLoad(waiting=0), ("PASS room", "0 requests wait", 0, 3, "requests"), id="none waits"),
        pytest.param(EngineLoad(waiting=1), ("PASS room", "1 request waits", 1, 3, "requests"), id="one waits a step"),
        pytest.param(
            EngineLoad(waiting=14, running=8, queue_s=6.2, kv_cache_use=0.97),
            (
                "WARN saturated",
                "14 requests wait, 8 run, 6.20 s in the queue on average, the KV cache is 97% full",
                14,
                3,
                "requests",
            ),
            id="many wait",
        ),
        pytest.param(
            EngineLoad(waiting=0, queue_s=1.5, kv_cache_use=0.3),
            ("WARN saturated", "0 requests wait, 1.50 s in the queue on average", 1.5, 1.0, "s"),
            id="they waited",
        ),
        pytest.param(
            EngineLoad(waiting=0, first_token_s=0.31, requests=3),
            ("PASS room", "0 requests wait, 0.31 s to the first token", 0, 3, "requests"),
            id="its own first token",
        ),
        pytest.param(
            EngineLoad(queue_s=0.02), ("PASS room", "20 ms in the queue on average", 0.02, 1.0, "s"), id="a gateway"
        ),
        pytest.param(
            EngineLoad(queue_s=2.0),
            ("WARN saturated", "2.00 s in the queue on average", 2.0, 1.0, "s"),
            id="a slow one",
        ),
    ],
)
@pytest.mark.parametrize("made", [evidence, lambda **more: rejected(503, **more)], ids=["answered", "rejected"])
def test_what_the_engine_says_of_itself(made, load, expected):
    found = [
        (f"{each.status} {each.reason}", each.message, each.observed, each.limit, each.unit)
        for each in check(made(load=load))
    ]
    assert found == ([] if expected is None else [expected])
