"""One question with its numbers drawn, its known answer, and the wish for a last line in the question's language.

The wish is part of the measurement: without an agreed last line a right answer can hide in prose. A question without a
known answer gets no such line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from canary.core.spec import QuestionTemplate
from canary.prompts.draw import integer
from canary.prompts.solvers import SOLVERS

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

LAST_LINES: Mapping[str, str] = {
    "en": "End your reply with one line of exactly this form: ANSWER: <number>",
    "ko": "답변의 마지막 줄에는 다음 형식으로 최종 답만 적어 주세요. ANSWER: <숫자>",
    "zh": "请在回答的最后单独用一行写出最终答案，格式为 ANSWER: <数字>",  # noqa: RUF001  # Chinese punctuation
    "ja": "回答の最後の行には、次の形式で最終的な答えだけを書いてください。ANSWER: <数値>",
    "de": "Beende deine Antwort mit einer Zeile genau dieser Form: ANSWER: <Zahl>",
    "fr": "Termine ta réponse par une ligne ayant exactement cette forme : ANSWER: <nombre>",
    "es": "Termina tu respuesta con una línea que tenga exactamente esta forma: ANSWER: <número>",
}  # any other language code gets the English line


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`answer` in decimal digits; None where nobody knows it. `needle` goes into the document."""

    text: str
    answer: str | None
    language: str
    needle: str | None = None


def draw(template: QuestionTemplate, *, seed: int) -> Question:
    """The same seed gives the same question. The template is taken to be valid: `config.probes` checks it."""
    numbers = {name: integer(seed, name, low, high) for name, (low, high) in template.draws.items()}
    text, answer = _fill(template.text.strip(), numbers), None
    if template.solver is not None:
        answer = SOLVERS[template.solver](*(numbers[name] for name in template.arguments))
        text = f"{text}\n\n{last_line(template.language)}"
    needle = None if template.needle is None else _fill(template.needle.strip(), numbers)
    return Question(text=text, answer=answer, language=template.language, needle=needle)


def last_line(language: str) -> str:
    """The wish for the last line, by the language's primary subtag: `zh-CN` reads as `zh`."""
    return LAST_LINES.get(re.split("[-_]", language.lower())[0], LAST_LINES["en"])


def places(text: str) -> tuple[str, ...]:
    """The names in the `{name}` places of a text, in order, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(text)))


def _fill(text: str, numbers: Mapping[str, int]) -> str:
    """A place that nothing draws stays as it is: a user's own prompt may hold braces."""
    return _PLACE.sub(lambda place: str(numbers.get(place[1], place[0])), text)
