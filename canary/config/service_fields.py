"""How the daemon is told where to listen, what to keep and whom to tell, in single values."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, PlainValidator, WithJsonSchema

from canary.config.errors import did_you_mean
from canary.config.fields import SecretText, Text, named, opened, text_of, unfit
from canary.core.secret import Secret
from canary.core.service import LogFormat
from canary.core.units import parse_size

STORAGE_SCHEMES = ("sqlite", "postgresql")
_MOST_RUNS = 100  # that an incident looks back on
_LABEL_OF_HOST = r"[A-Za-z0-9_-]{1,63}"
_ADDRESS = re.compile(
    rf"(?:(?P<host>(?:{_LABEL_OF_HOST}\.)*{_LABEL_OF_HOST}\.?|)|\[(?P<ipv6>[^\[\]]+)\]):(?P<port>[0-9]{{1,5}})"
)
_LABEL = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
_OF = re.compile(r"(\d{1,6})(?:\s+of\s+(\d{1,6}))?")


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:9469`, `[::1]:9469` or `:9469`, without the brackets. Raises ValueError."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match["port"]) > 65_535 or not _is_ipv6(match["ipv6"] or "::"):
        msg = f"{text!r} is not an address; write it like 127.0.0.1:9469 or [::1]:9469"
        raise ValueError(msg)
    return match["ipv6"] or match["host"], int(match["port"])


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except ValueError:
        raise unfit("an address like 127.0.0.1:9469 or [::1]:9469") from None


def _remote(text: str) -> str:
    host, port = _address(text)
    if not host or not port:
        raise unfit("a host and a port, like 1.1.1.1:443")
    return text


def _size(value: object) -> int:
    value = opened(value)
    expected = "a size of more than 0 like 500MB, 2GB or 2GiB, or a number of bytes"
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise unfit(expected)
    try:
        size = parse_size(str(value))
    except ValueError:
        size = 0
    if size <= 0:
        raise unfit(expected)
    return size


def _fail(value: object) -> tuple[int, int]:
    """`2 of 3`, or `2` for two in a row."""
    value = opened(value)
    match = _OF.fullmatch(str(value).strip()) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if match is None:
        raise unfit('a number of runs like "2 of 3", or 2 for two in a row')
    fail, of = int(match[1]), int(match[2] or match[1])
    if not 1 <= fail <= of <= _MOST_RUNS:
        expected = f"at least 1 failure, and no more than there are runs, at most {_MOST_RUNS}"
        raise unfit(expected, found=f"{fail} of {of}")
    return fail, of


def _label_name(name: str) -> str:
    if not _LABEL.fullmatch(name):
        raise unfit("letters, digits and _, no digit first and not two _ first", found="no name of a label")
    return name


def _has_scheme(url: Secret) -> Secret:
    """The message never repeats it."""
    if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+\Z", url.reveal()):
        raise unfit("a URL with its scheme, like https://…", found="a secret that is no URL")
    return url


def _web_url(url: Secret) -> Secret:
    if urlsplit(url.reveal()).scheme not in {"http", "https"}:
        raise unfit("an http or https URL", found="a secret that is another URL")
    return url


def _storage_url(value: object) -> Secret:
    """It is a `Secret` whatever stands in it; a plain password is found by `canary.config.service_rules`."""
    text = opened(value)
    scheme, mark, rest = text.partition("://") if isinstance(text, str) else ("", "", "")
    forms = "sqlite:///PATH or postgresql://HOST/DATABASE"
    if not mark or scheme not in STORAGE_SCHEMES:
        hint = did_you_mean(scheme.partition("+")[0], STORAGE_SCHEMES) if mark else None
        found = f'a URL of the scheme "{scheme}"' if mark and scheme.replace("+", "").isalnum() else None
        raise unfit(forms, found=found, suggestion=hint)
    if scheme == "sqlite" and not _is_file_url(rest):
        expected = "the path of a file after sqlite:///, without options"
        raise unfit(expected, suggestion="four slashes begin an absolute path")
    if scheme == "postgresql" and not _names_a_database(text_of(value)):
        found = "a URL without a host or a database"
        raise unfit(forms, found=found, suggestion="a password in a URL is percent-encoded")
    return value if isinstance(value, Secret) else Secret(text_of(value))


def _is_file_url(rest: str) -> bool:
    path = rest.removeprefix("/")
    named = path not in ("", ":memory:") and not path.endswith("/")
    return rest.startswith("/") and named and not {"?", "\0"} & set(path)


def _names_a_database(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and bool(parts.path.strip("/")) and parts.port != 0
    except ValueError:
        return False


Address: TypeAlias = Annotated[
    tuple[str, int],
    PlainValidator(text_of),
    AfterValidator(_address),
    WithJsonSchema({"type": "string", "examples": ["127.0.0.1:9469"]}),
]
RemoteAddress: TypeAlias = Annotated[Text, AfterValidator(_remote)]
Size: TypeAlias = Annotated[
    int,
    PlainValidator(_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^\d+(\.\d+)? ?[kKMGT]?i?B?$"},
                {"type": "integer", "exclusiveMinimum": 0},
            ]
        }
    ),
]
FailCount: TypeAlias = Annotated[
    tuple[int, int],
    PlainValidator(_fail),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": r"^\d+ of \d+$"}, {"type": "integer", "minimum": 1}]}),
]
LabelName: TypeAlias = Annotated[Text, AfterValidator(_label_name)]
SecretUrl: TypeAlias = Annotated[SecretText, AfterValidator(_has_scheme)]
WebSecretUrl: TypeAlias = Annotated[SecretUrl, AfterValidator(_web_url)]
StorageUrl: TypeAlias = Annotated[
    Secret,
    PlainValidator(_storage_url),
    WithJsonSchema({"type": "string", "pattern": r"^(sqlite:///|postgresql://|\$\{)"}),
]
LogForm: TypeAlias = Annotated[Text, *named("log format", map(str, LogFormat))]
