"""What people notice of a finding, in the words that they would use themselves; its short name and its place.

What people feel is what fails at the hop nearest to them, and may be of another kind than the fault that it follows
from: an engine that does not answer is an error to some, and to others a page that stays empty.

Messages are English. A page in another language has `Phrases` of its own for the same keys, and what is known of a
finding is put into them as it is put into ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from canary.alerting.incidents import BLIND
from canary.core.finding import Finding, Severity, never_reached
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

# By check and reason; reason None: whatever else the check says. `{observed}` and `{limit}` are the verdict's numbers.
FEELINGS: Mapping[tuple[str, str | None], str] = MappingProxyType(
    {
        ("reachable", None): "People get an error instead of an answer.",
        ("reachable", "auth"): "People get an error: the hop refuses our key, and perhaps theirs.",
        ("reachable", "no_response"): "People wait and get nothing at all.",
        ("reachable", "deadline"): "People wait and get nothing at all.",
        ("reachable", "gateway_timeout"): "People wait, and then get a timeout error instead of an answer.",
        ("complete", None): "People see the answer break off, or never begin.",
        ("complete", "deadline"): "People wait for an end that does not come.",
        ("complete", "hung"): "People wait and see nothing: the stream opens and then stays silent.",
        ("complete", "oversized"): "People wait for an end that does not come.",
        ("complete", "stalled"): "People see the answer stop in the middle.",
        ("complete", "error_in_stream"): "People see the answer break off with an error.",
        ("visible_content", None): "People get an empty answer, with a status that says all is well.",
        ("visible_content", "budget_exhausted"): "People get an empty answer: reasoning has eaten all of the tokens.",
        ("visible_content", "all_in_reasoning"): "People get an empty answer: it stands where nobody looks.",
        ("visible_content", "stripped"): "People get an empty answer: the text is lost on its way to them.",
        ("idle_timeout", None): "People hear nothing for {observed}, and whatever waits for them hangs up at {limit}.",
        ("first_visible", None): "People wait {observed} before they see the first word; {limit} is the limit.",
        ("first_visible", "never"): "People wait and see nothing; {limit} is the limit.",
        ("budget", None): "Reasoning is not as short as it was asked to be: people wait longer, and tokens cost more.",
        ("budget", "rejected"): "Requests that ask for shorter reasoning are refused.",
        ("budget", "inverted"): "Reasoning grows where less of it was asked for: people wait longer.",
        ("streaming", None): "People see nothing for long, and then everything at once.",
        ("streaming", "reasoning_stripped"): "People see no sign of life while the model thinks.",
        (
            "streaming",
            "field_renamed",
        ): "People see no sign of life while the model thinks: clients do not know the field.",
        ("reasoning_leak", None): "People see the model's inner reasoning, or its marks, within the answer.",
        ("answer", None): "People get a wrong answer to a question whose answer is known.",
        ("protocol", None): "Clients that read the stream by the book stumble over it.",
        ("baseline", None): "It is not as it used to be.",
        ("baseline", "slower"): "People wait longer than they are used to.",
        (
            "baseline",
            "more_reasoning",
        ): "The model thinks longer than it used to: people wait longer, tokens cost more.",
        ("baseline", "less_reasoning"): "The model thinks less than it used to: answers may be worse.",
        (BLIND, None): "We cannot tell how people fare: the monitor sees nothing here.",
    }
)
# The monitor's own; and what is judged by what comes in from below: whoever gets nothing has nothing to hold back, so
# it passes, and yet has nothing for people.
_FELT_ANYWAY = frozenset({BLIND, "streaming"})
NOT_FELT = "It does not reach the hop nearest to people so far."

_PLAINEST_FIRST = tuple(dict.fromkeys(check for check, _ in FEELINGS))

# By check and reason, as above.
TITLES: Mapping[tuple[str, str | None], str] = MappingProxyType(
    {
        ("reachable", None): "No usable answer",
        ("complete", None): "Answers break off",
        ("complete", "hung"): "Answers do not begin",
        ("complete", "oversized"): "Answers do not end",
        ("visible_content", None): "Empty answers",
        ("idle_timeout", None): "Silence beyond an idle timeout",
        ("first_visible", None): "First visible text too late",
        ("budget", None): "Reasoning budget `{subject}` does not act",
        ("budget", "rejected"): "Reasoning budget `{subject}` is refused",
        ("streaming", None): "Streaming is held back",
        ("streaming", "reasoning_stripped"): "Reasoning is not passed on",
        ("streaming", "field_renamed"): "Reasoning is not passed on as clients know it",
        ("reasoning_leak", None): "Reasoning leaks into answers",
        ("answer", None): "Wrong answers",
        ("protocol", None): "Broken protocol",
        ("baseline", None): "Worse than usual",
        (BLIND, None): "The monitor cannot tell",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """One language. `titles`, `feelings`: by check and reason, reason None for whatever else the check says.

    `{…}` places are filled in from the finding. `number`: how a value with its unit is written.
    """

    titles: Mapping[tuple[str, str | None], str]
    feelings: Mapping[tuple[str, str | None], str]
    other_title: str
    other_feeling: str
    not_felt: str
    at: str
    at_or_below: str
    between: str
    number: Callable[[float, str | None], str]


def _number(value: float, unit: str | None) -> str:
    if unit == "s":
        return format_duration(value)
    return f"{value:.3g} {unit}" if unit else f"{value:.3g}"


ENGLISH = Phrases(
    titles=TITLES,
    feelings=FEELINGS,
    other_title="{check} fails",
    other_feeling="People are affected.",
    not_felt=NOT_FELT,
    at="at {origin}",
    at_or_below="at {origin} or below",
    between="between {above} and {below}",
    number=_number,
)


def feeling(finding: Finding, verdict: Verdict | None, phrases: Phrases = ENGLISH) -> str:
    """`verdict`: the finding's own at its origin. A sentence that lacks its numbers falls back to one without them."""
    if finding.severity is not Severity.CRITICAL and finding.check not in _FELT_ANYWAY:
        return phrases.not_felt
    felt = _at_the_top(finding)
    verdict, kind = felt or verdict, felt or finding
    text = _found(phrases.feelings, kind.check, kind.reason) or phrases.other_feeling
    values = {"observed": verdict.observed, "limit": verdict.limit} if verdict else {}
    unit = verdict.unit if verdict else None
    numbers = {name: phrases.number(value, unit) for name, value in values.items() if value is not None}
    try:
        return text.format(**numbers)
    except KeyError:
        return phrases.other_feeling


