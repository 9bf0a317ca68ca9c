"""Every recorded stream against what its raw lines say: the numbers, and what must be concluded from them."""

from functools import cache

import pytest
import yaml

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.attribution import suspects
from canary.checks.evidence import Evidence
from canary.config.presets import catalogue
from canary.core.measurement import CountSource, TokenCount
from canary.core.stream import ReasoningForm
from canary.wire.decode import decode
from tests.fakes.cases import timers_of
from tests.fakes.exchanges import RECORDED, recorded

TABLE = yaml.safe_load((RECORDED.parent / "recorded.yaml").read_text(encoding="utf-8"))
CHAT_FILES = [
    path for path in RECORDED.glob("*.jsonl") if '"protocol": "openai-chat"' in path.read_text(encoding="utf-8")
]
FIRST_VISIBLE_S = 5.0
rows = pytest.mark.parametrize(("name", "row"), [pytest.param(name, row, id=name) for name, row in TABLE.items()])


@cache
def evidence_of(name, *timers):
    observation = decode(recorded(name))
    return Evidence(
        observation=observation,
        measurement=measure(observation),
        timeouts=tuple(timer for text in timers for timer in timers_of(text)),
        catalogue=catalogue(),
        first_visible_limit_s=FIRST_VISIBLE_S,
    )


def measured(name):
    return evidence_of(name).measurement


def near(value):
    return None if value is None else pytest.approx(value, abs=2e-6)


def counted(pair):
    return None if pair is None else TokenCount(value=pair[0], source=CountSource(pair[1]))


def test_no_recording_is_left_out():
    assert set(TABLE) == {path.stem for path in CHAT_FILES}


@rows
def test_times(name, row):
    measurement = measured(name)
    assert {
        "headers": measurement.time_to_headers_s,
        "first_byte": measurement.time_to_first_byte_s,
        "first_token": measurement.time_to_first_token_s,
        "first_reasoning": measurement.time_to_first_reasoning_token_s,
        "first_visible": measurement.time_to_first_visible_content_s,
        "total": measurement.total_s,
    } == {what: near(at) for what, at in row["times"].items()}


@rows
@pytest.mark.parametrize("clock", ["byte", "event", "token", "visible"])
def test_silence(name, row, clock):
    silence = getattr(measured(name).silence, clock)
    longest_s, began_at, *still_open = row["silence"][clock]
    assert (silence.longest_s, silence.began_at, silence.censored) == (
        near(longest_s),
        near(began_at),
        bool(still_open),
    )


@rows
def test_tokens(name, row):
    measurement, tokens = measured(name), row["tokens"]
    assert measurement.reasoning_tokens == counted(tokens["reasoning"])
    assert measurement.visible_tokens == counted(tokens["visible"])
    assert (measurement.reasoning_chars, measurement.visible_chars) == (
        tokens["reasoning_chars"],
        tokens["visible_chars"],
    )


@rows
def test_end(name, row):
    measurement = measured(name)
    assert {
        "kind": type(measurement.end).__name__,
        "finish": measurement.finish_reason,
        "terminator": measurement.terminator_seen,
        "reads": measurement.reads,
        "events": measurement.events,
        "error_code": measurement.error_code,
    } == row["end"]


@rows
def test_who_answered(name, row):
    by = measured(name).fingerprint
    assert {what: getattr(by, what) for what in row["by"]} == row["by"]


def judged(verdict):
    """The check, and which of its two subjects where it is `streaming`."""
    return f"streaming {verdict.subject}" if verdict.check == "streaming" else verdict.check


@rows
def test_verdicts(name, row):
    verdicts = judge(evidence_of(name, *row.get("timers", [])))
    assert {judged(verdict): f"{verdict.status} {verdict.reason}" for verdict in verdicts} == row["verdicts"]
    assert len(verdicts) == len(row["verdicts"])


@pytest.mark.parametrize("proxy", ["nginx", "haproxy", "caddy"])
def test_a_cut_is_traced_to_the_timer_of_two_seconds(proxy):
    evidence = evidence_of(f"edge-{proxy}-2s-cut", "edge:idle:byte:2", "other:idle:byte:60")
    assert [suspect.timer.name for suspect in suspects(evidence)] == ["edge"]
    complete = next(verdict for verdict in judge(evidence) if verdict.check == "complete")
    assert (complete.subject, complete.limit) == ("edge", 2.0)
    assert complete.observed == pytest.approx(2.0, abs=0.25)


def test_an_agent_that_strips_reasoning_is_silent_while_the_model_thinks():
    silence = measured("edge-agent-strips-reasoning").silence
    assert silence.byte.longest_s == pytest.approx(13.491488)
    verdicts = judge(evidence_of("edge-agent-strips-reasoning", "ui:idle:byte:10", "patient:idle:byte:60"))
    assert [verdict.reason for verdict in verdicts if verdict.check == "idle_timeout"] == ["would_fire", "survives"]


def test_a_proxy_that_buffers_is_late_with_its_headers():
    measurement = measured("edge-nginx-buffers")
    assert measurement.time_to_headers_s == measurement.time_to_first_visible_content_s == 18.27574
    assert measurement.visible_span_s == pytest.approx(27.138251 - 18.27574)
    assert measurement.tokens_per_s == pytest.approx(1001 / (27.138251 - 18.27574))


def test_a_gateway_that_merges_reasoning_into_content_shows_none_of_it_as_answer():
    measurement = measured("litellm-merged-chat-unbudgeted")
    assert measurement.reasoning_forms == {ReasoningForm.INLINE_TAGS}
    assert measurement.reasoning_to_output_ratio == 1.0
