import pytest

from canary.demo.generation import Model, Rejection, generate, rejection

MODEL = Model(name="m", reasoning_tokens=100, answer_tokens=20)


def request(**extra):
    return {"model": "m", "messages": [{"role": "user", "content": "why?"}], **extra}


@pytest.mark.parametrize(
    ("extra", "reasoning"),
    [
        pytest.param({}, 100, id="natural length"),
        pytest.param({"thinking_token_budget": 16}, 16, id="budget"),
        pytest.param({"thinking_token_budget": 0}, 0, id="budget 0"),
        pytest.param({"thinking_token_budget": -1}, 100, id="budget -1 is no limit"),
        pytest.param({"thinking_token_budget": None}, 100, id="a null is absent"),
        pytest.param({"thinking_token_budget": 500}, 100, id="a budget that does not bind"),
        pytest.param({"thinking_budget": 16}, 100, id="unknown key"),
        pytest.param({"extra_body": {"thinking_token_budget": 16}}, 100, id="literal extra_body"),
        pytest.param({"chat_template_kwargs": {"thinking_token_budget": 16}}, 100, id="nested budget"),
        pytest.param({"chat_template_kwargs": {"enable_thinking": False}}, 0, id="thinking off"),
        pytest.param({"reasoning_effort": "none"}, 0, id="effort none"),
        pytest.param({"reasoning_effort": "low"}, 100, id="another effort changes nothing"),
        pytest.param(
            {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}}, 100, id="the caller wins"
        ),
        pytest.param({"include_reasoning": False}, 100, id="hidden is not shorter"),
    ],
)
def test_reasoning_is_as_long_as_the_request_allows(extra, reasoning):
    made = generate(request(**extra), MODEL, "42")
    assert reasoning == len(made.reasoning)
    assert made.finish_reason == "stop"
    assert "".join(made.content).endswith("The answer is 42")


@pytest.mark.parametrize(
    ("extra", "reasoning", "content", "finish"),
    [
        pytest.param({"max_tokens": 50}, 50, 0, "length", id="all of it reasoning"),
        pytest.param({"max_tokens": 101}, 100, 0, "length", id="the closing mark counts"),
        pytest.param({"max_tokens": 106}, 100, 5, "length", id="in the answer"),
        pytest.param({"max_tokens": 121}, 100, 20, "length", id="all but the end token"),
        pytest.param({"max_tokens": 122}, 100, 20, "stop", id="just enough"),
        pytest.param({"max_tokens": 900, "max_completion_tokens": 50}, 50, 0, "length", id="the newer name wins"),
        pytest.param({"max_tokens": 5, "reasoning_effort": "none"}, 0, 5, "length", id="no mark without reasoning"),
    ],
)
def test_length_cuts_reasoning_and_content_together(extra, reasoning, content, finish):
    made = generate(request(**extra), MODEL, "42")
    assert (reasoning, content, finish) == (len(made.reasoning), len(made.content), made.finish_reason)
    assert made.completion_tokens <= extra.get("max_completion_tokens", extra["max_tokens"])


@pytest.mark.parametrize(
    ("extra", "param"),
    [
        pytest.param({"thinking_token_budget": "64"}, "thinking_token_budget", id="budget as text"),
        pytest.param({"thinking_token_budget": 64.0}, "thinking_token_budget", id="budget as float"),
        pytest.param({"thinking_token_budget": True}, "thinking_token_budget", id="budget as boolean"),
        pytest.param({"thinking_token_budget": -2}, "thinking_token_budget", id="budget below -1"),
        pytest.param({"max_tokens": 0}, "max_tokens", id="no tokens"),
        pytest.param({"messages": []}, "messages", id="no messages"),
        pytest.param({"messages": "hi"}, "messages", id="messages as text"),
        pytest.param({"stream": "yes"}, "stream", id="stream as text"),
        pytest.param({"stream_options": {"include_usage": True}}, "stream_options", id="options without a stream"),
        pytest.param({"temperature": "hot"}, "temperature", id="temperature as text"),
        pytest.param({"reasoning_effort": "huge"}, "reasoning_effort", id="no such effort"),
        pytest.param({"chat_template_kwargs": []}, "chat_template_kwargs", id="kwargs as a list"),
    ],
)
def test_wrong_values_are_refused_by_name(extra, param):
    refused = rejection(request(**extra), MODEL)
    assert refused is not None
    assert (400, param) == (refused.status, refused.param)
    assert param in refused.message


def test_an_unknown_model_is_not_found():
    expected = Rejection(status=404, kind="NotFoundError", message="The model `nope` does not exist.", param="model")
    assert expected == rejection(request(model="nope"), MODEL)


def test_unknown_keys_are_accepted():
    assert rejection(request(thinking_budget="x", cache={"no-cache": True}, user="canary"), MODEL) is None


def test_a_request_without_messages_is_refused():
    refused = rejection({"model": "m"}, MODEL)
    assert refused is not None
    assert refused.param == "messages"


def test_reasoning_is_varied_and_depends_on_the_prompt_only():
    one, again = generate(request(), MODEL, None), generate(request(temperature=1), MODEL, "7")
    other = generate({"messages": [{"role": "user", "content": [{"type": "text", "text": "who?"}]}]}, MODEL, None)
    assert one.reasoning == again.reasoning != other.reasoning
    assert len(set(one.reasoning)) > 30
    assert not any(character.isdigit() for character in "".join(one.reasoning + one.content))
