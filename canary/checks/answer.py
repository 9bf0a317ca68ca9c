"""Does the visible answer hold the known result?

Judged only where the probe knows its answer, and on visible text alone: a right answer inside the reasoning helps no
reader. What counts as the answer, in this order:

1. the last ANSWER line that holds a number, in whatever dress a model gives it: any case, bold, `\\boxed{}`, full-width
   signs, its Korean, Chinese or Japanese word, the number in the next line;
2. without one, the last number of the text. That is a guess: where the known result stands elsewhere in the text, a
   person may well have read the answer there, and the verdict is UNKNOWN.

Numbers are compared as numbers. A number that can be read in two ways (`1.234`, `12 or 13`, `1만 2345`) fails nobody
if one of them is right; it does not pass either. Text that was cut off may have lost the answer: UNKNOWN as well.

The text comes from a model and is hostile: only its end is read, and every pattern is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from canary.analysis.ticks import ends_whole
from canary.checks.evidence import Evidence, cannot_judge, unknown, unusable
from canary.core.observation import Observation
from canary.core.stream import Relabelled, VisibleDelta
from canary.core.verdict import Status, Verdict

NAME = "answer"

_READ_CHARS = 64 * 1024  # from the end; nobody looks for an answer further up
_MARKERS = 100  # ANSWER lines looked at, from the last
_VALUE_CHARS = 200  # of a line after its ANSWER
_QUOTED_CHARS = 40
_OUT_OF_TOKENS = ("length", "max_tokens", "max_output_tokens")

_PLAIN = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},  # full-width ASCII
    **dict.fromkeys(map(ord, "\u00a0\u2009\u202f\u3000"), " "),  # blanks that group digits
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    0x2019: "'",
    0x3002: ".",
}
_LATEX_GROUPING = re.compile(r"(?<=\d)(?:\{,\}|\\[,;:! ])(?=\d{3})")
_MARKER = re.compile(
    r"(?:\banswer|정답|답안?|答案|答え|回答|答)[*_`\"'\]\)} ]{0,9}(?::|은(?=\W)|는(?=\W)|是|为|為|\bis\b(?!\s*:))|\\f?boxed\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?:(?<![A-Za-z0-9_)\]}.])[-+])?(?<![A-Za-z0-9_.])"
    r"(?:\d{1,3}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*(?!\d)|\d+)(?:\.\d+)*"
)
_SCALED = re.compile(r"\s{0,2}(?:[만억조万亿兆萬億⁰¹²³⁴⁵⁶⁷⁸⁹^]|thousand|million|billion)", re.IGNORECASE)
_DRESSING = re.compile(r"[\s*_`$#>\\\[({:=]*(?:text|mathrm|mathbf|boxed)?[\s{]*\Z")


@dataclass(frozen=True, slots=True)
class _Number:
    """`values`: how it can be read, the most likely reading first. `stop`: where it ends in the text."""

    text: str
    values: tuple[Decimal, ...]
    stop: int


def check(evidence: Evidence) -> list[Verdict]:
    if evidence.expected_answer is None:
        return []
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    text = _visible_text(evidence.observation)
    if not text.strip():
        return [unknown(NAME, "nothing_visible", "not judged: there is no visible text")]
    if not ends_whole(evidence.observation):
        return [unknown(NAME, "cut", "not judged: the stream broke off, and the answer comes last")]
    return [_judge(_plain(text), Decimal(evidence.expected_answer), evidence.measurement.finish_reason)]


def _judge(text: str, expected: Decimal, finish_reason: str | None) -> Verdict:
    stated = _answer_line(text)
    if finish_reason in _OUT_OF_TOKENS and (not stated or stated[-1].stop == len(text)):
        message = f"not judged: finish_reason={finish_reason} before the line with the answer was whole"
        return unknown(NAME, "out_of_tokens", message)
    numbers = stated or list(_numbers(text))
    if not numbers:
        return _verdict(Status.FAIL, "no_answer", f"the visible text holds no number, expected {_short(expected)}", expected)
    said = numbers[-1]
    clear = len(numbers) == 1 or not stated
    if clear and said.values[0] == expected:
        return _verdict(Status.PASS, "right", f"the answer is {_short(expected)}, as expected", expected, said)
    if any(expected in number.values for number in numbers) or _scaled(text, numbers):
        message = f"cannot tell {said.text[:_QUOTED_CHARS]!r} from the expected {_short(expected)}"
        return unknown(NAME, "unclear", message)
    where = "the answer is" if stated else "the last number is"
    message = f"{where} {said.text[:_QUOTED_CHARS]!r}, expected {_short(expected)}"
    return _verdict(Status.FAIL, "wrong_answer", message, expected, said)
