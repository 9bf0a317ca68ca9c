"""The catalogue is data: its shape is checked row by row, its best-known numbers by hand."""

import math
import sys
from pathlib import Path

import pytest

from canary.analysis.forecast import first_cut, forecast
from canary.config.presets import (
    Evidence,
    PresetError,
    PresetPhase,
    ResetsOn,
    UnknownPresetError,
    _timer,
    catalogue,
    preset_named,
    presets,
    timeouts_of,
)
from canary.core.observation import DeadlineExceeded, Phase
from canary.core.timeout import Clock, Fires, Outcome, StartsAt, Survives, TimerPhase
from tests.fakes.scripted_answer import answer, done, every, headers, ping, say, think

HEADERS, IDLE, TOTAL = TimerPhase
CUTTING = {PresetPhase.HEADERS, PresetPhase.IDLE, PresetPhase.TOTAL}
ROWS = [pytest.param(timer, id=f"{p.id}: {timer.setting}") for p in presets().values() for timer in p.timers]
CLOCKS = {
    ResetsOn.BYTE: Clock.BYTE,
    ResetsOn.BYTE_EITHER_WAY: Clock.BYTE,
    ResetsOn.STREAM_FRAME: Clock.BYTE,
    ResetsOn.SEGMENT: Clock.BYTE,
    ResetsOn.EVENT: Clock.EVENT,
    ResetsOn.CHUNK: Clock.EVENT,
    ResetsOn.PROGRESS: Clock.EVENT,
    ResetsOn.TEXT: Clock.TOKEN,
}


def limits(name, **overrides):
    return [(timeout.phase, timeout.clock, timeout.limit_s) for timeout in timeouts_of(name, **overrides)]


def test_there_are_97_components_and_each_has_timers():
    assert len(presets()) == 97
    assert all(preset.timers and preset.name and preset.kind for preset in presets().values())


def test_no_two_names_or_aliases_are_the_same():
    names = [name for preset in presets().values() for name in (preset.id, *preset.aliases)]
    assert len(names) == len(set(names))
    assert all(name == name.strip().lower() for name in names)


