"""The facts of a message, the same for every receiver.

It describes the page's leading finding, the worst one and of these the oldest, and names the others in its notes. With
a run of that finding's probe at hand it has that run's numbers for every hop. Without one (time passed, somebody
acknowledged, another probe ran) it has those of the last run that showed the finding, which the page keeps: a later
message must not say less than the one before it, since some receivers put it in its place.

No prompt and no answer is in it unless the config asks for content: the check `answer` quotes what the model said, so
its sentence is replaced, and the command that repeats the request, which holds the prompt, becomes `canary probe`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from canary.alerting.changed import deploys, versions
from canary.alerting.feeling import ENGLISH, feeling, place, title
from canary.alerting.pages import SETTLED, leading
from canary.alerting.rules import Rules
from canary.core.finding import Finding
from canary.core.history import Past
from canary.core.incident import Incident, Page
from canary.core.notification import HopRow, Message, Reason
from canary.core.run import HopResult, Run
from canary.core.stream import VisibleDelta
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict, worst

_QUOTES_THE_ANSWER = frozenset({"answer"})
_WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS)
_MOST_CONTENT_CHARS = 2000
_LATE = timedelta(minutes=1)
_AS_A_LABEL = replace(ENGLISH, at="{origin}", at_or_below="{origin} or below", between="{above} -> {below}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a message may use and no decision does.

    `history`: earlier answers by (hop, variant), newest last. `repeat`: the finding's request as a curl command without
    secrets; it may hold the prompt.
    """

    run: Run | None = None
    history: Mapping[tuple[str, str], Sequence[Past]] = field(default_factory=lambda: MappingProxyType({}))
    repeat: Callable[[Finding], str | None] | None = None


NOTHING_BESIDE = Beside()


def kept(page: Page, rules: Rules, beside: Beside) -> Page:
    """The page with what the run shows, if it is the one that showed its leading finding last."""
    lead, run = page.lead, beside.run
    if lead is None or run is None or lead.run_id != run.id:
        return page
    return replace(page, hops=_rows_of_run(run, lead, rules), changed=versions(run, beside.history) or page.changed)


def message_of(
    page: Page, members: Sequence[Incident], rules: Rules, now: datetime, *, reason: Reason, beside: Beside
) -> Message:
    """`members`: the page's incidents, or its last ones where it is over. Never empty."""
    lead = leading(members)
    finding, key = lead.finding, lead.key
    verdict = verdict_of(finding)
    run = beside.run if beside.run and (beside.run.pipeline, beside.run.probe) == (key.pipeline, key.probe) else None
    since = min(page.opened_at, *(each.first_seen_at for each in members))
    base = rules.base_url.rstrip("/") if rules.base_url else None
    run_id = lead.run_id
    return Message(
        title=f"{title(finding)}, {place(finding)} ({', '.join(page.pipelines)})",
        users_feel=feeling(finding, verdict),
        where=where(finding),
        cause=_cause(finding, rules),
        severity=page.severity,
        firing=page.resolved_at is None,
        since=since,
        pipelines=page.pipelines,
        probes=page.probes,
        check=finding.check,
        reason=finding.reason,
        observed=verdict.observed if verdict else None,
        limit=verdict.limit if verdict else None,
        unit=verdict.unit if verdict else None,
        changed=tuple(dict.fromkeys((*deploys(page.pipelines, rules, began=since, now=now), *page.changed))),
        hops=_rows_of_run(run, lead, rules) if run else page.hops or _rows_of_evidence(lead, rules),
        repeat=_repeat(lead, rules, beside),
        run_id=run_id,
        run_url=f"{base}/runs/{run_id}" if base else None,
        page_url=f"{base}/incidents/{page.id}" if base else None,
        notes=tuple(_notes(page, members, lead, now, reason)),
        content=_content(run, finding) if run and rules.include_content else None,
    )


def where(finding: Finding) -> str:
    return place(finding, _AS_A_LABEL)


def verdict_of(finding: Finding) -> Verdict | None:
    """The finding's own failing verdict at its origin."""
    own = (
        found.verdict
        for found in finding.evidence
        if found.hop == finding.origin and found.verdict.check == finding.check
    )
    return next(own, None)


