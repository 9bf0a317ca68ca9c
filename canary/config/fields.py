"""The types of single config values: how each is written, and what it becomes.

Every type says in plain words what it expects; `canary.config.translate` puts the place and the found value beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from canary.config.errors import did_you_mean, one_of
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.core.spec import Expectation
from canary.core.units import parse_duration

UNFIT = "unfit"  # the type of our own errors; their context holds `expected` and perhaps `found` and `suggestion`

DURATION_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^((\d+(\.\d+)?(ms|s|m|h|d))+|\d+(\.\d+)?|\$\{.+\})$"},
        {"type": "number", "exclusiveMinimum": 0},
    ]
}
_SHORT_TABLE = 12
_LONGEST_NAME = 100
_LONGEST_S = 100 * 365.25 * 86_400.0  # more would be no date any more once it is added to one
_MOST = 10**12  # of anything: more does not fit into a database's column
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def unfit(expected: str, *, found: str | None = None, suggestion: str | None = None) -> PydanticCustomError:
    """An error that says what was expected. Raise it from a validator."""
    context = {"expected": expected, "found": found, "suggestion": suggestion}
    return PydanticCustomError(UNFIT, "expected {expected}", context)


def opened(value: object) -> object:
    """A reference in a field that is no secret is its value."""
    return value.reveal() if isinstance(value, Secret) else value


def seconds_of(value: object) -> float:
    value = opened(value)
    expected = "a duration like 30s, 250ms, 5m or 1h30m, or a number of seconds"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise unfit(expected)
    try:
        seconds = parse_duration(str(value))
    except ValueError:
        raise unfit(expected) from None
    if seconds > _LONGEST_S:
        raise unfit("a duration of at most 100 years")
    return seconds


def _positive(seconds: float) -> float:
    if not seconds > 0:
        raise unfit("a duration of more than 0")
    return seconds


def _limit(value: object) -> float:
    """`off` is a limit that is never reached."""
    return math.inf if value == "off" else _positive(seconds_of(value))


def text_of(value: object) -> str:
    value = opened(value)
    if isinstance(value, bool | int | float):
        word = str(value).lower() if isinstance(value, bool) else value
        raise unfit("text", suggestion=f'write it in quotes: "{word}"')
    if not isinstance(value, str) or not value.strip():
        raise unfit("text")
    return value


def known(kind: str, choices: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    """A validator for a name out of a table. A long table is listed only where no name comes near."""

    def check(name: str) -> str:
        names = sorted(choices())
        if name in names:
            return name
        near = did_you_mean(name, names)
        raise unfit(f"a known {kind}" if near and len(names) > _SHORT_TABLE else one_of(names), suggestion=near)

    return check


def _name(text: str) -> str:
    """A name stands in URLs, in log lines and on terminals."""
    if "/" in text or not text.isprintable() or text != text.strip() or len(text) > _LONGEST_NAME:
        found = None if text.isprintable() and len(text) <= _LONGEST_NAME else "no name"
        expected = f"a name of at most {_LONGEST_NAME} characters on one line, without / and without spaces around it"
        raise unfit(expected, found=found)
    return text


def named(kind: str, table: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """What makes a text a name out of a table that does not change."""
    names = sorted(table)
    return AfterValidator(known(kind, lambda: names)), WithJsonSchema({"enum": names})


def header_text(value: object, *, secret: bool = False) -> None:
    """Raises where a value cannot stand in a header. The message never holds the value."""
    text = opened(value)
    if not isinstance(text, str) or not text:
        raise unfit("text")
    if _CONTROL.search(text) or text != text.strip() or not text.isascii():
        what = "the secret" if secret or isinstance(value, Secret) else "the value"
        raise unfit(
            "ASCII text without line breaks or spaces around it", found=f"{what}, which does not fit into a header"
        )


def _secret(value: object) -> Secret:
    """The message never holds what stands in a secret's place, wherever that is."""
    if not isinstance(value, Secret):
        found = "plain text" if isinstance(value, str) and value.strip() else None
        hint = "write ${env:NAME} or ${file:PATH}"
        raise unfit("a secret that stands outside of the config", found=found, suggestion=hint)
    header_text(value, secret=True)
    return value


