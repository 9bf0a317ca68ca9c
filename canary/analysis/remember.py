"""Which numbers of an answer are remembered, and under which names: history, baseline and reports all read these.

A number that was not measured is left out, not zero. A first visible text that never came is `zero_visible`, so that
reports count it and no percentile forgets it. Where we broke off ourselves, or gave an answer less room than its probe
does, the end is ours, and what had not come by then might have: neither is told, nor is the share of reasoning in the
part that came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from canary.core.history import Past
from canary.core.measurement import Measurement
from canary.core.observation import Interrupted, StoppedByUs
from canary.core.run import PLAIN, WHOLE, HopResult, Run
from canary.core.verdict import Status, worst


def ended_by_us(measurement: Measurement, variant: str) -> bool:
    """A budget test leaves its arms hardly more room than the cap that it proves."""
    short = variant not in WHOLE and measurement.finish_reason == "length"
    return short or isinstance(measurement.end, StoppedByUs | Interrupted)


def never_visible(results: Iterable[HopResult]) -> int:
    """How many answers showed people nothing, to their end."""
    return sum(values_of(each.measurement, each.variant).get("zero_visible") == 1.0 for each in results)


def values_of(measurement: Measurement, variant: str = PLAIN) -> Mapping[str, float]:
    """By metric name, which is the measurement's own where it has one. Seconds, tokens, shares from 0 to 1."""
    usage, silence = measurement.usage, measurement.silence
    first_visible_s = measurement.time_to_first_visible_content_s
    ours = ended_by_us(measurement, variant)
    values = {
        "time_to_headers_s": measurement.time_to_headers_s,
        "time_to_first_token_s": measurement.time_to_first_token_s,
        "time_to_first_reasoning_token_s": measurement.time_to_first_reasoning_token_s,
        "time_to_first_visible_content_s": first_visible_s,
        "total_s": None if ours else measurement.total_s,
        "silence_byte_s": silence.byte.longest_s,
        "silence_event_s": silence.event.longest_s,
        "silence_token_s": silence.token.longest_s,
        "silence_visible_s": silence.visible.longest_s,
        "input_tokens": usage.prompt_tokens if usage else None,
        "output_tokens": usage.completion_tokens if usage else None,
        "reasoning_tokens": measurement.reasoning_tokens.value if measurement.reasoning_tokens else None,
        "visible_tokens": measurement.visible_tokens.value if measurement.visible_tokens else None,
        "reasoning_to_output_ratio": None if ours else measurement.reasoning_to_output_ratio,
        "tokens_per_s": measurement.tokens_per_s,
        "zero_visible": None if ours and first_visible_s is None else float(first_visible_s is None),
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def past_of(run: Run, result: HopResult, *, quiet: bool) -> Past:
    """`quiet`: no incident of this pipeline was open.

    An answer with a failure, or of a run that was cut short, is no example to follow.
    """
    fine = worst(result.verdicts) in (Status.PASS, Status.WARN)
    return Past(
        run_id=run.id,
        at=run.started_at,
        values=values_of(result.measurement, result.variant),
        fingerprint=result.measurement.fingerprint,
        clean=quiet and fine and run.cut_short is None,
    )