def test_every_alias_has_its_component():
    text = Path(sys.modules[timeouts_of.__module__].__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    section = text.partition("\naliases:\n")[2].partition("\ncomponents:")[0]
    written = dict(line.strip().split(": ") for line in section.splitlines() if line.strip())
    assert written == {alias: preset.id for preset in presets().values() for alias in preset.aliases}


def test_settings_of_one_component_are_told_apart():
    for preset in presets().values():
        settings = [timer.setting for timer in preset.timers]
        assert len(settings) == len(set(settings)), preset.id


@pytest.mark.parametrize("timer", ROWS)
def test_every_row_says_what_it_must(timer):
    assert timer.evidence == tuple(sorted(timer.evidence, key=list(Evidence).index))
    assert timer.evidence
    assert timer.source
    assert not [source for source in timer.source if not source.strip() or source.startswith(("/", "~", "file:"))]
    assert timer.limit_s is None or timer.limit_s > 0
    assert timer.early_slack_s >= 0
    assert timer.late_slack_s >= 0
    assert (Evidence.EXPERIMENT in timer.evidence) == ("measured with timers scaled to 3 s" in timer.source)


@pytest.mark.parametrize("timer", ROWS)
def test_what_cuts_has_a_clock_and_what_does_not_is_in_no_preset(timer):
    if timer.phase in CUTTING:
        assert timer.clock is not None
    else:
        assert not timer.in_preset
        assert timer.outcome is None
    assert not timer.in_preset or timer.limit_s is not None
    if timer.phase is PresetPhase.IDLE:
        assert timer.clock is CLOCKS[timer.resets_on]
        assert timer.comments_reset is not (timer.clock is not Clock.BYTE)
    if timer.phase is PresetPhase.HEADERS:
        assert (timer.clock, timer.resets_on, timer.comments_reset) == (Clock.BYTE, ResetsOn.HEADER_BLOCK, False)
    if timer.phase is PresetPhase.TOTAL:
        assert timer.resets_on is ResetsOn.NOTHING
        assert not timer.comments_reset


@pytest.mark.parametrize("timer", ROWS)
def test_nobody_is_told_of_a_timer_that_any_segment_resets(timer):
    if timer.phase is PresetPhase.IDLE:
        black_hole = (Outcome.BLACK_HOLE, math.inf) == (timer.outcome, timer.late_slack_s)
        assert black_hole == (timer.resets_on is ResetsOn.SEGMENT)


BYTE, EVENT, TOKEN, _ = Clock


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("nginx", [(HEADERS, BYTE, 60), (IDLE, BYTE, 60)], id="nginx"),
        pytest.param("ingress-nginx", [(IDLE, BYTE, 60)], id="ingress-nginx"),
        pytest.param("haproxy", [(HEADERS, BYTE, 50), (IDLE, BYTE, 50)], id="haproxy"),
        pytest.param("envoy", [(TOTAL, BYTE, 15), (IDLE, BYTE, 300)], id="envoy"),
        pytest.param("istio", [], id="istio"),
        pytest.param("traefik", [], id="traefik"),
        pytest.param("caddy", [], id="caddy"),
        pytest.param("apache-httpd", [(IDLE, BYTE, 60)], id="apache"),
        pytest.param("cloudflare", [(HEADERS, BYTE, 120), (IDLE, BYTE, 120)], id="cloudflare"),
        pytest.param("cloudfront", [(HEADERS, BYTE, 30), (IDLE, BYTE, 30)], id="cloudfront"),
        pytest.param("fastly", [(IDLE, BYTE, 15), (IDLE, BYTE, 10)], id="fastly"),
        pytest.param("aws-alb", [(IDLE, BYTE, 60)], id="alb"),
        pytest.param("aws-nlb", [(IDLE, BYTE, 350)], id="nlb"),
        pytest.param("aws-nat-gateway", [(IDLE, BYTE, 350)], id="nat"),
        pytest.param("aws-api-gateway-rest", [(TOTAL, BYTE, 29)], id="api gateway"),
        pytest.param("azure-load-balancer", [(IDLE, BYTE, 240)], id="azure lb"),
        pytest.param("gcp-external-alb", [(TOTAL, BYTE, 30)], id="gcp alb"),
        pytest.param("gcp-cloud-run", [(TOTAL, BYTE, 300)], id="cloud run"),
        pytest.param("heroku", [(HEADERS, BYTE, 30), (IDLE, BYTE, 55)], id="heroku"),
        pytest.param("litellm-proxy", [(IDLE, BYTE, 600)], id="litellm"),
        pytest.param("httpx", [(IDLE, BYTE, 5)], id="httpx"),
        pytest.param("aiohttp-client", [(TOTAL, BYTE, 300)], id="aiohttp"),
        pytest.param("openai-python", [(IDLE, BYTE, 600)], id="openai-python"),
        pytest.param("undici-node-fetch", [(HEADERS, BYTE, 300), (IDLE, BYTE, 300)], id="undici"),
        pytest.param("okhttp", [(IDLE, BYTE, 10)], id="okhttp"),
        pytest.param("botocore", [(IDLE, BYTE, 60)], id="botocore"),
        pytest.param("langchain-openai", [(IDLE, EVENT, 120), (IDLE, BYTE, 600)], id="langchain"),
        pytest.param("codex-cli", [(IDLE, EVENT, 300)], id="codex"),
        pytest.param("open-webui", [], id="open-webui"),
        pytest.param("vllm", [], id="vllm"),
    ],
)
def test_well_known_numbers(name, expected):
    assert limits(name) == expected


