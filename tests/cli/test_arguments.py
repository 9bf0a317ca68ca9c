import pytest

from canary.cli.arguments import chat_url, parse_headers, parse_params, parse_preset, parse_timeout
from canary.cli.errors import UsageError
from canary.core.secret import Secret
from canary.core.timeout import Clock, Timeout, TimerPhase


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000/v1/chat/completions"),
        ("http://127.0.0.1:4000/", "http://127.0.0.1:4000/v1/chat/completions"),
        ("https://llm.example/v1/", "https://llm.example/v1/chat/completions"),
        ("https://ui.example/api/chat/completions", "https://ui.example/api/chat/completions"),
        ("http://[::1]:8000/v1?key=a", "http://[::1]:8000/v1/chat/completions?key=a"),
    ],
)
def test_a_base_url_gets_the_path_that_clients_add(typed: str, url: str):
    assert url == chat_url(typed)


@pytest.mark.parametrize(
    "typed",
    ["", "host:4000", "ftp://host/v1", "http://", "/v1/chat/completions", "http://:80", "http://h:0", "http://[::1"],
)
def test_what_is_no_absolute_url_is_refused(typed: str):
    with pytest.raises(UsageError, match="expected an absolute URL like"):
        chat_url(typed)


@pytest.mark.parametrize(
    ("texts", "body"),
    [
        (["thinking_token_budget=64"], {"thinking_token_budget": 64}),
        (["a.b=true", "a.c=null"], {"a": {"b": True, "c": None}}),
        (["reasoning_effort=low"], {"reasoning_effort": "low"}),
        (["stop=[1, 2]", "x="], {"stop": [1, 2], "x": ""}),
        (["a=b=c"], {"a": "b=c"}),
        (["a=NaN", "b=1e999"], {"a": "NaN", "b": "1e999"}),  # Python reads them as numbers; JSON has none such
    ],
)
def test_parameters_are_json_under_dotted_names(texts: list[str], body: dict):
    assert body == parse_params(texts)


@pytest.mark.parametrize("texts", [["a"], ["=1"], [".=1"], ["a=1", "a.b=2"]])
def test_parameters_that_make_no_sense_are_refused(texts: list[str]):
    with pytest.raises(UsageError, match="--param"):
        parse_params(texts)


@pytest.mark.parametrize(
    ("text", "timer"),
    [
        ("edge:idle:byte:60", Timeout(name="edge", phase=TimerPhase.IDLE, clock=Clock.BYTE, limit_s=60.0)),
        ("a:b:total:visible:1m", Timeout(name="a:b", phase=TimerPhase.TOTAL, clock=Clock.VISIBLE, limit_s=60.0)),
        ("x:headers:event:250ms", Timeout(name="x", phase=TimerPhase.HEADERS, clock=Clock.EVENT, limit_s=0.25)),
    ],
)
def test_a_timer_has_four_parts(text: str, timer: Timeout):
    assert timer == parse_timeout(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("edge", "expected NAME:kind:clock:seconds, like edge:idle:byte:60"),
        (":idle:byte:60", "expected NAME:kind:clock:seconds"),
        ("edge:idel:byte:60", "kind 'idel': expected headers, idle, total"),
        ("edge:idle:bytes:60", "clock 'bytes': expected byte, event, token, visible"),
        ("edge:idle:byte:soon", "'soon' is not a duration"),
    ],
)
def test_a_bad_timer_says_what_was_expected(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_timeout(text)


def test_a_preset_may_be_given_another_limit():
    assert 30.0 in {timer.limit_s for timer in parse_preset("nginx=30s")}


@pytest.mark.parametrize(("text", "message"), [("ngnix", "did you mean nginx"), ("nginx=x", "is not a duration")])
def test_a_bad_preset_says_why(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        parse_preset(text)


def test_headers_are_secrets():
    headers = parse_headers(["X-Key: abc:def"], api_key_env=None)
    assert headers == {"X-Key": Secret("abc:def")}


@pytest.mark.parametrize("text", ["X-Key abc", ": abc"])
def test_a_bad_header_is_refused_without_being_shown(text: str):
    with pytest.raises(UsageError) as refused:
        parse_headers([text], api_key_env=None)
    assert "abc" not in str(refused.value)


def test_a_missing_key_variable_is_named():
    with pytest.raises(UsageError, match="CANARY_TEST_NO_SUCH_VARIABLE"):
        parse_headers([], api_key_env="CANARY_TEST_NO_SUCH_VARIABLE")