def _header_line(text: str) -> str:
    header_text(text)
    return text


def _header_value(value: object) -> str | Secret:
    if isinstance(value, bool | int | float):
        raise unfit("text", suggestion="write it in quotes")
    header_text(value)
    return value if isinstance(value, Secret) else str(value)


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise unfit("letters, digits and hyphens", found="no name of a header")
    return name


def _url(text: str) -> str:
    expected = "an absolute http or https URL with a host"
    try:
        url = urlsplit(text)
        whole = url.scheme in {"http", "https"} and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        whole = False
    if not whole or re.search(r"\s", text):
        raise unfit(expected)
    return text


def _finite_json(value: Json) -> Json:
    """A body is sent as JSON, which has no infinity; references in it are opened."""
    match value:
        case dict():
            return {key: _finite_json(item) for key, item in value.items()}
        case list():
            return [_finite_json(item) for item in value]
        case float() if not math.isfinite(value):
            raise unfit("JSON, which has neither infinity nor NaN", found=str(value))
        case _:
            return opened(value)


def _level(value: object) -> str | bool:
    return value if isinstance(value, bool) else text_of(value)


def _body(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise unfit("a mapping")
    return _finite_json(value)  # type: ignore[no-any-return]


def _expect_form(value: object) -> str:
    return BY_HOP if isinstance(value, dict) else ALIKE


ALIKE, BY_HOP = "<one>", "<by hop>"  # tags that no key of a document equals
_TEXT_SCHEMA = {"type": "string", "minLength": 1}

Text: TypeAlias = Annotated[str, PlainValidator(text_of), WithJsonSchema(_TEXT_SCHEMA)]
Name: TypeAlias = Annotated[Text, AfterValidator(_name)]
Duration: TypeAlias = Annotated[
    float, PlainValidator(seconds_of), AfterValidator(_positive), WithJsonSchema(DURATION_SCHEMA)
]
Count: TypeAlias = Annotated[int, Field(gt=0, le=_MOST)]
Limit: TypeAlias = Annotated[
    float, PlainValidator(_limit), WithJsonSchema({"anyOf": [*DURATION_SCHEMA["anyOf"], {"const": "off"}]})
]
SecretText: TypeAlias = Annotated[
    Secret, PlainValidator(_secret), WithJsonSchema({"type": "string", "pattern": r"\$\{(env|file):[^}]+\}"})
]
HeaderName: TypeAlias = Annotated[Text, AfterValidator(_header_name)]
HeaderValue: TypeAlias = Annotated[str | Secret, PlainValidator(_header_value), WithJsonSchema(_TEXT_SCHEMA)]
Headers: TypeAlias = dict[HeaderName, HeaderValue]
HeaderText: TypeAlias = Annotated[Text, AfterValidator(_header_line)]
Url: TypeAlias = Annotated[
    str,
    PlainValidator(text_of),
    AfterValidator(_url),
    WithJsonSchema({"type": "string", "pattern": r"^(https?://|\$\{)"}),
]
Body: TypeAlias = Annotated[dict[str, Any], PlainValidator(_body), WithJsonSchema({"type": "object"})]
Level: TypeAlias = Annotated[str | bool, PlainValidator(_level), WithJsonSchema({"type": ["string", "boolean"]})]


def _expectation(value: object) -> Expectation:
    names = [str(expectation) for expectation in Expectation]
    if isinstance(value, list):
        msg = f"{one_of(names)}, or a mapping from hop to one of them"
        raise unfit(msg)
    word = text_of(value)
    if word not in names:
        raise unfit(one_of(names), suggestion=did_you_mean(word, names))
    return Expectation(word)


OneExpectation: TypeAlias = Annotated[
    Expectation, PlainValidator(_expectation), WithJsonSchema({"enum": [str(known) for known in Expectation]})
]
Expect: TypeAlias = Annotated[
    Annotated[OneExpectation, Tag(ALIKE)] | Annotated[dict[str, OneExpectation], Tag(BY_HOP)],
    Discriminator(_expect_form),
]
