import json

import pytest

from canary.core.spec import Probe, QuestionTemplate
from canary.prompts.compose import compose

EASY = QuestionTemplate(text="{a} + {a}?", draws={"a": (1, 9)}, solver="sum", arguments=("a", "a"))
HARD = QuestionTemplate(
    text="The code, {a}?", draws={"a": (1, 9)}, needle="It is {a}.", solver="value", arguments=("a",)
)


def probe(**settings):
    return Probe(name="p", summary="s", questions=(EASY, HARD), **settings)


def test_the_nonce_stands_first_and_the_question_last():
    composed = compose(probe(context_tokens=500), seed=1, nonce="7f3a")
    assert composed.text.startswith("[probe 7f3a]\n")
    assert composed.text.endswith("ANSWER: <number>")
    assert 1600 < composed.text.index("?") < 2400


def test_only_the_nonce_differs_between_hops():
    one, other = (compose(probe(), seed=1, nonce=mark) for mark in ("aa", "bb"))
    assert one.text.replace("aa", "bb") == other.text
    assert one.answer == other.answer


@pytest.mark.parametrize(("index", "begins"), [(0, "+"), (1, "The code"), (2, "+"), (5, "The code")])
def test_the_index_chooses_the_question(index, begins):
    assert begins in compose(probe(), seed=1, nonce="x", index=index).text


def test_without_context_the_needle_alone_is_the_document():
    composed = compose(probe(), seed=1, nonce="x", index=1)
    assert composed.text.startswith(f"[probe x]\nIt is {composed.answer}.\n\nThe code")


def test_a_tool_is_offered_only_to_tool_call_probes():
    assert compose(probe(), seed=1, nonce="x").tools is None
    (tool,) = compose(probe(tool_call=True), seed=1, nonce="x").tools
    assert (tool["type"], tool["function"]["name"]) == ("function", "get_stock_level")
    assert tool["function"]["parameters"]["required"] == [*tool["function"]["parameters"]["properties"]]
    json.dumps(tool)
