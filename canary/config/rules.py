"""What the values of one file must fulfil together: chains, names, probes and budgets.

What single values must be is the schema's business. Two questions reach beyond a file, and are asked in
`canary.config.load`: is there a pipeline at all, and are their names unique.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as File

from canary.config.budget_rules import budget_problems
from canary.config.errors import Problem, did_you_mean, one_of, shown
from canary.config.hop_rules import credentials_in_body, header_problems, hop_problems
from canary.config.probes import ProbeError, canned_probes, load_probe
from canary.config.routes import MATCHED
from canary.config.schedule_rules import schedule_problems, seconds
from canary.config.source import is_file
from canary.config.view import View, repeated
from canary.core.spec import DEFAULT_DEADLINE_S, Probe
from canary.core.units import format_duration


def file_problems(root: View) -> Iterator[Problem]:
    yield from watching_problems(root)
    for pipeline in root.at("pipelines").items():
        yield from _hops(pipeline)
        yield from header_problems(pipeline.at("defaults").at("headers"))
        yield from credentials_in_body(pipeline.at("defaults").at("body"))


def watching_problems(root: View) -> Iterator[Problem]:
    """What is asked and when, but for how a hop is reached."""
    for pipeline in root.at("pipelines").items():
        yield from _labels(pipeline.at("labels"))
        yield from _probes(pipeline)
        yield from schedule_problems(pipeline)


def is_path(use: str) -> bool:
    return "/" in use or use.endswith((".yaml", ".yml"))


def probe_of(use: str, folder: File) -> Probe:
    """The probe that `use` names. Raises KeyError for no canned probe, ProbeError for a file that does not hold."""
    return load_probe(folder / use) if is_path(use) else canned_probes()[use]


def name_of(probe: View) -> str | None:
    """What the probe that is used here calls itself; of one that cannot be read, how it is used."""
    use = probe.text("use")
    try:
        return use and probe_of(use, probe.document.folder).name
    except (KeyError, ProbeError):
        return use


def _labels(labels: View) -> Iterator[Problem]:
    for name in labels.names():
        if name in MATCHED:
            expected = f"another name: {name} in a match is something else"
            yield labels.at(name).problem("a label that nothing could match", expected)


def _hops(pipeline: View) -> Iterator[Problem]:
    hops = list(pipeline.at("hops").items())
    names = ((hop.at("name"), hop.text("name")) for hop in hops)
    yield from repeated(names, "a second hop of this name", "a name of its own for each hop")
    if hops and not any(hop.has("url") for hop in hops):
        yield pipeline.at("hops").problem("no hop with a url", "at least one: without it nothing is probed")
    for hop in hops:
        if hop.has("url") and not hop.has("model") and not pipeline.at("defaults").has("model"):
            yield hop.problem("no model", "one here or in defaults: this hop is probed")
        yield from hop_problems(hop)


def _probes(pipeline: View) -> Iterator[Problem]:
    probes = list(pipeline.at("probes").items())
    names = ((probe.at("use"), name_of(probe)) for probe in probes)
    yield from repeated(names, "the same probe a second time", "it once in a pipeline, with all of its budgets")
    for probe in probes:
        yield from _use(probe)
        yield from _first_visible(probe, pipeline.at("defaults"))
        yield from _budgets(probe.at("budgets"), pipeline)


def _use(probe: View) -> Iterator[Problem]:
    use, place = probe.text("use"), probe.at("use")
    if use is None:
        return
    if is_path(use) and not is_file(probe.document.folder / use):
        yield place.problem(shown((), place.written()), "a probe file that exists")
        return
    try:
        probe_of(use, probe.document.folder)
    except KeyError:
        names = sorted(canned_probes())
        found = shown((), place.written())
        yield place.problem(found, f"{one_of(names)}, or the path of a probe file", did_you_mean(use, names))
    except ProbeError as error:
        yield from error.problems


def _first_visible(probe: View, defaults: View) -> Iterator[Problem]:
    first, deadline = (seconds(probe if probe.has(key) else defaults, key) for key in ("first_visible", "deadline"))
    if deadline is None and not any(place.has("deadline") for place in (probe, defaults)):
        deadline = DEFAULT_DEADLINE_S
    if first is not None and deadline is not None and first > deadline:
        place = probe if probe.has("first_visible") or probe.has("deadline") else defaults
        yield place.at("first_visible" if place.has("first_visible") else "deadline").problem(
            f"first_visible {format_duration(first)} and deadline {format_duration(deadline)}",
            "a first_visible within the deadline",
        )


def _budgets(budgets: View, pipeline: View) -> Iterator[Problem]:
    asked = ((b, (b.text("parameter"), str(b.data.get("tokens")), str(b.data.get("value")))) for b in budgets.items())
    yield from repeated(asked, "the same budget a second time", "it once, with expect as a mapping from hop to answer")
    for budget in budgets.items():
        yield from budget_problems(budget, pipeline)
