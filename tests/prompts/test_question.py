import re

import pytest

from canary.core.spec import QuestionTemplate
from canary.prompts.question import LAST_LINES, draw, last_line, places

SUM = QuestionTemplate(
    text=" {a} + {b}, {a}! ", draws={"a": (10, 99), "b": (-9, -1)}, solver="sum", arguments=("a", "b")
)


def test_the_same_seed_gives_the_same_question():
    assert draw(SUM, seed=7) == draw(SUM, seed=7)
    assert len({draw(SUM, seed=seed).text for seed in range(100)}) > 50


@pytest.mark.parametrize("seed", range(50))
def test_the_answer_is_that_of_the_numbers_shown(seed):
    question = draw(SUM, seed=seed)
    a, b, again = map(int, re.findall(r"-?\d+", question.text))
    assert (a, str(a + b)) == (again, question.answer)
    assert 10 <= a <= 99
    assert -9 <= b <= -1


def test_the_wish_for_a_last_line_stands_at_the_end():
    assert draw(SUM, seed=1).text.endswith(f"!\n\n{LAST_LINES['en']}")


def test_without_a_known_answer_there_is_no_wish_for_one():
    question = draw(QuestionTemplate(text="Say {a}.", draws={"a": (3, 3)}, language="ko"), seed=1)
    assert (question.text, question.answer, question.language, question.needle) == ("Say 3.", None, "ko", None)


def test_the_needle_has_the_same_numbers():
    template = QuestionTemplate(
        text="Which code?", needle=" It is {c}.\n", draws={"c": (10, 99)}, solver="value", arguments=("c",)
    )
    question = draw(template, seed=4)
    assert question.needle == f"It is {question.answer}."
    assert question.answer not in question.text


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("en", "en"),
        ("ko", "ko"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("ZH_tw", "zh"),
        ("en-GB", "en"),
        ("tlh", "en"),
        ("kok", "en"),
    ],
)
def test_the_last_line_speaks_the_questions_language(code, language):
    assert LAST_LINES[language] == last_line(code)


@pytest.mark.parametrize("language", LAST_LINES)
def test_every_last_line_asks_for_the_same_form(language):
    assert re.search(r"ANSWER: <\w+>$", LAST_LINES[language])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{a} and {b_1} and {a}", ("a", "b_1")),
        ("{a.b} {a!r} {a:>9} {0} {} {{a}}", ("a",)),
        ("\\frac{1}{2}", ()),
    ],
)
def test_places(text, names):
    assert names == places(text)
