"""Probe files: the canned ones of `probes/` and anybody's own, read strictly and checked as far as a reader can.

A probe that shows a number which nothing draws, or that draws one outside of its solver's bounds, would fail in the
middle of the night. So all of that is found here, with file and line, and all of it at once.

The canned files stand in `probes/` of a checkout and in `canary/_probes` of an installed package (pyproject.toml puts
them there). Both are looked up from this package's own folder, never from the working directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path as File
from types import MappingProxyType
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from canary.checks import CHECKS
from canary.config.errors import Path, Problem, did_you_mean, one_of, quoted
from canary.config.fields import Body, Text, known, unfit
from canary.config.source import Document, read
from canary.config.translate import problems_of
from canary.core.observation import Json
from canary.core.spec import Probe, QuestionTemplate
from canary.prompts.question import places
from canary.prompts.solvers import SOLVERS, Solver

INSTALLED_FOLDER = "_probes"  # below the package; pyproject.toml says the same name
_PACKAGE = File(__file__).resolve().parent.parent

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")
_LEAST_MAX_TOKENS = 64  # a reasoning model says nothing visible in fewer
_MOST_TOKENS = 2_000_000
_HOTTEST = 2.0  # what the common protocols allow


class ProbeError(ValueError):
    """Every problem of a probe file. Its text is one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__("\n".join(str(problem) for problem in self.problems))


@cache
def canned_probes() -> Mapping[str, Probe]:
    """The probes that come with the program, by name."""
    installed = _PACKAGE / INSTALLED_FOLDER
    folder = installed if installed.is_dir() else _PACKAGE.parent / "probes"
    probes = {probe.name: probe for probe in map(load_probe, sorted(folder.glob("*.yaml")))}
    if not probes:
        msg = f"{folder} holds no probes: the installation is not whole"
        raise FileNotFoundError(msg)
    return MappingProxyType(probes)


def load_probe(path: File) -> Probe:
    """One probe file. Raises ProbeError with all of its problems."""
    document = read(path, str(path))
    if document.data is None and document.problems:
        raise ProbeError(document.problems)
    problems = [*document.problems, *_unruly(document)]
    try:
        section = ProbeSection.model_validate(document.data)
    except ValidationError as error:
        raise ProbeError([*problems, *problems_of(error, document, ProbeSection)]) from None
    if problems:
        raise ProbeError(problems)
    return _probe(section)


