r"""Does the visible answer hold the known result?

Judged only where the probe knows its answer, and on visible text alone: a right answer inside the reasoning helps no
reader. What counts as the answer, in this order:

1. the last ANSWER line that holds a number, in whatever dress a model gives it: any case, bold, `\boxed{}`, full-width
   signs, its Korean, Chinese or Japanese word, the number in the next line;
2. without one, the last number of the text. That is a guess: where the known result stands elsewhere in the text, a
   person may well have read the answer there, and the verdict is UNKNOWN.

Numbers are compared as numbers. What can be read in two ways (`1.234`, `12 or 13`, `1만 2345`) fails nobody if one of
them is right; it does not pass either. Text that was cut off may have lost the answer: UNKNOWN as well.

The text comes from a model and is hostile: only its end is read, and every pattern is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, unknown, unusable
from canary.core.observation import Observation
from canary.core.stream import Relabelled, VisibleDelta
from canary.core.verdict import Status, Verdict

NAME = "answer"

_READ_CHARS = 64 * 1024  # from the end; nobody looks for an answer further up
_MARKERS = 100  # ANSWER lines looked at, from the last
_VALUE_CHARS = 1000  # of the text after an ANSWER
_QUOTED_CHARS = 40
_OUT_OF_TOKENS = ("length", "max_tokens", "max_output_tokens")

_PLAIN: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},  # full-width ASCII
    **dict.fromkeys((0x00A0, 0x2007, 0x2009, 0x202F, 0x3000), " "),  # blanks that group digits
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
    0x2019: "'",
}
_LATEX_GROUPING = re.compile(r"(?<=\d)(?:\{,\}|\\[,;:! ])(?=\d{3})")
_WORD = (
    r"(?:\banswer|정답|최종 ?답|(?<![\uac00-\ud7a3])답안?|答案|答え|回答|(?<![\u4e00-\u9fff])答)"
    r"[*_`\"'\])} ]{0,9}"  # the end of its dressing
)
_MARKER = re.compile(
    rf"{_WORD}(?:(?:is|是|为|為|은|는|は)?[*_` ]{{0,5}}:"  # then whatever the line holds
    r"|(?:is|是|为|為|은|는|は)[\s*_`$\\({\[]{0,9}(?=[-+]?\d))"  # prose: the number must follow
    r"|\\f?boxed ?\{",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?P<sign>(?<![A-Za-z0-9_)\]}])[-+])?(?<![A-Za-z_\d])(?<![\s\d]\.)"
    r"(?P<digits>\d{1,3}(?P<group>[, '])\d{3}(?:(?P=group)\d{3})*(?!\d)|\d+)(?P<fraction>(?:\.\d+)*)"
)
_SCALED = re.compile(r"\s{0,2}(?:만(?!큼)|[억조万亿兆萬億⁰¹²³⁴⁵⁶⁷⁸⁹^]|thousand|million|billion)", re.IGNORECASE)
_NOTHING_YET = re.compile(r"[\s*_`$>#\\\[({:]*\Z")  # a line that only opens what holds the number


@dataclass(frozen=True, slots=True)
class _Number:
    """`values`: the ways in which it can be read, the most likely first. `stop`: where it ends in the text."""

    text: str
    values: tuple[Decimal, ...]
    stop: int


def check(evidence: Evidence) -> list[Verdict]:
    if evidence.expected_answer is None:
        return []
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    if evidence.measurement.time_to_first_visible_content_s is None:
        return [unknown(NAME, "nothing_visible", "not judged: there is no visible text")]
    if not answer_over(evidence.observation):
        return [unknown(NAME, "cut", "not judged: the stream broke off, and the answer comes last")]
    text = _visible_text(evidence.observation)
    return [_judge(text, Decimal(evidence.expected_answer), evidence.measurement.finish_reason)]


def _judge(text: str, expected: Decimal, finish_reason: str | None) -> Verdict:
    stated = _answer_line(text)
    if finish_reason in _OUT_OF_TOKENS and not (stated and text[stated[-1].stop :].strip(" ,.'")):
        message = f"not judged: finish_reason={finish_reason} before a whole line with the answer"
        return unknown(NAME, "out_of_tokens", message)
    numbers = stated or list(_numbers(text))
    if not numbers:
        return _verdict(Status.FAIL, "no_answer", f"the visible text holds no number, expected {_short(expected)}")
    said = numbers[-1]
    message = f"{'the answer' if stated else 'the last number'} is {_short(said.text)}, expected {_short(expected)}"
    scaled = any(_SCALED.match(text, number.stop) for number in stated or [said])
    alone = len({number.values[0] for number in stated}) <= 1
    if said.values[0] == expected and alone and not scaled:
        return _verdict(Status.PASS, "right", message)
    if scaled or any(expected in number.values for number in numbers):
        return unknown(NAME, "unclear", f"the text can be read in more than one way: {message}")
    return _verdict(Status.FAIL, "wrong_answer", message)


def _answer_line(text: str) -> list[_Number]:
    """The numbers of the last ANSWER line that has any; none where there is no such line."""
    markers = list(_MARKER.finditer(text))[-_MARKERS:]
    return next((numbers for marker in reversed(markers) if (numbers := _stated(text, marker))), [])


def _stated(text: str, marker: re.Match[str]) -> list[_Number]:
    """After an equals sign only the result counts; what stands in brackets after the number is a remark."""
    start, stop = _value_line(text, marker.end())
    numbers = list(_numbers(text, start, stop))
    if not numbers:
        return []
    closers = "}" if marker[0].endswith("{") else "(["
    ends = [at for closer in closers if (at := text.find(closer, numbers[0].stop, stop)) >= 0]
    stop = min(ends, default=stop)
    equals = text.rfind("=", start, stop)
    result = list(_numbers(text, equals + 1, stop)) if equals >= 0 else []
    return result or [number for number in numbers if number.stop <= stop]


def _value_line(text: str, start: int) -> tuple[int, int]:
    """Where the rest of the line begins and ends, or the next line that is more than an opening bracket."""
    limit = min(len(text), start + _VALUE_CHARS)
    while True:
        stop = text.find("\n", start, limit)
        stop = limit if stop < 0 else stop
        if stop == limit or not _NOTHING_YET.match(text[start:stop]):
            return start, stop
        start = stop + 1


def _numbers(text: str, start: int = 0, stop: int | None = None) -> Iterator[_Number]:
    for match in _NUMBER.finditer(text, start, len(text) if stop is None else stop):
        if values := _readings(match):
            if match["sign"] == "-":
                values = tuple(value.copy_negate() for value in values)  # arithmetic would round to 28 digits
            yield _Number(match[0], values, match.end())


def _readings(match: re.Match[str]) -> tuple[Decimal, ...]:
    """The ways to read a number, the most likely first; none for what is no number, like a version."""
    digits, group, fraction = match["digits"], match["group"], match["fraction"]
    if group and fraction.count(".") > 1:
        return ()
    if group:
        parts = digits.split(group)
        decimal_comma = [".".join(parts)] if len(parts) == 2 and not fraction else []
        return tuple(map(Decimal, ("".join(parts) + fraction, *decimal_comma, *parts)))
    dotted = [digits, *fraction.split(".")[1:]]
    grouped = len(digits) <= 3 and all(len(part) == 3 for part in dotted[1:])
    readings = ([digits + fraction] if len(dotted) <= 2 else []) + (["".join(dotted)] if fraction and grouped else [])
    return tuple(map(Decimal, readings))


def _visible_text(observation: Observation) -> str:
    """The end of it, in plain signs. What a later mark showed to be reasoning was never an answer."""
    pieces: list[str] = []
    length = 0
    for event in reversed(observation.events):
        if isinstance(event, Relabelled) or length >= _READ_CHARS:
            break
        if isinstance(event, VisibleDelta):
            pieces.append(event.text[-_READ_CHARS:])
            length += len(pieces[-1])
    text = "".join(reversed(pieces))[-_READ_CHARS:]
    return _LATEX_GROUPING.sub(",", text.translate(_PLAIN))


def _short(number: Decimal | str) -> str:
    text = f"{number:f}" if isinstance(number, Decimal) else number
    return text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…"


def _verdict(status: Status, reason: str, message: str) -> Verdict:
    return Verdict(check=NAME, status=status, reason=reason, message=message)
