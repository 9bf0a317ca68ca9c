"""A whole run on one screen: every request of every hop on one time axis, then what follows from it, in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from canary.alerting.feeling import place
from canary.analysis.picture import top_down
from canary.checks.idle_timeout import label
from canary.cli.screen import STYLES, plain, shown
from canary.cli.timeline import LABEL_COLUMNS, axis_row, legend, stream_row, timer_row
from canary.core.finding import Finding, Severity
from canary.core.run import PLAIN, HopResult, Run
from canary.core.units import plural
from canary.core.verdict import Status, Verdict
from canary.wire.curl import curl

SEVERITY_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow"}
_MOST_NAME_COLUMNS = 34


class Judged(Protocol):
    """One request of a run, with or without its stream."""

    @property
    def hop(self) -> str: ...

    @property
    def variant(self) -> str: ...

    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...


def show_run(console: Console, run: Run, *, every_verdict: bool = False) -> None:
    """From the user down, like the path; the requests of one hop below each other."""
    console.print(Text(plain(f"{run.pipeline}, {run.probe}, run {run.id}"), style="bold"))
    console.print()
    show_waterfall(console, run)
    show_findings(console, run)
    show_verdicts_by_hop(console, run.results, every_verdict=every_verdict)
    console.print()


def show_waterfall(console: Console, run: Run) -> None:
    for row in waterfall(run, width=console.width):
        console.print(row, no_wrap=True, crop=True)
    console.print()


def waterfall(run: Run, *, width: int) -> list[Text]:
    """A row per request, the timers that the top one's stream is held against, an axis, a legend."""
    results = top_down(run.results)
    fatal = {verdict.subject or "" for result in results for verdict in result.verdicts if _fires(verdict)}
    names = max(map(len, [*map(request_name, results), *fatal]))
    label_columns = min(max(names + 2, LABEL_COLUMNS), _MOST_NAME_COLUMNS)
    columns = max(width - label_columns, 10)
    span_s = max(result.measurement.total_s for result in results) or 0.001
    streams = [
        stream_row(
            request_name(result), result.observation, span_s=span_s, columns=columns, label_columns=label_columns
        )
        for result in results
    ]
    return [
        *streams,
        *_fatal_timers(results, span_s=span_s, columns=columns, label_columns=label_columns),
        axis_row(span_s=span_s, columns=columns, label_columns=label_columns),
        *_fitting(legend(streams, label_columns=label_columns), label_columns=label_columns, width=width),
    ]


def _fitting(key: Text, *, label_columns: int, width: int) -> list[Text]:
    """The legend in as many lines as it takes; under the labels too, where that helps."""
    if key.cell_len <= width:
        return [key]
    lines = [Text()]
    for entry in key[label_columns:].split("  "):
        if lines[-1] and lines[-1].cell_len + 2 + entry.cell_len > width:
            lines.append(Text())
        lines[-1].append("  " if lines[-1] else "").append_text(entry)
    return lines


def request_name(result: Judged) -> str:
    return result.hop if result.variant == PLAIN else f"{result.hop} {result.variant}"


def _fatal_timers(results: Sequence[HopResult], *, span_s: float, columns: int, label_columns: int) -> list[Text]:
    """Each timer that would have cut some hop's stream, once, drawn against the topmost of those streams."""
    rows: dict[str, Text] = {}
    for result in results:
        fatal = {verdict.subject for verdict in result.verdicts if _fires(verdict)}
        for timer in result.timeouts:
            if label(timer) in fatal and label(timer) not in rows:
                rows[label(timer)] = timer_row(
                    timer, result.observation, span_s=span_s, columns=columns, label_columns=label_columns
                )
    return list(rows.values())


def _fires(verdict: Verdict) -> bool:
    return verdict.check == "idle_timeout" and verdict.status is Status.FAIL


def show_findings(console: Console, run: Run) -> None:
    """Each with the command that repeats its request, where that is known."""
    for finding in run.findings:
        console.print(_headline(finding))
        console.print(Padding(Text(plain(finding.message)), (0, 0, 0, 2), expand=False))
        if command := repeat(finding, run):
            console.print(Text(f"  {shown(command)}", style="dim"), soft_wrap=True)
        console.print()


def repeat(finding: Finding, run: Run) -> str | None:
    """The request at the origin as a curl command, without its credentials; None where that is not known."""
    results = (result for result in run.results if (result.hop, result.variant) == (finding.origin, finding.variant))
    result = next(results, None)
    return curl(result.observation.exchange) if result else None


def _headline(finding: Finding) -> Text:
    line = Text(f"{finding.severity.value.upper()} ", style=SEVERITY_STYLES[finding.severity])
    return line.append(f"{finding.check} {finding.reason}, {place(finding)}", style="bold")


def show_verdicts_by_hop(console: Console, results: Sequence[Judged], *, every_verdict: bool) -> None:
    """Those that are not PASS; a run without any says so."""
    told = [
        (result, verdict)
        for result in top_down(results)
        for verdict in result.verdicts
        if every_verdict or verdict.status is not Status.PASS
    ]
    count = sum(len(result.verdicts) for result in results)
    if not count:
        console.print(Text("nothing was judged", style=STYLES[Status.UNKNOWN]))
    elif not told:
        console.print(Text(f"all {plural(count, 'verdict')} pass", style=STYLES[Status.PASS]))
    alike: dict[tuple[str, Status, str], list[str]] = defaultdict(list)
    for result, verdict in told:
        alike[request_name(result), verdict.status, plain(verdict.message)].append(f"{verdict.check} {verdict.reason}")
    for (name, status, message), checks in alike.items():
        line = Text(f"{status.value:<8}", style=STYLES[status]).append(f"{name} ", style="bold")
        console.print(line.append(f"{_checks(checks)}: {message}"))


def _checks(checks: Sequence[str]) -> str:
    """`reachable auth`, or the names alone of several checks that say the same."""
    return checks[0] if len(checks) == 1 else ", ".join(dict.fromkeys(check.split(" ")[0] for check in checks))
