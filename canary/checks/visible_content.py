"""Did the person on the other end see anything at all?

The failure that every dashboard calls success: status 200, tokens generated, nothing visible. The cause decides whom to
wake, so it is part of the verdict:

1. budget_exhausted: all of max_tokens went into reasoning. `finish_reason` is often `length` but not always; a count
   that reached max_tokens is proof as good, and `length` without any count is no stop of the model's own.
2. stripped: the hop below had visible text.
3. all_in_reasoning: the model finished by itself and the text stands in the reasoning field alone.
4. parser_loss: tokens were generated and no text of any kind came.
5. empty_stop: it simply stopped.

A stream that was cut before it said anything visible is the business of `complete`: here it is UNKNOWN. So is a probe
that allows fewer than 16 tokens: nobody can expect an answer from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, quoted, unknown, unusable
from canary.core.measurement import Measurement
from canary.core.observation import Json
from canary.core.units import format_duration, plural
from canary.core.verdict import Status, Verdict

NAME = "visible_content"
# Why nothing was visible, where that is known. The last two are a WARN: somebody may have asked for it.
CAUSES = (
    *("budget_exhausted", "stripped", "all_in_reasoning", "parser_loss", "empty_stop"),
    *("refusal", "tool_call_only"),
)
_NEAR = 0.9  # engines count marks and the stop differently, by a few tokens
LEAST_MAX_TOKENS = 16  # hosted APIs refuse less, and reasoning models cannot answer in less


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    measurement = evidence.measurement
    if (first := measurement.time_to_first_visible_content_s) is not None:
        message = f"{plural(measurement.visible_chars, 'visible character')}, the first after {format_duration(first)}"
        return [_verdict(Status.PASS, "visible", message, observed=measurement.visible_chars)]
    if not answer_over(evidence.observation):
        return [unknown(NAME, "cut", "not judged: the stream broke off before anything visible could come")]
    return [_nothing_visible(evidence)]


def _nothing_visible(evidence: Evidence) -> Verdict:
    measurement = evidence.measurement
    allowed = max_tokens(evidence.observation.exchange.asked)
    if allowed is not None and allowed < LEAST_MAX_TOKENS:
        return unknown(NAME, "probe_misconfigured", f"max_tokens={allowed} is too small for any visible answer")
    if measurement.refusal_chars:
        return _verdict(Status.WARN, "refusal", "the model refused, and said nothing else")
    if measurement.tool_call_chars:
        return _verdict(Status.WARN, "tool_call_only", "the answer is a tool call and no text")
    reason, message = _cause(evidence, measurement, allowed)
    return _verdict(Status.FAIL, reason, f"nothing visible: {message}", observed=0)


def _cause(evidence: Evidence, measurement: Measurement, allowed: int | None) -> tuple[str, str]:
    reasoned = _reasoned(measurement)
    finish = f"finish_reason={quoted(measurement.finish_reason)}" if measurement.finish_reason else "no finish reason"
    out_of_tokens = measurement.finish_reason in ("length", "max_tokens")
    if reasoned and (out_of_tokens or _spent(measurement, allowed)):
        return "budget_exhausted", f"reasoning ({reasoned}) {_used_up(measurement, allowed)}, {finish}"
    if evidence.below is not None and evidence.below.time_to_first_visible_content_s is not None:
        return "stripped", f"the hop below had {plural(evidence.below.visible_chars, 'visible character')}"
    if reasoned:
        return "all_in_reasoning", f"{finish}, with text in the reasoning only ({reasoned})"
    completion = measurement.usage.completion_tokens if measurement.usage else None
    if _spent(measurement, allowed):
        return "budget_exhausted", f"{completion} tokens used up max_tokens={allowed}, and no text came"
    if out_of_tokens:
        return "budget_exhausted", f"{finish}, and no text came; nothing tells what the tokens went into"
    if completion:
        return "parser_loss", f"{plural(completion, 'token')} generated, and neither reasoning nor answer came"
    return "empty_stop", f"{finish}, and no text at all"


def _used_up(measurement: Measurement, allowed: int | None) -> str:
    """A gateway or an engine may hold a lower cap than the request's: then the numbers say so."""
    completion = measurement.usage.completion_tokens if measurement.usage else None
    if allowed and completion and completion < _NEAR * allowed:
        return f"ran into a limit far below max_tokens={allowed}"
    return f"used up all of max_tokens={allowed}" if allowed else "used up all"


def max_tokens(asked: Mapping[str, Json]) -> int | None:
    """The request's own cap on all tokens; `max_completion_tokens` wins where both are set, as in vLLM."""
    caps = (asked.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"))
    return next((cap for cap in caps if isinstance(cap, int) and not isinstance(cap, bool)), None)


def _spent(measurement: Measurement, allowed: int | None) -> bool:
    completion = measurement.usage.completion_tokens if measurement.usage else None
    return allowed is not None and completion is not None and completion >= allowed


def _reasoned(measurement: Measurement) -> str:
    """How much reasoning there was, in words; empty when none is known."""
    if measurement.reasoning_tokens is not None and measurement.reasoning_tokens.value:
        return plural(measurement.reasoning_tokens.value, "token")
    if measurement.reasoning_chars:
        return plural(measurement.reasoning_chars, "character")
    return "of unknown length" if measurement.time_to_first_reasoning_token_s is not None else ""


def _verdict(status: Status, reason: str, message: str, *, observed: float | None = None) -> Verdict:
    unit = None if observed is None else "characters"
    return Verdict(check=NAME, status=status, reason=reason, message=message, observed=observed, unit=unit)