@pytest.mark.parametrize(
    ("name", "phase", "known"),
    [
        pytest.param("nginx", IDLE, (StartsAt.HEADERS, 0.3, 0, Outcome.TRUNCATED, None), id="nginx re-arms lazily"),
        pytest.param("nginx", HEADERS, (StartsAt.REQUEST_SENT, 0, 0, None, 504), id="nginx 504"),
        pytest.param("apache-httpd", IDLE, (StartsAt.REQUEST_SENT, 0, 0, Outcome.TRUNCATED, 502), id="Apache 502"),
        pytest.param("cloudflare", HEADERS, (StartsAt.REQUEST_SENT, 0, 1, None, 524), id="Cloudflare 524"),
        pytest.param("heroku", HEADERS, (StartsAt.REQUEST_SENT, 0, 0, None, 503), id="Heroku H12"),
        pytest.param("envoy", TOTAL, (StartsAt.REQUEST_SENT, 0, 0, Outcome.RESET, 504), id="Envoy UT"),
        pytest.param(
            "aws-nlb", IDLE, (StartsAt.REQUEST_SENT, 0, math.inf, Outcome.BLACK_HOLE, None), id="nobody is told"
        ),
        pytest.param(
            "litellm", IDLE, (StartsAt.REQUEST_SENT, 0, 0, Outcome.ERROR_IN_STREAM, 408), id="LiteLLM says so in-band"
        ),
        pytest.param(
            "aiohttp", TOTAL, (StartsAt.REQUEST_START, 0, 1, Outcome.CLIENT_ERROR, None), id="aiohttp rounds up"
        ),
        pytest.param("codex", IDLE, (StartsAt.HEADERS, 0, 0, Outcome.CLIENT_ERROR, None), id="Codex waits for headers"),
    ],
)
def test_how_it_runs_and_what_the_cut_looks_like(name, phase, known):
    (timeout,) = [timeout for timeout in timeouts_of(name) if timeout.phase is phase]
    seen = (timeout.starts, timeout.early_slack_s, timeout.late_slack_s, timeout.outcome, timeout.header_status)
    assert seen == known


def test_a_timeout_says_whose_it_is_and_where_its_number_comes_from():
    (timeout,) = timeouts_of("ALB ", hop="edge")
    assert (timeout.name, timeout.hop, timeout.preset) == ("aws-alb idle_timeout.timeout_seconds", "edge", "aws-alb")
    assert timeout.source.startswith("https://docs.aws.amazon.com/elasticloadbalancing/")


@pytest.mark.parametrize(
    ("name", "overrides", "expected"),
    [
        pytest.param("alb", {"idle_s": 4000}, [(IDLE, BYTE, 4000)], id="its only timer"),
        pytest.param("nginx", {"idle_s": 600}, [(HEADERS, BYTE, 600), (IDLE, BYTE, 600)], id="one knob, both phases"),
        pytest.param("nginx", {"headers_s": 90}, [(HEADERS, BYTE, 90), (IDLE, BYTE, 90)], id="the knob, other end"),
        pytest.param(
            "nginx", {"headers_s": 90, "idle_s": 600}, [(HEADERS, BYTE, 90), (IDLE, BYTE, 600)], id="both were typed"
        ),
        pytest.param("heroku", {"idle_s": 90}, [(HEADERS, BYTE, 30), (IDLE, BYTE, 90)], id="two knobs"),
        pytest.param("undici", {"idle_s": 900}, [(HEADERS, BYTE, 300), (IDLE, BYTE, 900)], id="two knobs, same number"),
        pytest.param("fastly", {"idle_s": 60}, [(IDLE, BYTE, 15), (IDLE, BYTE, 60)], id="the shortest moves"),
        pytest.param("langchain", {"idle_s": 300}, [(IDLE, EVENT, 300), (IDLE, BYTE, 600)], id="with its own clock"),
        pytest.param("envoy", {"total_s": math.inf}, [(IDLE, BYTE, 300)], id="switched off"),
        pytest.param("webui", {"total_s": 300}, [(TOTAL, BYTE, 300)], id="off by default, total"),
        pytest.param("webui", {"idle_s": 60}, [(IDLE, BYTE, 60)], id="off by default, idle"),
        pytest.param("browser", {"idle_s": 60}, [(HEADERS, BYTE, 300), (IDLE, BYTE, 60)], id="off before a variant"),
        pytest.param("traefik", {"idle_s": 45}, [(IDLE, BYTE, 45)], id="a variant"),
        pytest.param("codex", {"total_s": 900}, [(IDLE, EVENT, 300), (TOTAL, EVENT, 900)], id="none of that phase"),
        pytest.param("vllm", {"idle_s": 60}, [(IDLE, BYTE, 60)], id="none at all"),
    ],
)
def test_overrides(name, overrides, expected):
    assert limits(name, **overrides) == expected


def test_a_typed_number_has_no_source_and_keeps_the_outcome():
    (timeout,) = timeouts_of("webui", total_s=300)
    assert (timeout.starts, timeout.outcome, timeout.late_slack_s) == (StartsAt.REQUEST_START, Outcome.CLIENT_ERROR, 1)
    assert timeout.source is None
    assert {timeout.source for timeout in timeouts_of("nginx", idle_s=600)} == {None}


