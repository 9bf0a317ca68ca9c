"""Can the reported token counts be believed? Never worse than WARN: a wrong bill is not an outage.

It matters all the same, because budgets, cost limits and other tools read these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from canary.analysis.ticks import answer_over
from canary.analysis.tokens import contradicted, made_up_by_gateway
from canary.checks.evidence import Evidence, cannot_judge, unknown, unusable
from canary.core.measurement import Measurement
from canary.core.observation import Json
from canary.core.stream import Usage
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

NAME = "usage"
_SLACK_TOKENS = 50  # marks, newlines and chat template tokens that have no text
_MOST_CHARS_PER_TOKEN = 16  # prose and code have 1 to 6
_SLACK_CHARS = 200
_FASTEST_TOKENS_PER_S = 4000  # of one stream; wafer-scale and diffusion services reach about 3000
_LEAST_TOKENS_FOR_RATE = 1000


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    measurement = evidence.measurement
    if measurement.usage is None:
        return [_absent(evidence)]
    return [_judge(measurement, measurement.usage)]


def _absent(evidence: Evidence) -> Verdict:
    if not answer_over(evidence.observation):
        return unknown(NAME, "cut", "not judged: the stream broke off, and usage comes last")
    if not _asked_for(evidence.observation.exchange.asked):
        return _verdict(Status.PASS, "not_asked", "no usage came, and none was asked for")
    return _verdict(Status.WARN, "missing", "usage was asked for and none came")


def _asked_for(asked: Mapping[str, Json]) -> bool:
    """Streams report usage only when asked; a whole JSON answer always does."""
    options = asked.get("stream_options")
    return asked.get("stream") is not True or (isinstance(options, dict) and options.get("include_usage") is True)


def _judge(measurement: Measurement, usage: Usage) -> Verdict:
    if contradicted(usage, measurement.reasoning_chars):
        message = (
            f"usage reports 0 reasoning tokens beside {plural(measurement.reasoning_chars, 'character')} of reasoning"
        )
        return _verdict(Status.WARN, "contradicted", message, observed=0)
    if made_up_by_gateway(usage):
        message = "the counts were made by a gateway from the text it saw (`text_tokens`): they prove nothing"
        return _verdict(Status.WARN, "made_by_gateway", message)
    flaw = (
        _more_tokens_than_text(measurement, usage)
        or _too_few_tokens(measurement, usage)
        or _too_fast(measurement, usage)
    )
    if flaw:
        return _verdict(Status.WARN, "implausible", flaw, observed=usage.completion_tokens)
    message = f"{_completion(usage)}, {_reasoning(usage)}"
    return _verdict(Status.PASS, "plausible", message, observed=usage.completion_tokens)


def _more_tokens_than_text(measurement: Measurement, usage: Usage) -> str | None:
    """More tokens than characters cannot be; judged only where no reasoning can be hidden from us."""
    completion, reasoning = usage.completion_tokens, usage.reasoning_tokens
    if completion is None or (reasoning is None and not measurement.reasoning_chars):
        return None
    shown = _shown(measurement)
    if measurement.reasoning_chars:
        shown += measurement.reasoning_chars
    else:
        completion -= reasoning or 0
    if completion <= shown + _SLACK_TOKENS:
        return None
    return f"usage reports {plural(completion, 'token')} for {plural(shown, 'character')} of text"


def _too_few_tokens(measurement: Measurement, usage: Usage) -> str | None:
    """Estimates made from the answer alone leave the reasoning out."""
    shown = _shown(measurement) + measurement.reasoning_chars
    tokens = usage.completion_tokens
    if tokens is None or shown <= _MOST_CHARS_PER_TOKEN * tokens + _SLACK_CHARS:
        return None
    return f"usage reports only {plural(tokens, 'token')} for {plural(shown, 'character')} of text"


def _too_fast(measurement: Measurement, usage: Usage) -> str | None:
    """Running counts that somebody summed; the only tell where reasoning may be hidden from us."""
    tokens = usage.completion_tokens or 0
    if tokens < _LEAST_TOKENS_FOR_RATE or tokens <= _FASTEST_TOKENS_PER_S * measurement.total_s:
        return None
    rate = f"{plural(tokens, 'token')} in {format_duration(measurement.total_s)}"
    return f"usage reports {rate}, faster than any engine: summed running counts, or a cached answer"


def _shown(measurement: Measurement) -> int:
    return measurement.visible_chars + measurement.tool_call_chars + measurement.refusal_chars


def _completion(usage: Usage) -> str:
    if usage.completion_tokens is None:
        return "completion tokens not reported"
    return plural(usage.completion_tokens, "completion token")


def _reasoning(usage: Usage) -> str:
    if usage.reasoning_tokens is not None:
        of_them = "" if usage.completion_tokens is None else "of them "
        return f"{usage.reasoning_tokens} {of_them}reasoning"
    return "reasoning reported as null" if "reasoning_tokens" in usage.nulls else "reasoning not reported"


def _verdict(status: Status, reason: str, message: str, *, observed: float | None = None) -> Verdict:
    unit = None if observed is None else "tokens"
    return Verdict(check=NAME, status=status, reason=reason, message=message, observed=observed, unit=unit)
