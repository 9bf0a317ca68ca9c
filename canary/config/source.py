"""One YAML file as plain values, and the line of every value.

PyYAML's own loader forgets where values stood, keeps the last of two equal keys, and reads `no` and `12:30` as YAML 1.1
did. So the file is only *composed* by PyYAML and read from its nodes here:

- scalars follow the core schema of YAML 1.2: `true`, `false`, `null`, `~` and numbers; `yes`, `off` and dates are text;
- a key stands once; `<<: *anchor` is understood, and a key beside it wins;
- tags that would build objects are refused;
- size, depth and the number of values after aliases are bounded, because a file may come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as File

import yaml

from canary.config.errors import Path, Problem, quoted
from canary.core.observation import Json

_MAX_BYTES = 2**20
_MAX_DEPTH = 40
_MAX_VALUES = 20_000
_MAX_DIGITS = 30  # more than any number here needs; Python refuses to read some thousand
_TAG = "tag:yaml.org,2002:"


@dataclass(slots=True, kw_only=True)
class Document:
    """`data` is None where nothing could be read. `lines` has the line of each value, `key_lines` of each key."""

    file: str
    folder: File
    data: Json = None
    lines: dict[Path, int] = field(default_factory=dict)
    key_lines: dict[Path, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, path: Path) -> int | None:
        """Of the value at `path`, else of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def value_at(self, path: Path) -> Json:
        value = self.data
        for part in path:
            value = value[part]
        return value


class _Loader(yaml.SafeLoader):
    """Composes only. Refuses what is nested too deeply before Python's own stack does."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # PyYAML's own shape
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            msg = f"values nested more than {_MAX_DEPTH} deep"
            raise _Refused(msg, self.line + 1)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _kind, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("null", "~|null|Null|NULL|", [*"~nN", ""]),
    ("int", "[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+", [*"-+0123456789"]),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", [*"-+."]),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(rf"(?:{_pattern})\Z"), _first)


class _Refused(Exception):  # noqa: N818  # it never leaves this module
    def __init__(self, found: str, line: int | None = None, expected: str = "a config that people can read") -> None:
        self.found, self.line, self.expected = found, line, expected
        super().__init__(found)


def read(path: File, file: str) -> Document:
    """The values of one file; whatever is wrong with it stands in `problems`. `file` is how to call it."""
    document = Document(file=file, folder=path.parent)
    try:
        node = _composed(_text(path))
        if node is not None:
            document.data = _Reader(document).value(node, ())
    except _Refused as refused:
        document.problems.append(Problem(file=file, line=refused.line, found=refused.found, expected=refused.expected))
    except yaml.MarkedYAMLError as error:
        document.problems.append(_syntax_problem(file, error))
    return document


def is_file(path: File) -> bool:
    """False also where a name cannot be one, or a folder on the way may not be read."""
    try:
        return path.is_file()
    except OSError:
        return False


def _instead(path: File) -> str:
    """What is there that is no file; a pipe may never end, and can be read but once."""
    if path.is_dir():
        return "a folder"
    return "a pipe or a device" if path.exists() else "no such file"


def _text(path: File) -> str:
    try:
        if not path.is_file():
            raise _Refused(_instead(path), expected="a YAML file")
        with path.open("rb") as stream:
            raw = stream.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            msg = f"more than {_MAX_BYTES} bytes"
            raise _Refused(msg)
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise _Refused("bytes that are no UTF-8", line, expected="text in UTF-8") from None
    except OSError as error:
        msg = f"a file that cannot be read ({error.strerror})"
        raise _Refused(msg, expected="a YAML file") from None


def _composed(text: str) -> yaml.Node | None:
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        msg = f"the control character U+{ord(text[error.position]):04X}"
        raise _Refused(msg, line, "text") from None
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _syntax_problem(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "it cannot be read"
    found, expected = f"a YAML error: {problem}", "valid YAML"
    if "'\\t'" in problem:
        found, expected = "a tab", "spaces: YAML indents with nothing else"
    elif "another document" in problem:
        found, expected = "a second document", "one document in a file"
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    return Problem(file=file, line=line, column=column, found=found, expected=expected)


@dataclass(slots=True)
class _Reader:
    """Nodes to values, noting the lines. `open_nodes`: an alias may stand inside its own anchor."""

    document: Document
    count: int = 0
    open_nodes: set[int] = field(default_factory=set)

    def value(self, node: yaml.Node, path: Path) -> Json:
        line = node.start_mark.line + 1
        self.document.lines[path] = line
        self._count(line)
        if id(node) in self.open_nodes:
            raise _Refused("an alias inside its own anchor", line)
        self.open_nodes.add(id(node))
        value = self._read(node, path)
        self.open_nodes.discard(id(node))
        return value

    def _count(self, line: int) -> None:
        self.count += 1
        if self.count > _MAX_VALUES:
            msg = f"more than {_MAX_VALUES} values once aliases are followed"
            raise _Refused(msg, line)

    def _read(self, node: yaml.Node, path: Path) -> Json:
        match node:
            case yaml.MappingNode() | yaml.SequenceNode() if node.tag not in {f"{_TAG}map", f"{_TAG}seq"}:
                self._tagged(node, path)
                return None
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Json]:
        """Merged keys first, so that the mapping's own win, lines included."""
        values: dict[str, Json] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                for part in self._merged(value_node, path):
                    values = self._mapping(part, path) | values
        own: set[str] = set()
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                continue
            key = self._key(key_node, path, own)
            if key is not None:
                own.add(key)
                self.document.key_lines[(*path, key)] = key_node.start_mark.line + 1
                values[key] = self.value(value_node, (*path, key))
        return values

    def _merged(self, node: yaml.Node, path: Path) -> Iterator[yaml.MappingNode]:
        self._count(node.start_mark.line + 1)
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(part, yaml.MappingNode) and id(part) not in self.open_nodes:
                yield part
            else:
                self._problem(node, path, 'no mapping after "<<"', "the alias of a mapping")

    def _key(self, node: yaml.Node, path: Path, own: set[str]) -> str | None:
        if not isinstance(node, yaml.ScalarNode) or node.tag != f"{_TAG}str":
            key = f"the key {node.value}" if isinstance(node, yaml.ScalarNode) else "a key that is no text"
            self._problem(node, path, key, "text as a key; write it in quotes")
            return None
        key = str(node.value)
        if key in own:
            first = self.document.key_lines[(*path, key)]
            self._problem(node, path, f"a second key {quoted(key)}", f"it once; the first is in line {first}")
            return None
        return key

    def _scalar(self, node: yaml.Node, path: Path) -> Json:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str" | "merge":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int" if len(text) <= _MAX_DIGITS:
                return int(text, 0) if text.startswith(("0x", "0o")) else int(text)
            case "float" if len(text) <= _MAX_DIGITS:
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            case "int" | "float":
                self._problem(node, path, "a number of too many digits", f"at most {_MAX_DIGITS}")
            case _:
                self._tagged(node, path)
        return None

    def _tagged(self, node: yaml.Node, path: Path) -> None:
        self._problem(node, path, f"the tag {quoted(node.tag.removeprefix(_TAG))}", "plain values without tags")

    def _problem(self, node: yaml.Node, path: Path, found: str, expected: str) -> None:
        line = node.start_mark.line + 1
        self.document.problems.append(
            Problem(file=self.document.file, line=line, path=path, found=found, expected=expected)
        )