def title(finding: Finding, phrases: Phrases = ENGLISH) -> str:
    text = _found(phrases.titles, finding.check, finding.reason) or phrases.other_title
    return text.format(subject=finding.subject, check=finding.check)


def place(finding: Finding, phrases: Phrases = ENGLISH) -> str:
    """Where it begins, as it follows a title."""
    if finding.at_or_below:
        return phrases.at_or_below.format(origin=finding.origin)
    if finding.edge is None or never_reached(finding.check, finding.reason):
        return phrases.at.format(origin=finding.origin)
    return phrases.between.format(above=finding.edge[0], below=finding.edge[1])


def _at_the_top(finding: Finding) -> Verdict | None:
    """What fails most plainly at the topmost hop that the fault reaches; None where it reaches none but its origin."""
    if not finding.affected or finding.check == BLIND:
        return None
    top = finding.affected[-1]
    failing = [
        found.verdict
        for found in finding.evidence
        if found.hop == top and found.verdict.status is Status.FAIL and found.verdict.check in _PLAINEST_FIRST
    ]
    return min(failing, key=lambda verdict: _PLAINEST_FIRST.index(verdict.check), default=None)


def _found(table: Mapping[tuple[str, str | None], str], check: str, reason: str) -> str | None:
    return table.get((check, reason)) or table.get((check, None))
