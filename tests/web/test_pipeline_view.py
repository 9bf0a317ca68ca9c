from dataclasses import replace
from datetime import timedelta

import pytest

from canary.core.deploy import Deploy
from canary.core.measurement import Fingerprint
from canary.core.span import RANGES, Counts, Day, Span, Spread
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.web.pipeline_view import Past, pipeline_view
from canary.web.words import Words
from tests.fakes.snapshots import NOW, incident, page, pipeline

SPAN = RANGES["24h"]
STARTS = SPAN.starts(NOW)
OLD, NEW = (Fingerprint(system_fingerprint=f"vllm-{version}-5eed") for version in ("0.22.1", "0.23.0"))


def idle(name, clock, limit_s, hop):
    return Timeout(name=name, phase=TimerPhase.IDLE, clock=clock, limit_s=limit_s, hop=hop)


def chain(*timers_by_hop):
    made = pipeline(hops=("edge", "vllm"), labels={"env": "prod"})
    hops = tuple(replace(hop, timeouts=mine) for hop, mine in zip(made.hops, timers_by_hop, strict=True))
    return replace(made, hops=hops)


def view(past, made=None):
    made = made or pipeline(labels={"env": "prod"})
    return pipeline_view(made, made.assignments[0], past, span=SPAN, now=NOW, t=Words(language="en"))


def span(place, hop="vllm", **more):
    return Span(hop=hop, at=STARTS[place], counts=Counts(passed=1), **more)


def test_each_probed_hop_has_its_charts_from_the_user_down():
    found = view(Past())
    assert [hop.name for hop in found.hops] == ["edge", "vllm"]
    assert [drawn.title for drawn in found.hops[0].charts] == [
        "First visible text",
        "Longest silence",
        "Reasoning share",
    ]


def test_a_silence_is_held_against_the_timers_above_by_their_clocks():
    timers = ((idle("ui", Clock.VISIBLE, 30.0, "browser"),), (idle("read", Clock.BYTE, 60.0, "edge"),), ())
    spans = [span(-1, silences={"byte": 20.0, "visible": 25.0, "event": 21.0})]
    edge, vllm = view(Past(spans=spans), chain(*timers)).hops
    assert [name for name, _ in edge.charts[1].lines] == ["visible text"]
    assert [name for name, _ in vllm.charts[1].lines] == ["bytes", "visible text"]
    assert vllm.charts[1].levels == ("browser/ui 30.0 s", "edge/read 60.0 s")


def test_the_limit_is_that_of_the_probe():
    spread = Spread(count=1, mean=15.0, least=15.0, most=15.0)
    assert view(Past(spans=[span(-1, first_visible=spread)])).hops[1].charts[0].levels == ("limit 20.0 s",)


@pytest.mark.parametrize(
    ("deploy", "shown"),
    [
        pytest.param(Deploy(at=NOW, text="x", pipeline="chat"), True, id="of this pipeline"),
        pytest.param(Deploy(at=NOW, text="x", pipeline="other"), False, id="of another"),
        pytest.param(Deploy(at=NOW, text="x", labels={"env": "prod"}), True, id="of its label"),
        pytest.param(Deploy(at=NOW, text="x", labels={"env": "test"}), False, id="of another label"),
        pytest.param(Deploy(at=NOW, text="x"), True, id="of all"),
        pytest.param(Deploy(at=NOW - timedelta(days=2), text="x"), False, id="before the range"),
    ],
)
def test_deploys_on_the_axis(deploy, shown):
    assert bool(view(Past(deploys=[deploy])).marks) is shown


def test_a_new_version_is_said_once_for_all_hops_that_show_it():
    spans = [span(n, hop, fingerprint=OLD if n < 5 else NEW) for hop in ("edge", "vllm") for n in (2, 4, 5, 6)] + [
        span(7, "vllm")
    ]
    (mark,) = view(Past(spans=spans)).marks
    assert (mark.kind, mark.at, mark.text) == ("version", STARTS[5], "vLLM 0.22.1 -> 0.23.0 (edge, vllm)")


def test_incidents_lie_behind_the_lines():
    fires = incident("chat")
    over = replace(page(fires), id="over", opened_at=NOW - timedelta(hours=5), resolved_at=NOW - timedelta(hours=4))
    found = view(Past(pages=[page(fires), over]))
    assert [(mark.kind, mark.page_id) for mark in found.marks] == [("incident", "p1"), ("incident", "over")]
    (first, _), (_, second) = found.axis.incidents
    assert 0.98 < first < 1.0
    assert second == pytest.approx(1 - 4.25 / 24)


def test_days_of_a_hop():
    day = Day(pipeline="chat", hop="vllm", at=NOW.replace(hour=0), counts=Counts(passed=3, failed=1))
    edge, vllm = view(Past(days=[day])).hops
    assert (edge.bars, vllm.bars.share) == (None, 0.75)
