"""What is typed on a command line, turned into the types of `core`. Bad input raises UsageError with an example."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

from canary.cli.errors import UsageError
from canary.config.errors import shown
from canary.config.presets import timeouts_of
from canary.core.observation import Json
from canary.core.secret import Secret
from canary.core.spec import BudgetTest
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.units import parse_duration
from canary.wire.budgets import BUDGETS

_Word = TypeVar("_Word", TimerPhase, Clock)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def chat_url(text: str) -> str:
    """A base URL gets the path that OpenAI clients add to it; a URL with a path of its own is left alone."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        found = shown(("url",), text)  # without user info and query
        msg = f"--url {found}: expected an absolute URL like http://127.0.0.1:4000/v1/chat/completions"
        raise UsageError(msg)
    path = parts.path.rstrip("/")
    if path in ("", "/v1"):
        path = "/v1/chat/completions"
    return urlunsplit(parts._replace(path=path))


def parse_params(texts: Iterable[str]) -> dict[str, Json]:
    """`thinking_token_budget=64`, `chat_template_kwargs.enable_thinking=false`: JSON values under dotted names.

    A value that is not JSON is taken as text.
    """
    body: dict[str, Json] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip("."):
            msg = f"--param {text!r}: expected NAME=VALUE, like thinking_token_budget=64"
            raise UsageError(msg)
        _set(body, name.split("."), _json_or_text(value), text)
    return body


def _set(body: dict[str, Json], path: list[str], value: Json, text: str) -> None:
    *parents, last = path
    for parent in parents:
        inner: Json = body.setdefault(parent, {})
        if not isinstance(inner, dict):
            msg = f"--param {text!r}: {parent} already has a value that is not an object"
            raise UsageError(msg)
        body = inner
    body[last] = value


def _json_or_text(text: str) -> Json:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # Python reads NaN and Infinity, which no JSON has
    except ValueError:
        return text
    return value


def parse_headers(texts: Iterable[str], *, api_key_env: str | None) -> Mapping[str, str | Secret]:
    """`Name: value` pairs, secret as a whole class: what a user adds to a request is mostly a credential."""
    headers: dict[str, str | Secret] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            msg = "--header: expected 'Name: value'"
            raise UsageError(msg)
        headers[name.strip()] = Secret(value.strip())
    if api_key_env:
        if not os.environ.get(api_key_env):
            named = _VARIABLE.fullmatch(api_key_env)  # what does not look like a name may be the key itself
            variable = f"the environment variable {api_key_env} is not set" if named else "no such environment variable"
            msg = f"--api-key-env: {variable}; expected the name of a variable that holds the key"
            raise UsageError(msg)
        headers["Authorization"] = Secret(f"Bearer {os.environ[api_key_env]}")
    return headers


def parse_timeout(text: str) -> Timeout:
    """`NAME:kind:clock:seconds`, e.g. `ui:idle:visible:30`. The kind is headers, idle or total."""
    parts = text.rsplit(":", 3)
    if len(parts) != 4 or not parts[0]:
        msg = f"--timeout {text!r}: expected NAME:kind:clock:seconds, like edge:idle:byte:60"
        raise UsageError(msg)
    name, kind, clock, limit = parts
    phase = _member(TimerPhase, kind, f"--timeout {text!r}: kind")
    limit_s = seconds(limit, f"--timeout {text!r}:")
    return Timeout(name=name, phase=phase, clock=_member(Clock, clock, f"--timeout {text!r}: clock"), limit_s=limit_s)


def parse_preset(text: str) -> tuple[Timeout, ...]:
    """`nginx`, or `nginx=30s` for another idle limit."""
    name, equals, limit = text.partition("=")
    idle_s = seconds(limit, f"--preset {text!r}:") if equals else None
    try:
        return timeouts_of(name, idle_s=idle_s)
    except ValueError as error:
        msg = f"--preset {text!r}: {error}"
        raise UsageError(msg) from None


def timers_of(timeouts: Iterable[str], presets: Iterable[str]) -> tuple[Timeout, ...]:
    """All timers of a command line, free ones first."""
    return (*map(parse_timeout, timeouts), *(timer for text in presets for timer in parse_preset(text)))


def parse_budget(text: str) -> BudgetTest:
    """`thinking_token_budget=64`, `reasoning_effort=none`, `chat_template_kwargs.enable_thinking=false`."""
    name, equals, value = text.partition("=")
    if name not in BUDGETS:
        near = difflib.get_close_matches(name, BUDGETS, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(BUDGETS)}"
        msg = f"--budget {text!r}: unknown budget parameter {name!r}{hint}"
        raise UsageError(msg)
    given = _json_or_text(value)
    if not equals or not isinstance(given, str | bool | int) or given == "":
        msg = f"--budget {text!r}: expected PARAM=VALUE, like thinking_token_budget=64"
        raise UsageError(msg)
    if isinstance(given, int) and not isinstance(given, bool):
        return BudgetTest(parameter=name, tokens=given)
    return BudgetTest(parameter=name, value=given)


def seconds(text: str, option: str) -> float:
    """A duration of more than 0: with a limit of 0 every stream would fail."""
    try:
        duration_s = parse_duration(text)
    except ValueError as error:
        msg = f"{option} {error}"
        raise UsageError(msg) from None
    if not duration_s:
        msg = f"{option} {text!r}: expected a duration of more than 0"
        raise UsageError(msg)
    return duration_s


def check_output(file: Path, option: str) -> None:
    """Raises UsageError where `file` cannot be written."""
    if not file.parent.is_dir():
        msg = f"{option} {file}: the folder {file.parent} does not exist"
        raise UsageError(msg)
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        msg = f"{option} {file}: {'is a folder' if file.is_dir() else 'cannot be written'}"
        raise UsageError(msg)


def _member(kind: type[_Word], text: str, what: str) -> _Word:
    try:
        return kind(text)
    except ValueError:
        msg = f"{what} {text!r}: expected {', '.join(member.value for member in kind)}"
        raise UsageError(msg) from None
