"""What people notice of a finding, in the words that they would use themselves; and its short name, for a title."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from canary.alerting.incidents import BLIND
from canary.core.finding import Finding, Severity
from canary.core.units import format_duration
from canary.core.verdict import Verdict

# By check and reason; reason None: whatever else the check says. `{observed}` and `{limit}` are the verdict's numbers.
FEELINGS: Mapping[tuple[str, str | None], str] = MappingProxyType(
    {
        ("reachable", None): "People get an error instead of an answer.",
        ("reachable", "auth"): "People get an error: the hop refuses our key, and perhaps theirs.",
        ("reachable", "no_response"): "People wait and get nothing at all.",
        ("reachable", "gateway_timeout"): "People wait, and then get a timeout error instead of an answer.",
        ("complete", None): "People see the answer break off.",
        ("complete", "deadline"): "People wait for an end that does not come.",
        ("complete", "hung"): "People wait and see nothing: the stream opens and then stays silent.",
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
NOT_FELT = "The hop nearest to people does not fail so far."

# By check and reason, as above.
TITLES: Mapping[tuple[str, str | None], str] = MappingProxyType(
    {
        ("reachable", None): "No usable answer",
        ("complete", None): "Answers break off",
        ("complete", "hung"): "Answers do not begin",
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


def feeling(finding: Finding, verdict: Verdict | None) -> str:
    """`verdict`: the finding's own at its origin. A sentence that lacks its numbers falls back to one without them."""
    if finding.severity is not Severity.CRITICAL and finding.check != BLIND:
        return NOT_FELT
    default = "People are affected."
    text = _words(FEELINGS, finding) or default
    numbers = {name: _number(value, verdict) for name, value in _values(verdict).items() if value is not None}
    try:
        return text.format(**numbers)
    except KeyError:
        return default


def title(finding: Finding) -> str:
    text = _words(TITLES, finding) or f"{finding.check} fails"
    return text.format(subject=finding.subject)


def _words(table: Mapping[tuple[str, str | None], str], finding: Finding) -> str | None:
    return table.get((finding.check, finding.reason)) or table.get((finding.check, None))


def _values(verdict: Verdict | None) -> Mapping[str, float | None]:
    return {"observed": verdict.observed, "limit": verdict.limit} if verdict else {}


def _number(value: float, verdict: Verdict | None) -> str:
    unit = verdict.unit if verdict else None
    if unit == "s":
        return format_duration(value)
    return f"{value:.3g} {unit}" if unit else f"{value:.3g}"
