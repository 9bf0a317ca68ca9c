"""The JSON that actions take. Strict: a misspelt key is an error, and a text is one line that can be printed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from canary.core.finding import Severity
from canary.core.route import Match
from canary.core.status import Level
from canary.core.units import parse_duration

LONGEST_SILENCE_S = 365 * 86400.0
_MATCH_FIELDS = ("pipeline", "probe", "check", "hop")
_SEVERITY = "severity"
_OF_KEYS: Mapping[str, str] = MappingProxyType({"extra_forbidden": "is no key here", "missing": "is required"})


class BodyError(Exception):
    """`problems`: one line for each thing that is wrong, `member: what`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def _printable(text: str) -> str:
    """No control characters and no lone surrogates: what comes in here ends in databases, terminals and chats."""
    if not text.isprintable() or not text.strip():
        msg = "must be one line of printable text"
        raise ValueError(msg)
    return text.strip()


def _duration(given: object) -> float:
    seconds = parse_duration(str(given))
    if not 0 < seconds <= LONGEST_SILENCE_S:
        msg = "must be more than nothing and at most a year"
        raise ValueError(msg)
    return seconds


def _known_severity(match: dict[str, str]) -> dict[str, str]:
    severity = match.get(_SEVERITY)
    if severity is not None and severity not in set(Severity):
        msg = f"severity must be {' or '.join(Severity)}, not {severity!r}"
        raise ValueError(msg)
    return match


def _known_level(status: str) -> str:
    if status not in set(Level):
        msg = f"must be one of {', '.join(Level)}, not {status!r}"
        raise ValueError(msg)
    return status


Name = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
Line = Annotated[str, Field(max_length=1000), AfterValidator(_printable)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DeployBody(_Body):
    text: Line
    pipeline: Name | None = None


class AckBody(_Body):
    by: Name | None = None


class SilenceBody(_Body):
    """`match`: `pipeline`, `probe`, `check`, `hop`, `severity`; any other key is a label. `{}` fits everything."""

    match: Annotated[dict[Name, Name], AfterValidator(_known_severity)]
    duration_s: Annotated[float, BeforeValidator(_duration), Field(alias="for")]
    by: Name | None = None
    comment: Line | None = None


class NoteBody(_Body):
    text: Line
    by: Name | None = None


class OverrideBody(_Body):
    """`page` or `pipeline`, and not both."""

    page: Name | None = None
    pipeline: Name | None = None
    status: Annotated[str, AfterValidator(_known_level)]
    duration_s: Annotated[float, BeforeValidator(_duration), Field(alias="for")]
    by: Name | None = None

    @model_validator(mode="after")
    def _one_subject(self) -> OverrideBody:
        if (self.page is None) is (self.pipeline is None):
            msg = "name a page or a pipeline, one of both"
            raise ValueError(msg)
        return self


Body = TypeVar("Body", bound=_Body)


def read(model: type[Body], raw: bytes) -> Body:
    """The body as `model`; nothing at all is an empty object. Raises BodyError."""
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        problems = [f"{'.'.join(map(str, each['loc'])) or 'body'}: {_said(each)}" for each in found]
        if any(each["type"] in _OF_KEYS for each in found):
            problems.append(f"body: the keys are {_keys(model)}")
        raise BodyError(tuple(problems)) from None


def _said(error: ErrorDetails) -> str:
    return _OF_KEYS.get(error["type"], error["msg"])


def _keys(model: type[_Body]) -> str:
    """`text (required), pipeline`: as a body names them."""
    return ", ".join(
        f"{field.alias or name}{' (required)' if field.is_required() else ''}"
        for name, field in model.model_fields.items()
    )


def match_of(given: dict[str, str]) -> Match:
    severity = given.get(_SEVERITY)
    return Match(
        labels={name: value for name, value in given.items() if name not in {*_MATCH_FIELDS, _SEVERITY}},
        severity=Severity(severity) if severity else None,
        **{name: given.get(name) for name in _MATCH_FIELDS},
    )
