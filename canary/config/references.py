"""`${env:NAME}` and `${file:PATH}`: values that stand outside of the config.

They are understood anywhere in a text. A text that holds one becomes a `Secret`, whatever stands around it, and the
schema decides field by field whether it stays one (`auth`, `headers`) or is opened (a model's name from the
environment). The document keeps the text as it was written, so that an error shows `${env:KEY}` and never the key.
`$${` is a plain `${`. Anything else after `${` is an error: sent as it stands it would be a key that nobody set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File

from canary.config.errors import Path, Problem, quoted
from canary.config.source import Document
from canary.core.observation import Json
from canary.core.secret import Secret

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[^}]*)\}?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_SECRET = 64 * 2**10


def resolved(document: Document, env: Mapping[str, str]) -> Json:
    """The document's data with a `Secret` in place of each text that refers to something; adds to its problems."""
    return _Resolver(document, env).value(document.data, ())


class _Missing(Exception):  # noqa: N818  # it never leaves this module
    def __init__(self, expected: str, suggestion: str | None = None) -> None:
        self.expected, self.suggestion = expected, suggestion
        super().__init__(expected)


@dataclass(frozen=True, slots=True)
class _Resolver:
    document: Document
    env: Mapping[str, str]

    def value(self, value: Json, path: Path) -> Json:
        match value:
            case dict():
                return {key: self.value(item, (*path, key)) for key, item in value.items()}
            case list():
                return [self.value(item, (*path, index)) for index, item in enumerate(value)]
            case str() if "${" in value:
                return self._text(value, path)
            case _:
                return value

    def _text(self, text: str, path: Path) -> Json:
        if not any(match["name"] is not None for match in _REFERENCE.finditer(text)):
            return text.replace("$${", "${")
        try:
            return Secret(_REFERENCE.sub(self._one, text))
        except _Missing as missing:
            self.document.problems.append(
                Problem(
                    file=self.document.file,
                    line=self.document.line_of(path),
                    path=path,
                    found=quoted(text) if text.startswith("${") else "a reference that leads nowhere",
                    expected=missing.expected,
                    suggestion=missing.suggestion,
                )
            )
            return Secret(text)  # the schema need not complain about the same text again

    def _one(self, match: re.Match[str]) -> str:
        if match["name"] is None:
            return "${"
        kind, colon, name = match["name"].partition(":")
        if match[0].endswith("}") and colon and kind == "env":
            return self._variable(name)
        if match[0].endswith("}") and colon and kind == "file":
            return self._file(name)
        guess = f"write ${{env:{kind}}} or, for a plain dollar sign, $${{" if _VARIABLE.fullmatch(kind) else None
        raise _Missing("${env:NAME} or ${file:PATH}", None if colon else guess)

    def _variable(self, name: str) -> str:
        if not self.env.get(name):
            state = "is empty" if name in self.env else "is not set"
            raise _Missing(f"an environment variable that is set: {quoted(name)} {state}")
        return self.env[name]

    def _file(self, name: str) -> str:
        """Without one newline at the end, which editors and `echo` leave there."""
        path = self.document.folder / name
        try:
            if not path.is_file():
                raise _Missing(f"a file: there is none at {quoted(str(name))}")
            with path.open("rb") as stream:
                raw = stream.read(_LONGEST_SECRET + 1)
            text = raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _Missing(f"a file of text: {quoted(name)} is no UTF-8") from None
        except OSError as error:
            raise _Missing(f"a file that can be read: {quoted(name)} cannot ({error.strerror})") from None
        if not text or len(raw) > _LONGEST_SECRET:
            state = "is too long" if text else "is empty"
            raise _Missing(f"a file with a value in it: {quoted(name)} {state}")
        return text
