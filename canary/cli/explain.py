"""`canary explain`: would it notify, whom, when, and why not; and what became of what was told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from canary.alerting import Known, Rules, rules_of
from canary.alerting.explain import Explanation, explain_finding, explain_incident, explain_page, lines
from canary.cli import options, stored
from canary.cli.check import read
from canary.cli.errors import UsageError
from canary.cli.screen import plain
from canary.cli.silence import known_check
from canary.cli.when import local, now
from canary.config.look_back import load_telling
from canary.core.finding import Finding, Severity
from canary.core.incident import Incident, Page
from canary.core.jsonable import as_json
from canary.core.observation import Json
from canary.core.run import PLAIN
from canary.core.spec import Pipeline, Plan
from canary.core.units import plural
from canary.store import AmbiguousIdError, Delivered, Held, Store

_DEPLOYS = timedelta(days=1)
_Known = TypeVar("_Known", Incident, Page)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`pages`: those that people were told of already."""

    explanations: tuple[Explanation, ...]
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What became of a page's messages."""

    page: Page
    deliveries: tuple[Delivered, ...]
    withheld: tuple[Held, ...]


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="An incident, a page or a run by its id or how that begins; "
            "or a finding that may come: PIPELINE/PROBE/CHECK@HOP.",
        ),
    ],
    *,
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", metavar="FILE", help="The daemon's config, for its routes.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="URL", help="Another store than the config's.")
    ] = None,
    as_json_object: options.AsJson = False,
) -> None:
    """Say whether a finding, an incident or a page notifies, whom and when, and if not, why."""
    plan, moment = read(config, load_telling), now()
    where = stored.storage_of(None if storage else config, storage)

    async def asked(store: Store) -> tuple[Explained, tuple[Past, ...]]:
        known = Known(incidents=await store.incidents(), pages=await store.pages())
        silences, deploys = await store.silences(moment), await store.deploys(moment - _DEPLOYS)
        rules = rules_of(plan, silences=silences, deploys=deploys)
        found = _supposed(what, plan, known, rules, moment) or await _found(store, what, known, rules, moment)
        return found, tuple([await _past(store, page) for page in found.pages])

    found, past = stored.look(where, asked)
    if as_json_object:
        stored.say_json({"explanations": [_record(each, moment) for each in found.explanations], "past": as_json(past)})
        return
    _show(Console(highlight=False), found.explanations, past, moment)


def _supposed(what: str, plan: Plan, known: Known, rules: Rules, moment: datetime) -> Explained | None:
    """A finding that nobody had yet, at its worst. None where `what` does not name a probe of the plan."""
    for pipeline in plan.pipelines:
        for assignment in pipeline.assignments:
            beginning = f"{pipeline.name}/{assignment.probe.name}/"
            if what.startswith(beginning):
                finding = _finding(what.removeprefix(beginning), pipeline)
                explanation = explain_finding(finding, pipeline.name, assignment.probe.name, known, rules, moment)
                return Explained(explanations=(explanation,))
    return None


def _finding(text: str, pipeline: Pipeline) -> Finding:
    check, at, hop = text.rpartition("@")
    hops = [each.name for each in pipeline.hops]
    if not at or hop not in hops:
        msg = f"{text!r}: expected CHECK@HOP, with a hop of {pipeline.name}: {', '.join(hops)}"
        raise UsageError(msg)
    return Finding(
        check=known_check(check, repr(text)),
        reason="supposed",
        origin=hop,
        severity=Severity.CRITICAL,
        message="supposed",
        variant=PLAIN,
    )


async def _found(store: Store, what: str, known: Known, rules: Rules, moment: datetime) -> Explained:
    """By id: what is open first, then what is over, then the findings of a run. Raises UsageError."""
    incident = _one(what, known.incidents) or await store.incident(what)
    if incident is not None:
        pages = tuple(page for page in known.pages if incident.id in page.members)
        return Explained(explanations=(explain_incident(incident, known, rules, moment),), pages=pages)
    page = _one(what, known.pages) or await store.page(what)
    if page is not None:
        return Explained(explanations=explain_page(page, known, rules, moment), pages=(page,))
    try:
        run = await store.run(what)
    except AmbiguousIdError as error:
        raise UsageError(str(error)) from None
    if run is None:
        msg = f"no incident, page or run is {what!r}; see canary incidents and canary history"
        raise UsageError(msg)
    row = run.row
    explanations = (explain_finding(each, row.pipeline, row.probe, known, rules, moment) for each in row.findings)
    return Explained(explanations=tuple(explanations))


def _one(prefix: str, among: Iterable[_Known]) -> _Known | None:
    """The only one whose id begins so. Raises UsageError where there are several."""
    found = [each for each in among if prefix and each.id.startswith(prefix)]  # nothing is an unset variable
    if len(found) > 1:
        msg = f"{prefix!r} is not unique: {', '.join(each.id for each in found)}"
        raise UsageError(msg)
    return found[0] if found else None


async def _past(store: Store, page: Page) -> Past:
    return Past(page=page, deliveries=await store.deliveries(page.id), withheld=await store.withheld(page.id))


def _record(explanation: Explanation, moment: datetime) -> dict[str, Json]:
    words: dict[str, Json] = as_json(explanation)
    return words | {"would_notify": explanation.would_notify, "lines": list(lines(explanation, moment))}


def _show(console: Console, explanations: Sequence[Explanation], past: Sequence[Past], moment: datetime) -> None:
    for explanation in explanations:
        first, *others = lines(explanation, moment)
        console.print(Text(plain(first), style="bold"))
        for line in others:
            console.print(Text(f"  {plain(line)}"), soft_wrap=True)
        console.print()
    if not explanations:
        console.print(Text("nothing fires there" if past else "that run found nothing, so nobody is told"))
    for each in past:
        for line in _told(each):
            console.print(Text(plain(line)), soft_wrap=True)


def _told(past: Past) -> Iterator[str]:
    """What was sent and what was not, so far."""
    page = past.page
    over = f", resolved {local(page.resolved_at)}" if page.resolved_at else ""
    yield f"page {page.id}, opened {local(page.opened_at)}{over}:"
    if not past.deliveries and not past.withheld:
        yield "  nobody was to be told yet"
    for delivered in past.deliveries:
        told = delivered.notification
        yield f"  {local(told.at)}  {told.receiver} {told.reason}: {_became(delivered)}"
    for held in past.withheld:
        kept = held.withheld
        times = f", {plural(held.times, 'time')} since {local(held.first_at)}" if held.times > 1 else ""
        who = f"{kept.receiver} not told" if kept.receiver else "nobody told"
        yield f"  {local(kept.at)}  {who}: {kept.reason}{times}"


def _became(delivered: Delivered) -> str:
    if delivered.sent_at:
        return f"sent {local(delivered.sent_at)}"
    if delivered.dead_at:
        return f"given up after {plural(delivered.attempts, 'attempt')}: {delivered.why}"
    tried = f" after {plural(delivered.attempts, 'attempt')}: {delivered.why}" if delivered.attempts else ""
    return f"waits{tried}"
