"""`${env:NAME}` and `${file:PATH}`: values that stand outside of the config.

They are understood anywhere in a text. A text that holds one becomes a `Secret`, whatever stands around it, and the
schema decides field by field whether it stays one (`auth`, `headers`) or is opened (a model's name from the
environment). The document keeps the text as it was written, so that an error shows `${env:KEY}` and never the key.
`$${` is a plain `${`. Anything else after `${` is an error: sent as it stands it would be a key that nobody set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from canary.config.errors import Path, Problem, quoted
from canary.config.source import Document
from canary.core.observation import Json
from canary.core.secret import Secret

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[^}]*)\}?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_SECRET = 64 * 2**10


def files_in(text: str) -> Iterator[str]:
    """The PATH of each `${file:PATH}`, also where the text is no config that holds."""
    for match in _REFERENCE.finditer(text):
        kind, _, name = (match["name"] or "").partition(":")
        if kind == "file" and name:
            yield name


def resolved(document: Document, env: Mapping[str, str]) -> Json:
    """The document's data with a `Secret` in place of each text that refers to something; adds to its problems."""
    return _Resolver(document, env).value(document.data, ())


class _Missing(Exception):  # noqa: N818  # it never leaves this module
    def __init__(self, expected: str, *, found: str, suggestion: str | None = None) -> None:
        self.expected, self.found, self.suggestion = expected, found, suggestion
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
                    found=missing.found,
                    expected=missing.expected,
                    suggestion=missing.suggestion,
                )
            )
            return Secret(text)  # the schema need not complain about the same text again

    def _one(self, match: re.Match[str]) -> str:
        if match["name"] is None:
            return "${"
        if not match[0].endswith("}"):
            raise _Missing("${env:NAME} or ${file:PATH}", found='"${" without "}"')
        kind, colon, name = match["name"].partition(":")
        if kind == "env" and colon:
            return self._variable(name)
        if kind == "file" and colon:
            return self._file(name)
        hint = (
            f"write ${{env:{kind}}} or, for a plain dollar sign, $${{" if _VARIABLE.fullmatch(match["name"]) else None
        )
        raise _Missing("${env:NAME} or ${file:PATH}", found=quoted(match[0]), suggestion=hint)

    def _variable(self, name: str) -> str:
        if not self.env.get(name):
            state = "that is not empty" if name in self.env else "that is set"
            expected = f"an environment variable {state}"
            raise _Missing(expected, found=quoted(f"${{env:{name}}}"))
        return self.env[name]

    def _file(self, name: str) -> str:
        """Without one newline at the end, which editors and `echo` leave there."""
        written = quoted(f"${{file:{name}}}")
        path = self.document.folder / name
        try:
            if not path.is_file():
                raise _Missing("a file that exists", found=written)
            with path.open("rb") as stream:
                raw = stream.read(_LONGEST_SECRET + 1)
            text = raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _Missing("a file of text in UTF-8", found=written) from None
        except OSError as error:
            expected = f"a file that can be read ({error.strerror})"
            raise _Missing(expected, found=written) from None
        if not text or len(raw) > _LONGEST_SECRET:
            expected = f"a file that is not {'too long' if text else 'empty'}"
            raise _Missing(expected, found=written)
        return text
