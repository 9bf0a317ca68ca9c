"""From config files to a plan, or to everything that is wrong with them.

1. Read the files that were named, the YAML files of a folder, and what they include, each once.
2. Put secrets in the place of their references.
3. Check every file against the schema and the rules, also where the other found problems.
4. Ask what only all files together answer.
5. Build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File

from pydantic import ValidationError

from canary.config.build import build
from canary.config.errors import ConfigError, Path, Problem, shown
from canary.config.probes import ProbeError
from canary.config.receiver_rules import receiver_problems
from canary.config.references import resolved
from canary.config.route_rules import route_problems
from canary.config.rules import file_problems
from canary.config.schema import ConfigFile
from canary.config.series import MAX_SERIES, series_of
from canary.config.service_rules import service_problems
from canary.config.source import Document, is_file, read
from canary.config.translate import problems_of
from canary.config.view import View, repeated
from canary.core.observation import Json
from canary.core.spec import Plan

_SUFFIXES = (".yaml", ".yml")
Checked = tuple[View, ConfigFile | None]  # None where the schema refuses the document


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """How much of each file counts. What `keep` leaves out is neither resolved nor checked."""

    keep: Callable[[Mapping[str, Json]], Mapping[str, Json]]
    of_file: Callable[[View], Iterable[Problem]]
    of_all: Callable[[Sequence[View]], Iterable[Problem]]
    model: type[ConfigFile] = ConfigFile


def load_plan(paths: Sequence[File], *, env: Mapping[str, str]) -> Plan:
    """The plan of all files together. Raises ConfigError with every problem in them."""
    checked = loaded(paths, env, _EVERYTHING)
    views = [view for view, _ in checked]
    if not any(view.at("pipelines").data for view in views):
        named = " ".join(map(str, paths)) or "no file"
        raise ConfigError([Problem(file=named, found="no pipeline", expected='at least one below "pipelines"')])
    plan = plan_of(checked)
    if too_many := list(_too_many_series(plan, views)):
        raise ConfigError(too_many)
    return plan


def loaded(paths: Sequence[File], env: Mapping[str, str], scope: Scope) -> list[Checked]:
    """Every file that was read, in the order that counts. Raises ConfigError."""
    files = _Files()
    for path in paths:
        files.add_named(path)
    checked = [_checked(document, env, scope) for document in files.documents]
    together = scope.of_all([view for view, _ in checked])
    problems = [*files.problems, *(p for d in files.documents for p in d.problems), *together]
    if problems:
        raise ConfigError(_in_order(problems, [document.file for document in files.documents]))
    return checked


def files_of(checked: Sequence[Checked]) -> list[tuple[File, ConfigFile]]:
    """Each with the folder that its relative paths start from."""
    return [(view.document.folder, config) for view, config in checked if config is not None]


def plan_of(checked: Sequence[Checked]) -> Plan:
    """Raises ConfigError for a probe file that somebody is saving right now: it was whole a moment ago."""
    try:
        return build(files_of(checked))
    except ProbeError as error:
        raise ConfigError(error.problems) from None


@dataclass(slots=True)
class _Files:
    """The documents in the order they were met. A file that comes twice counts once; a circle is refused."""

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    open_files: list[File] = field(default_factory=list)
    done: set[File] = field(default_factory=set)

    def add_named(self, path: File) -> None:
        if not path.is_dir():
            self._add(path)
            return
        try:
            inside = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES and not p.name.startswith("."))
        except OSError as error:
            inside, found = [], f"a folder that cannot be read ({error.strerror})"
        else:
            found = "no YAML file in this folder"
        if not inside:
            self.problems.append(Problem(file=str(path), found=found, expected="one or more YAML files"))
        for file in inside:
            self._add(file)

    def _add(self, path: File) -> None:
        identity = path.resolve() if is_file(path) else path.absolute()
        if identity in self.done:
            return
        document = read(path, str(path))
        self.documents.append(document)
        self.done.add(identity)
        self.open_files.append(identity)
        for place, name in _includes(document):
            self._include(document, place, path.parent / name)
        self.open_files.pop()

    def _include(self, document: Document, place: Path, path: File) -> None:
        view = View(document, document.value_at(place), place)
        written = shown((), view.data)
        if not is_file(path):
            document.problems.append(view.problem(written, "a config file that exists"))
        elif path.resolve() in self.open_files:
            document.problems.append(view.problem(written, "files that do not include each other in a circle"))
        else:
            self._add(path)


def _includes(document: Document) -> Iterator[tuple[Path, str]]:
    names = document.data.get("include") if isinstance(document.data, dict) else None
    for index, name in enumerate(names if isinstance(names, list) else ()):
        if isinstance(name, str) and name.strip():
            yield ("include", index), name


def _checked(document: Document, env: Mapping[str, str], scope: Scope) -> Checked:
    """The document's values with their secrets, and its model where the schema accepts it. Notes its problems."""
    if document.data is None and document.problems:
        return View(document, None), None
    if not isinstance(document.data, dict):
        found = shown((), document.data) if document.data is not None else "an empty file"
        expected = 'a mapping with the key "pipelines"'
        document.problems.append(Problem(file=document.file, line=1, found=found, expected=expected))
        return View(document, None), None
    document.data = dict(scope.keep(document.data))
    view = View(document, resolved(document, env))
    told = {p.path for p in document.problems if not isinstance(document.value_at(p.path), dict | list)}
    config, problems = None, list(scope.of_file(view))
    try:
        config = scope.model.model_validate(view.data)
    except ValidationError as error:
        problems += problems_of(error, document, scope.model)
    document.problems += [problem for problem in problems if problem.path not in told]
    return view, config


def _together(views: Sequence[View]) -> Iterator[Problem]:
    yield from same_names(views)
    yield from receiver_problems(views)
    yield from route_problems(views)
    yield from service_problems(views)


def _too_many_series(plan: Plan, views: Sequence[View]) -> Iterator[Problem]:
    """Said at the pipeline that makes most of them."""
    counts = [series_of(pipeline) for pipeline in plan.pipelines]
    if sum(counts) > MAX_SERIES:
        places = [pipeline for view in views for pipeline in view.at("pipelines").items()]
        worst = max(range(len(counts)), key=counts.__getitem__)
        yield places[worst].problem(
            f"{sum(counts):,} time series in the whole config, {counts[worst]:,} of them here",
            f"at most {MAX_SERIES:,}",
            "each hop, probe and budget multiplies them: probe fewer hops, or split the config over several canaries",
        )


def same_names(views: Sequence[View]) -> Iterator[Problem]:
    """Of pipelines, over all files."""
    pipelines = (pipeline for view in views for pipeline in view.at("pipelines").items())
    names = ((pipeline.at("name"), pipeline.text("name")) for pipeline in pipelines)
    return repeated(names, "a second pipeline of this name", "a name of its own for each pipeline")


def _in_order(problems: Iterable[Problem], files: Sequence[str]) -> Iterator[Problem]:
    """By file as they were read, then by line. A place that is found wrong in the same words twice counts once."""
    order = {file: index for index, file in enumerate(files)}
    unique = dict.fromkeys(problems)
    return iter(sorted(unique, key=lambda p: (order.get(p.file, -1), p.line or 0, p.column or 0)))


_EVERYTHING = Scope(keep=lambda data: data, of_file=file_problems, of_all=_together)
