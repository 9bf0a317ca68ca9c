import json
from dataclasses import replace

from canary.core.secret import Secret
from canary.core.service import Listen
from canary.core.snapshot import Readiness
from canary.core.spec import Hop
from canary.web.state import state_of
from tests.fakes.evidence import WHOLE, evidence
from tests.fakes.snapshots import incident, page, pipeline, result, run, snapshot


def test_what_programs_read():
    fires = incident("chat", probe="heavy")
    given = snapshot(
        pipeline(labels={"env": "prod"}, tokens_per_day=1000),
        runs=[run(result(evidence()))],
        incidents=(fires,),
        pages=(page(fires),),
        tokens_today={"chat": 250},
        readiness=Readiness(problems=("late",), notes=("kept back",)),
    )
    state = json.loads(json.dumps(state_of(given)))
    assert (state["version"], state["ready"], state["problems"]) == (1, False, ["late"])
    assert state["notes"] == ["kept back"]
    (chat,) = state["pipelines"]
    assert chat["hops"] == [
        {"name": "browser", "probed": False},
        {"name": "edge", "probed": True},
        {"name": "vllm", "probed": True},
    ]
    assert (chat["tokens_today"], chat["tokens_per_day"], chat["labels"]) == (250, 1000, {"env": "prod"})
    assert chat["probes"] == [
        {
            "name": "heavy",
            "schedule": {"seconds": 300.0, "jitter_s": 0.0},
            "first_visible_limit_s": 20.0,
            "last_run": "2026-01-31T12:00:00+00:00",
            "next_run": "2026-01-31T12:05:00+00:00",
        }
    ]
    (latest,) = state["latest"]
    assert (latest["hop"], latest["measurement"]["end"]["kind"]) == ("vllm", "completed")
    assert state["incidents"][0]["state"] == "firing"
    assert state["pages"][0]["members"] == ["i1"]


def test_nothing_that_could_hold_a_credential():
    """Not even the parts of the plan that usually hold none: a key may stand in a URL or a body."""
    marked = Hop(
        name="vllm",
        url="http://user:marker-1@vllm/v1?key=marker-2",
        headers={"x-key": Secret("marker-3"), "x-plain": "marker-4"},
        body={"key": "marker-5"},
        metrics_url="http://vllm/metrics?key=marker-6",
        proxy="http://marker-7@proxy",
    )
    given = snapshot(
        replace(pipeline(), hops=(marked,)),
        runs=[run(result(evidence(*WHOLE, request={"messages": [{"content": "marker-8"}], "stream": True})))],
        listen=Listen(token=Secret("marker-9")),
    )
    assert "marker" not in json.dumps(state_of(given))
