"""pydantic's errors in our words. Its own texts, type names and URLs never reach a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from canary.config.errors import Path, Problem, did_you_mean, one_of, quoted, shown
from canary.config.fields import UNFIT
from canary.config.source import Document
from canary.core.observation import Json

_EXPECTED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "model_type": lambda _: "a mapping",
    "dict_type": lambda _: "a mapping",
    "list_type": lambda _: "a list",
    "bool_type": lambda _: "true or false",
    "int_type": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "greater_than": lambda context: f"a number of more than {context['gt']:g}",
    "greater_than_equal": lambda context: f"a number of at least {context['ge']:g}",
    "less_than_equal": lambda context: f"a number of at most {context['le']:,}",
    "too_short": lambda _: "at least one entry",
    UNFIT: lambda context: str(context["expected"]),
}


def problems_of(error: ValidationError, document: Document, root: type[BaseModel]) -> list[Problem]:
    return [_problem(detail, document, root) for detail in error.errors(include_url=False, include_input=False)]


def _problem(detail: ErrorDetails, document: Document, root: type[BaseModel]) -> Problem:
    path = _path(detail["loc"], document.data)
    match detail["type"]:
        case "missing":
            name = str(detail["loc"][-1])
            return _at(document, path, f"no {quoted(name)}", "it: this key is required")
        case "extra_forbidden":
            fields = _model_at(root, path[:-1]).model_fields
            keys = sorted(field.alias or key for key, field in fields.items())
            name = str(path[-1])
            line = document.key_lines.get(path)
            hint = did_you_mean(name, keys)
            return _at(document, path, "an unknown key", one_of(keys), suggestion=hint, line=line)
        case kind:
            context = detail.get("ctx", {})
            expected = _EXPECTED[kind](context) if kind in _EXPECTED else "another value"
            found = context.get("found") or shown(path, document.value_at(path))
            return _at(document, path, found, expected, suggestion=context.get("suggestion"))


def _at(
    document: Document,
    path: Path,
    found: str,
    expected: str,
    *,
    suggestion: str | None = None,
    line: int | None = None,
) -> Problem:
    return Problem(
        file=document.file,
        line=line or document.line_of(path),
        path=path,
        found=found,
        expected=expected,
        suggestion=suggestion,
    )


def _path(loc: tuple[int | str, ...], data: Json) -> Path:
    """The part of a location that stands in the document: pydantic adds its own marks, and keys that are missing."""
    path: list[str | int] = []
    for part in loc:
        match data, part:
            case dict(), str() if part in data:
                data = data[part]
            case list(), int():
                data = data[part]
            case _:
                continue
        path.append(part)
    return tuple(path)


def _model_at(model: type[BaseModel], path: Path) -> type[BaseModel]:
    for part in path:
        if isinstance(part, str):
            model = next(_models_in(model.model_fields[part].annotation))
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