def _cause(finding: Finding, rules: Rules) -> str:
    if finding.check not in _QUOTES_THE_ANSWER or rules.include_content:
        return finding.message
    reached = f" {', '.join(finding.affected)} affected." if finding.affected else ""
    return f"The answer of {finding.origin} is not the known one ({finding.reason}).{reached}"


def _repeat(lead: Incident, rules: Rules, beside: Beside) -> str:
    command = beside.repeat(lead.finding) if rules.include_content and beside.repeat else None
    return command or f"canary probe {lead.key.pipeline} {lead.key.probe}"


def _rows_of_run(run: Run, lead: Incident, rules: Rules) -> tuple[HopRow, ...]:
    """From the user down; of several forms of the request, the one that the finding was seen in."""
    shown: dict[str, HopResult] = {}
    for result in run.results:
        if result.hop not in shown or result.variant == lead.finding.variant:
            shown[result.hop] = result
    return tuple(_row(shown[hop], run) for hop in _order(lead, rules) if hop in shown)


def _row(result: HopResult, run: Run) -> HopRow:
    measured = result.measurement
    verdicts = [verdict for each in run.results if each.hop == result.hop for verdict in each.verdicts]
    return HopRow(
        hop=result.hop,
        status=worst(verdicts),
        first_token_s=measured.time_to_first_token_s,
        first_visible_s=measured.time_to_first_visible_content_s,
        longest_silence_s=measured.silence.event.longest_s,
        reasoning_share=measured.reasoning_to_output_ratio,
        said=_said(verdicts),
    )


def _rows_of_evidence(lead: Incident, rules: Rules) -> tuple[HopRow, ...]:
    by_hop: dict[str, list[Verdict]] = {}
    for found in lead.finding.evidence:
        by_hop.setdefault(found.hop, []).append(found.verdict)
    return tuple(
        HopRow(hop=hop, status=worst(by_hop[hop]), said=_said(by_hop[hop]))
        for hop in _order(lead, rules)
        if hop in by_hop
    )


def _order(lead: Incident, rules: Rules) -> tuple[str, ...]:
    pipeline = rules.pipeline(lead.key.pipeline)
    return tuple(hop.name for hop in pipeline.hops) if pipeline else ()


def _said(verdicts: Sequence[Verdict]) -> str:
    """The worst verdict's reason, if it is not simply good."""
    first = min(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.status), default=None)
    return "" if first is None or first.status is Status.PASS else f"{first.check} {first.reason}"


def _notes(page: Page, members: Sequence[Incident], lead: Incident, now: datetime, reason: Reason) -> Iterator[str]:
    if reason is Reason.FLAPPING:
        changes, quiet = plural(len(page.changes), "change"), format_duration(SETTLED.total_seconds())
        yield f"it comes and goes ({changes} within the hour); how it ends is told once nothing has changed for {quiet}"
    ago = now - (lead.opened_at or now)
    if reason is Reason.OPENED and ago > _LATE:
        yield f"it began {format_duration(ago.total_seconds())} ago and was held back until now"
    if page.acked_by is not None and page.resolved_at is None:
        yield f"acknowledged by {page.acked_by}"
    elif reason is Reason.ESCALATED:
        yield "nobody has it in hand"
    also = sorted({_name(each) for each in members if each.id != lead.id} - {_name(lead)})
    if also:
        yield f"also: {', '.join(also)}"


def _name(incident: Incident) -> str:
    key = incident.key
    subject = f" ({key.subject})" if key.subject else ""
    return f"{key.check}{subject} at {key.origin}, seen by {key.pipeline}/{key.probe}"


def _content(run: Run, finding: Finding) -> str | None:
    """What people would have seen, shortened."""
    results = [result for result in run.results if (result.hop, result.variant) == (finding.origin, finding.variant)]
    events = results[0].observation.events if results else ()
    text = "".join(event.text for event in events if isinstance(event, VisibleDelta))
    return text[:_MOST_CONTENT_CHARS] or None