def _matching(pattern: re.Pattern[str], expected: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise unfit(expected)
        return text

    return AfterValidator(check)


def _within(low: float, high: float) -> AfterValidator:
    def check(number: float) -> float:
        if not low <= number <= high:
            raise unfit(f"{low:g} to {high:,g}" if high < 10 else f"{low:,} to {high:,}")
        return number

    return AfterValidator(check)


def _range(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or not all(type(end) is int for end in value):
        raise unfit("the smallest and the largest number, like [2, 9]", found=_inline(value))
    low, high = value
    if low > high:
        raise unfit("the smaller number first", found=_inline(value), suggestion=f"write [{high}, {low}]")
    return low, high


def _inline(value: object) -> str | None:
    return json.dumps(value) if isinstance(value, list) and len(str(value)) < 60 else None


Range: TypeAlias = Annotated[tuple[int, int], PlainValidator(_range)]
CheckName: TypeAlias = Annotated[Text, AfterValidator(known("check", lambda: CHECKS))]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class QuestionSection(_Section):
    language: Annotated[Text, _matching(_LANGUAGE, "a language code like en, ko or zh-CN")]
    text: Text
    draw: dict[str, Range] = {}
    answer: dict[str, list[Text]] | None = None
    needle: Text | None = None


class ProbeSection(_Section):
    name: Annotated[Text, _matching(_NAME, "small letters, digits and hyphens")]
    summary: Text
    max_tokens: Annotated[int, _within(_LEAST_MAX_TOKENS, _MOST_TOKENS)]
    temperature: Annotated[float, _within(0, _HOTTEST)] | None = None
    context_tokens: Annotated[int, _within(0, _MOST_TOKENS)] = 0
    tool_call: bool = False
    checks: Annotated[list[CheckName], Field(min_length=1)] | None = None
    body: Body = {}
    questions: Annotated[list[QuestionSection], Field(min_length=1)]


def _probe(section: ProbeSection) -> Probe:
    return Probe(
        name=section.name,
        summary=section.summary,
        questions=tuple(map(_template, section.questions)),
        max_tokens=section.max_tokens,
        temperature=section.temperature,
        context_tokens=section.context_tokens,
        tool_call=section.tool_call,
        checks=None if section.checks is None else tuple(section.checks),
        body=MappingProxyType(section.body),
    )


def _template(section: QuestionSection) -> QuestionTemplate:
    solver, arguments = next(iter(section.answer.items())) if section.answer else (None, [])
    return QuestionTemplate(
        text=section.text,
        language=section.language,
        draws=MappingProxyType(section.draw),
        solver=solver,
        arguments=tuple(arguments),
        needle=section.needle,
    )


def _unruly(document: Document) -> Iterator[Problem]:
    """What several values must fulfil together, for each question whose single values are right."""
    data: Json = document.data
    questions = data.get("questions") if isinstance(data, dict) else None
    for index, item in enumerate(questions if isinstance(questions, list) else []):
        try:
            section = QuestionSection.model_validate(item)
        except ValidationError:
            continue  # whoever validates the whole file says so
        for path, found, expected, hint in (*_undrawn(section), *_unused(section), *_unsolvable(section)):
            whole = ("questions", index, *path)
            yield Problem(
                file=document.file,
                line=document.key_lines.get(whole) or document.line_of(whole),
                path=whole,
                found=found,
                expected=expected,
                suggestion=hint,
            )


_Complaint: TypeAlias = tuple[Path, str, str, str | None]  # path in the question, found, expected, suggestion


def _undrawn(section: QuestionSection) -> Iterator[_Complaint]:
    names = sorted(section.draw)
    expected = f"a name that is drawn: {one_of(names)}" if names else 'a name that is drawn; there is no "draw"'
    for key in ("text", "needle"):
        for place in places(getattr(section, key) or ""):
            if place not in names:
                yield (key,), f"the place {{{place}}}", expected, did_you_mean(place, names)
    for solver, arguments in (section.answer or {}).items():
        for index, argument in enumerate(arguments):
            if argument not in names:
                yield ("answer", solver, index), quoted(argument), expected, did_you_mean(argument, names)


def _unused(section: QuestionSection) -> Iterator[_Complaint]:
    """A question must name the numbers that its answer rests on, in its text or in the document."""
    told = {*places(section.text), *places(section.needle or "")}
    for name in section.draw:
        if name not in told:
            yield ("draw", name), f"{quoted(name)}, which nothing tells", f"{{{name}}} in the text or the needle", None


def _unsolvable(section: QuestionSection) -> Iterator[_Complaint]:
    if section.answer is None:
        return
    if len(section.answer) != 1:
        yield ("answer",), f"{len(section.answer)} solvers", "one, like {modular_power: [a, b, m]}", None
        return
    name, arguments = next(iter(section.answer.items()))
    solver = SOLVERS.get(name)
    if solver is None:
        yield ("answer", name), f"the solver {quoted(name)}", one_of(sorted(SOLVERS)), did_you_mean(name, SOLVERS)
    elif len(arguments) != len(solver.bounds):
        expected = f"{len(solver.bounds)}: {', '.join(solver.bounds)}"
        yield ("answer", name), f"{len(arguments)} names", expected, None
    else:
        yield from _out_of_bounds(section, name, solver)


def _out_of_bounds(section: QuestionSection, name: str, solver: Solver) -> Iterator[_Complaint]:
    for argument, (parameter, (least, most)) in zip((section.answer or {})[name], solver.bounds.items(), strict=True):
        low, high = section.draw.get(argument, (least, most))
        if low < least or high > most:
            expected = f"at least {least} and at most {most}, for {quoted(parameter)} of {name}"
            yield ("draw", argument), f"[{low}, {high}]", expected, None
