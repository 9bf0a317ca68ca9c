"""Probe files: the canned ones of `probes/` and anybody's own, read strictly and checked as far as a reader can.

A probe that asks for a name which nothing draws, or for an answer outside of its solver's bounds, would fail in the
middle of the night; so all that is found here, with its file and line, and all of it at once.

The canned files stand in `probes/` of a checkout and in `canary/_probes` of an installed package (pyproject.toml puts
them there). Both are looked up from this package's own folder, never from the working directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path as File
from types import MappingProxyType

from canary.checks import CHECKS
from canary.config.errors import Path, Problem, did_you_mean, one_of, quoted, shown
from canary.config.source import Document, read
from canary.core.observation import Json
from canary.core.spec import Probe, QuestionTemplate
from canary.prompts.question import places
from canary.prompts.solvers import SOLVERS, Solver

INSTALLED_FOLDER = "_probes"  # below the package; the same name stands in pyproject.toml
_PACKAGE = File(__file__).resolve().parent.parent

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")
_PLACE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LARGEST_DRAW = 10**18
_MOST_CONTEXT_TOKENS = 2_000_000
_MOST_MAX_TOKENS = 1_000_000
LEAST_MAX_TOKENS = 64  # a reasoning model says nothing visible in fewer


class ProbeError(ValueError):
    """Every problem of the files that were read. Its text is one line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@cache
def canned_probes() -> Mapping[str, Probe]:
    """The probes that come with the program, by name."""
    installed = _PACKAGE / INSTALLED_FOLDER
    folder = installed if installed.is_dir() else _PACKAGE.parent / "probes"
    files = sorted(folder.glob("*.yaml"))
    if not files:
        msg = f"{folder} holds no probes: the package is not whole"
        raise FileNotFoundError(msg)
    return MappingProxyType({probe.name: probe for probe in map(load_probe, files)})


def load_probe(path: File) -> Probe:
    """One probe file. Raises ProbeError with all of its problems."""
    document = read(path, str(path))
    if document.problems:
        raise ProbeError(document.problems)
    reader = _Reader(document)
    probe = reader.probe(document.data)
    if reader.problems:
        raise ProbeError(sorted(reader.problems, key=lambda problem: problem.line or 0))
    return probe


class _Reader:
    """Values to specs, noting every problem. Where one was noted, the value returned is a stand-in nobody will see."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def probe(self, data: Json) -> Probe:
        fields = self.mapping((), data, _PROBE_FIELDS)
        probe = Probe(
            name=self.matching(("name",), fields["name"], _NAME, "small letters, digits and hyphens"),
            summary=self.text(("summary",), fields["summary"]),
            questions=self.questions(fields["questions"]),
        )
        return _with(
            probe,
            max_tokens=self.integer(("max_tokens",), fields["max_tokens"], LEAST_MAX_TOKENS, _MOST_MAX_TOKENS),
        )