@pytest.mark.parametrize("limit_s", [0, -1, math.nan])
def test_a_limit_is_more_than_nothing(limit_s):
    with pytest.raises(PresetError, match=r"^idle: \S+ s is no limit of a timer; it must be more than 0$"):
        timeouts_of("nginx", idle_s=limit_s)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("ngnix", "unknown preset 'ngnix'; did you mean nginx?", id="swapped letters"),
        pytest.param("litelm", "unknown preset 'litelm'; did you mean litellm-proxy?", id="missing letter"),
        pytest.param("Open-WebUi2", "unknown preset 'Open-WebUi2'; did you mean open-webui?", id="of an alias, once"),
        pytest.param("zzz", "unknown preset 'zzz'", id="like nothing"),
        pytest.param("", "unknown preset ''", id="empty"),
    ],
)
def test_did_you_mean(name, message):
    with pytest.raises(UnknownPresetError) as raised:
        timeouts_of(name)
    assert str(raised.value) == message


def test_a_part_of_a_name_finds_at_most_five():
    with pytest.raises(UnknownPresetError) as raised:
        preset_named("aws")
    assert len(raised.value.suggestions) == 5
    assert all(suggestion.startswith("aws-") for suggestion in raised.value.suggestions)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        pytest.param("alb", "aws-alb", id="alb"),
        pytest.param("litellm", "litellm-proxy", id="litellm"),
        pytest.param("undici", "undici-node-fetch", id="undici"),
        pytest.param("node", "undici-node-fetch", id="node"),
        pytest.param("aiohttp", "aiohttp-client", id="aiohttp"),
        pytest.param("webui", "open-webui", id="webui"),
        pytest.param("Cloudflare", "cloudflare", id="case"),
    ],
)
def test_aliases(alias, name):
    assert preset_named(alias) is presets()[name]


def test_the_catalogue_is_all_that_is_on_by_default_and_cuts():
    known = {timeout.name for timeout in catalogue()}
    in_presets = {timeout.name for name in presets() for timeout in timeouts_of(name)}
    assert in_presets < known
    assert {"aws-api-gateway-rest-stream stream idle timeout (edge-optimized)"} <= known - in_presets
    assert all(0 < timeout.limit_s < math.inf and timeout.source for timeout in catalogue())
    assert not [name for name in known if "keepalive_timeout" in name or "proxy_connect_timeout" in name]


SILENT = answer(end=DeadlineExceeded(at=700, phase=Phase.HEADERS))


@pytest.mark.parametrize("name", presets())
def test_every_default_fires_on_a_stream_that_never_says_anything_unless_it_waits_for_something(name):
    for timeout in timeouts_of(name):
        armed = timeout.starts in {StartsAt.REQUEST_SENT, StartsAt.REQUEST_START}
        assert isinstance(forecast(timeout, SILENT), Fires) == (armed and timeout.limit_s < 700), timeout.name


def test_presets_answer_the_founding_question():
    """Reasoning for 152 s behind pings: who cuts first, from the user down?"""
    seen = answer(headers(15), every(15, 15, 150, ping), say(152), done(153))
    timeout, cut = first_cut([t for name in ("alb", "nginx", "langchain") for t in timeouts_of(name)], seen)
    assert (timeout.preset, cut.at) == ("langchain-openai", 135)
    thinking = answer(headers(15), every(15, 15, 150, think), say(152), done(153))
    assert all(isinstance(forecast(timer, thinking), Survives) for timer in timeouts_of("langchain"))


def test_fastly_waits_for_the_first_byte_of_the_body_before_it_counts_between_bytes():
    slow_start = answer(headers(0.1), say(12), done(13))
    assert [type(forecast(timer, slow_start)) for timer in timeouts_of("fastly")] == [Survives, Survives]
    too_slow = answer(headers(0.1), say(20), done(21))
    assert [type(forecast(timer, too_slow)) for timer in timeouts_of("fastly")] == [Fires, Survives]


def test_a_broken_row_is_our_own_bug_and_says_so():
    with pytest.raises(ValueError, match="'idel' is not a valid PresetPhase"):
        _timer({"setting": "x", "phase": "idel", "limit": 1})
